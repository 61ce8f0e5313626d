"""The dashboard's files: what is served, how it may be kept, and that there is no way past the table of them."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from taskyard.gateway.app import GatewayApp, build_app
from taskyard.gateway.dashboard import PAGES, Dashboard
from taskyard.gateway.door import GatewaySettings
from tests.support.gateway_client import Client, Response
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
INDEX = b"<!doctype html><title>Taskyard</title><script type=module src=/assets/index-1a2b.js></script>"
FILES = {
    "index.html": INDEX,
    "robots.txt": b"User-agent: *\nDisallow: /\n",
    "assets/index-1a2b.js": b"plain();",
    "assets/index-1a2b.js.br": b"brotli",
    "assets/index-1a2b.js.gz": b"gzip",
    "assets/index-3c4d.css": b"body{}",
    "assets/index-3c4d.css.gz": b"gzipped",
    "assets/icon-5e6f.svg": b"<svg/>",
    "assets/face-7a8b.woff2": b"font",
    "assets/thing.unheard-of": b"thing",
}
SCRIPT = "/assets/index-1a2b.js"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    directory = tmp_path / "dashboard"
    for name, content in FILES.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "secret.txt").write_bytes(b"secret")
    return directory


@pytest.fixture
async def app(hub: GatewayHub, built: Path) -> AsyncIterator[GatewayApp]:
    app = build_app(hub, GatewaySettings(), Dashboard(built))
    yield app
    await app.door.close()


async def fetch(app: GatewayApp, path: str, **headers: str) -> Response:
    return await Client(app).get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize(
    "page", ["", *sorted(PAGES), "tasks/T-042", "tasks/T-042/log", "admin/users", "workflows/a%2Fb"]
)
async def test_every_page_is_the_same_document(app: GatewayApp, page: str) -> None:
    response = await fetch(app, f"/{page}?status=running,queued&q=a&q=b&range=")
    assert (response.status, response.body) == (200, INDEX)
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache"


async def test_pages_and_files_forbid_what_is_not_theirs(app: GatewayApp) -> None:
    for path in ("/", "/queue", SCRIPT):
        headers = (await fetch(app, path)).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("assets/index-1a2b.js", "text/javascript; charset=utf-8"),
        ("assets/index-3c4d.css", "text/css; charset=utf-8"),
        ("assets/icon-5e6f.svg", "image/svg+xml"),
        ("assets/face-7a8b.woff2", "font/woff2"),
        ("assets/thing.unheard-of", "application/octet-stream"),
    ],
)
async def test_a_file_whose_name_follows_from_its_content_is_kept_for_ever(
    app: GatewayApp, name: str, media_type: str
) -> None:
    response = await fetch(app, f"/{name}")
    assert (response.status, response.body) == (200, FILES[name])
    assert response.headers["content-type"] == media_type
    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"


async def test_a_file_beside_the_page_is_asked_for_again(app: GatewayApp) -> None:
    response = await fetch(app, "/robots.txt")
    assert (response.body, response.headers["cache-control"]) == (FILES["robots.txt"], "no-cache")


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br", "br"),
        ("BR;q=0.5", "br"),
        ("br;q=0, gzip;q=1.0", "gzip"),
        ("br; q=0.0, gzip;q=0", None),
        ("*", None),
        (", ;;q=, brr", None),
    ],
)
async def test_who_takes_a_packed_file_gets_one(app: GatewayApp, accepted: str, encoding: str | None) -> None:
    response = await fetch(app, SCRIPT, accept_encoding=accepted)
    name = {"br": "assets/index-1a2b.js.br", "gzip": "assets/index-1a2b.js.gz", None: "assets/index-1a2b.js"}[encoding]
    assert (response.body, response.headers.get("content-encoding")) == (FILES[name], encoding)
    assert response.headers["content-type"] == "text/javascript; charset=utf-8"
    assert response.headers["vary"] == "accept-encoding"


async def test_of_what_is_packed_one_way_alone_that_is_taken(app: GatewayApp) -> None:
    response = await fetch(app, "/assets/index-3c4d.css", accept_encoding="br, gzip")
    assert (response.body, response.headers["content-encoding"]) == (b"gzipped", "gzip")


async def test_a_page_that_has_not_changed_is_not_sent_again(app: GatewayApp) -> None:
    first = await fetch(app, "/")
    for known in (first.headers["etag"], f'"other", {first.headers["etag"]}'):
        again = await fetch(app, "/queue", if_none_match=known)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
        assert again.headers["content-security-policy"] == POLICY
        assert "content-length" not in again.headers
    assert (await fetch(app, "/", if_none_match='"other"')).status == 200


async def test_another_build_is_another_page(hub: GatewayHub, app: GatewayApp, built: Path) -> None:
    before = (await fetch(app, "/")).headers["etag"]
    (built / "index.html").write_bytes(b"<!doctype html><title>Newer</title>")
    assert (await fetch(app, "/")).headers["etag"] == before
    newer = build_app(hub, GatewaySettings(), Dashboard(built))
    assert (await fetch(newer, "/", if_none_match=before)).body == b"<!doctype html><title>Newer</title>"


@pytest.mark.parametrize(
    "path",
    [
        "/assets/none.js",
        "/assets/",
        "/assets",
        "/assets/../../secret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "/..%2fsecret.txt",
        "/../secret.txt",
        "//secret.txt",
        "/%2e%2e/secret.txt",
        "/assets/index-1a2b.js.br",
        "/assets/index-1a2b.js%00",
        "/assets/index-1a2b.js/",
        "/assets\\index-1a2b.js",
        "/ASSETS/index-1a2b.js",
        "/linked.txt/../secret.txt",
        "/favicon.ico",
        "/nothing",
        "/queue.php",
        "/api/nothing",
        "/api/../queue",
    ],
)
async def test_what_is_not_in_the_table_is_not_there(app: GatewayApp, path: str) -> None:
    response = await fetch(app, path)
    assert (response.status, response.json["code"]) == (404, "NOT_FOUND")
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["cache-control"] == "no-store"


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize("path", ["/nothing", "/nothing/at/all", "/queue.php", "/apiary", "/mcp/nothing"])
async def test_a_browser_led_astray_gets_the_page_that_says_so(app: GatewayApp, path: str) -> None:
    response = await fetch(app, path, accept=BROWSER)
    assert (response.status, response.body) == (404, INDEX)
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-security-policy"] == POLICY
    # It may be there one day, and is counted like any page
    assert (response.headers["cache-control"], "etag" in response.headers) == ("no-store", False)
    await fetch(app, "/queue")
    await fetch(app, SCRIPT)
    assert [app.door.requests["GET", "/{page}", kind] for kind in (2, 4)] == [2, 1]


@pytest.mark.parametrize(
    ("path", "accept"),
    [("/nothing", "*/*"), ("/nothing", "application/json"), ("/nothing", "text/html;q=0"), ("/api/nothing", BROWSER)],
)
async def test_programs_and_whoever_asks_the_api_are_told_in_json(app: GatewayApp, path: str, accept: str) -> None:
    response = await fetch(app, path, accept=accept)
    assert (response.status, response.json["code"]) == (404, "NOT_FOUND")
    posted = await Client(app).request("POST", path, headers={"accept": BROWSER})
    assert (posted.status, posted.json["code"]) == (404, "NOT_FOUND")


async def test_pages_are_read_and_nothing_else(app: GatewayApp) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert (await Client(app).request(method, "/queue")).status == 404
        assert (await Client(app).request(method, "/")).status == 405


async def test_a_page_is_refused_to_another_name(app: GatewayApp) -> None:
    assert (await fetch(app, "/", host="evil.example")).status == 403


async def test_without_a_build_the_hub_says_how_to_make_one(hub: GatewayHub, tmp_path: Path) -> None:
    app = build_app(hub, GatewaySettings(), Dashboard(tmp_path / "none"))
    for path in ("/", "/queue"):
        response = await fetch(app, path)
        assert (response.status, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert b"Taskyard is up" in response.body
        assert b"make web" in response.body
    assert (await fetch(app, SCRIPT)).status == 404


async def test_files_that_cannot_be_read_keep_no_hub_from_working(
    hub: GatewayHub, built: Path, caplog: pytest.LogCaptureFixture
) -> None:
    os.mkfifo(built / "pipe")
    (built / "assets" / "circle.js").symlink_to(built / "assets" / "circle.js")
    assert (await fetch(build_app(hub, GatewaySettings(), Dashboard(built)), "/")).body == INDEX
    # A file whose beginning nobody can read
    (built / "assets" / "unreadable.js").symlink_to("/proc/self/mem")
    assert b"make web" in (await fetch(build_app(hub, GatewaySettings(), Dashboard(built)), "/")).body
    assert "cannot be read" in caplog.text
