"""The dashboard's files, and the pages' addresses.

They are read once, into a table that an address is looked up in as a whole: what is not in it is not there, and no path
is ever made from what somebody asked for. They hold nothing of anybody's, so they are open to all; what is shown is
fetched by the page, with its session. An installation without them (a bare checkout) says how to make them.
"""

import hashlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from taskyard.gateway.asgi import Scope
from taskyard.gateway.call import Headers, Reply

BUILT: Final = Path(__file__).resolve().parent.parent / "dashboard"
INDEX: Final = "/index.html"
PAGES: Final = frozenset(
    {"queue", "tasks", "workflows", "dead-letters", "daemons", "queues", "breakers", "add", "admin"}
)
"""What an address of a page begins with, but for the first; which page that is, the script decides."""
PLACE: Final = ("GET", "/{page}")
"""Under which all of them are counted."""

SECURITY: Final = (
    (b"x-content-type-options", b"nosniff"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
# A name under it changes with its content.
HASHED: Final = "/assets/"
FOR_EVER: Final = b"public, max-age=31536000, immutable"
ASK_AGAIN: Final = b"no-cache"

PAGE: Final = "text/html"
HTML: Final = f"{PAGE}; charset=utf-8"
TYPES: Final = {
    ".html": HTML,
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
OTHER_TYPE: Final = "application/octet-stream"
PACKED: Final = {"br": ".br", "gzip": ".gz"}
"""Encodings in the order in which they are preferred, and how a file in one is named."""
NOT_BUILT: Final = (
    b"<!doctype html><html lang=en><meta charset=utf-8><title>Taskyard is up.</title><h1>Taskyard is up.</h1>"
    b"<p>Its dashboard has not been built. Run <code>make web</code> in the checkout and start the hub again.</p>"
    b"<p>The API is described at <a href='/api/docs'>/api/docs</a>.</p>"
)


log = logging.getLogger(__name__)


class File(Struct, frozen=True):
    media_type: str
    bodies: dict[str, bytes]
    """By encoding; "" is the file as it is."""
    tag: bytes
    cache_control: bytes


class Dashboard:
    def __init__(self, directory: Path = BUILT) -> None:
        try:
            self._files = dict(_files_in(directory))
        except OSError as error:
            # They are being built just now, or are somebody else's: a hub that works is worth more than its pages.
            log.warning("the dashboard's files cannot be read", extra={"error": str(error)})
            self._files = {}
        self._index = self._files.get(INDEX) or _file(INDEX, {"": NOT_BUILT})

    def answer(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Reply | None:
        """A file or a page, to whoever only wants to read; None: it is neither."""
        path: str = scope["path"]
        file = self._files.get(path)
        if file is None and (path == "/" or (path.startswith("/") and path.split("/", 2)[1] in PAGES)):
            file = self._index
        return None if file is None else _reply(file, headers)

    def nothing_here(self, headers: Mapping[bytes, bytes]) -> Reply | None:
        """To a browser that was led astray: the page's script says so. None: who asks wants no page."""
        if PAGE not in _taken(headers.get(b"accept", b"")):
            return None
        # Not to be kept: what is not there now may be with the next version.
        return _whole(self._index, headers, [(b"cache-control", b"no-store")], status=404)


def _files_in(directory: Path) -> Iterator[tuple[str, File]]:
    contents = {
        f"/{path.relative_to(directory).as_posix()}": path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
    for name, content in contents.items():
        if not name.endswith(tuple(PACKED.values())):
            packed = {one: contents[name + end] for one, end in PACKED.items() if name + end in contents}
            yield name, _file(name, {**packed, "": content})


def _file(name: str, bodies: dict[str, bytes]) -> File:
    return File(
        media_type=TYPES.get(Path(name).suffix, OTHER_TYPE),
        bodies=bodies,
        # Weak: the same whichever way it is packed.
        tag=b'W/"' + hashlib.sha256(bodies[""]).hexdigest()[:32].encode() + b'"',
        cache_control=FOR_EVER if name.startswith(HASHED) else ASK_AGAIN,
    )


def _reply(file: File, headers: Mapping[bytes, bytes]) -> Reply:
    told: Headers = [(b"cache-control", file.cache_control), (b"etag", file.tag), (b"vary", b"accept-encoding")]
    if file.tag in (tag.strip() for tag in headers.get(b"if-none-match", b"").split(b",")):
        return Reply(b"", status=304, headers=told, security=SECURITY)
    return _whole(file, headers, told)


def _whole(file: File, headers: Mapping[bytes, bytes], told: Headers, *, status: int = 200) -> Reply:
    """In the best encoding that is there and taken by name: who merely takes anything may have the plain file."""
    taken = _taken(headers.get(b"accept-encoding", b""))
    encoding = next((name for name in PACKED if name in file.bodies and name in taken), "")
    if encoding:
        told.append((b"content-encoding", encoding.encode()))
    return Reply(file.bodies[encoding], status=status, headers=told, media_type=file.media_type, security=SECURITY)


def _taken(accepted: bytes) -> set[str]:
    """What a header of what is accepted names."""
    named = accepted.decode("latin-1").lower().split(",")
    return {one.partition(";")[0].strip() for one in named if not _is_refused(one)}


def _is_refused(named: str) -> bool:
    """A weight of 0 means: not this one."""
    weight = named.partition(";")[2].strip()
    return weight != "" and weight.removeprefix("q=").strip("0.") == ""
