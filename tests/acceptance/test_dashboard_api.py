"""What the dashboard asks of a real hub: its files, a session by key, and the figures, counts and acts of its pages."""

import json
import urllib.error
import urllib.request
from typing import Any, NamedTuple

import pytest

from tests.support.live import LiveHub, LiveYard, wait_online, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.takes(25)]
ASKS = 8
"""So many connections meet every gateway."""


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def asked(hub: LiveHub, method: str, path: str, body: object = None, **headers: str) -> Answer:
    """On a connection of its own, so that any gateway may get it."""
    raw = None if body is None else json.dumps(body).encode()
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(hub.url + path, raw, given, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return Answer(answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read())
    except urllib.error.HTTPError as refused:
        with refused:
            return Answer(refused.code, {k.lower(): v for k, v in refused.headers.items()}, refused.read())


def as_owner(hub: LiveHub, method: str, path: str, body: object = None) -> Any:
    answer = asked(hub, method, f"/api/v1{path}", body, authorization=f"Bearer {hub.key}")
    assert answer.status < 300, answer
    return answer.json


def test_a_browser_signs_in_by_key_sees_the_pages_and_is_out_when_the_key_is(yard: LiveYard) -> None:
    hub = yard.hub()
    # Given pages that hold nothing of anybody's
    pages = [asked(hub, "GET", path) for path in ("/", "/queue", "/tasks/T-001", "/admin/users") * 2]
    assert {page.status for page in pages} == {200}
    assert len({page.headers["etag"] for page in pages}) == 1
    assert "script-src 'self'" in pages[0].headers["content-security-policy"]
    known = pages[0].headers["etag"]
    assert asked(hub, "GET", "/", if_none_match=known).status == 304
    assert asked(hub, "GET", "/../../etc/passwd").status == 404
    # When somebody signs in with a key
    me = as_owner(hub, "GET", "/users/me")["id"]
    issued = as_owner(hub, "POST", f"/users/{me}/keys", {"name": "browser", "scopes": ["tasks"], "max_priority": "low"})

    def sign_in() -> Answer:
        return asked(hub, "POST", "/api/v1/session", {"key": issued["key"]})

    cookie = sign_in().headers["set-cookie"].partition(";")[0]
    # Then every gateway knows them, and they are worth what the key is
    answers = [asked(hub, "GET", "/api/v1/users/me", cookie=cookie) for _ in range(ASKS)]
    assert {(answer.status, tuple(answer.json["scopes"])) for answer in answers} == {(200, ("tasks",))}
    made = asked(
        hub,
        "POST",
        "/api/v1/tasks",
        {"input": "a", "priority": "critical"},
        cookie=cookie,
        x_taskyard_request="1",
    )
    assert (made.status, made.json["priority"]) == (201, "low")
    # And when the key is revoked, they are out, wherever they ask
    as_owner(hub, "DELETE", f"/keys/{issued['id']}")

    def is_out() -> bool:
        return all(asked(hub, "GET", "/api/v1/users/me", cookie=cookie).status == 401 for _ in range(ASKS))

    wait_until(is_out, within_s=30, what="a session that ended with its key")
    # Not at once again: who comes with unknown keys too often is kept out for a minute.
    wait_until(lambda: sign_in().status == 401, within_s=30, what="a key that is none any more", every_s=0.5)


def test_what_a_page_asks_for_is_answered_through_whoever_answers(yard: LiveYard) -> None:
    hub = yard.hub(options=())
    with hub.client() as client:
        wait_online(client, 1)
        done = client.submit("hello", type="echo")
        assert done.wait(timeout=20).status == "completed"
    batch = [
        {"name": "fetch", "type": "nobody", "input": "fetch the data", "title": "Fetch"},
        {"name": "report", "type": "nobody", "input": "write it up", "depends_on": ["fetch"]},
    ]
    fetch, report = [task["id"] for task in as_owner(hub, "POST", "/tasks/batch", {"tasks": batch})["tasks"]]
    for _ in range(ASKS // 2):
        counts = as_owner(hub, "GET", "/tasks/counts")
        assert (counts["by_status"]["completed"], counts["by_status"]["waiting"], counts["total"]) == (1, 1, 3)
        graph = as_owner(hub, "GET", f"/tasks/{report}/graph")
        assert graph["edges"] == [{"from": fetch, "to": report, "kind": "dependency"}]
        assert [node["title"] for node in graph["nodes"]] == ["write it up", "Fetch"]
        preview = as_owner(hub, "POST", "/tasks/bulk", {"action": "cancel", "ids": [fetch, "T-001"], "preview": True})
        assert ([one["ok"] for one in preview["results"]], preview["also"]) == ([True, False], [report])
        history = as_owner(hub, "GET", "/metrics/history?range=day")
        assert (history["step_s"], isinstance(history["points"], list)) == (300, True)
        assert as_owner(hub, "GET", "/dead-letters/patterns") == []
        assert [task["id"] for task in as_owner(hub, "GET", f"/tasks?q={fetch}")] == [fetch]
    acted = as_owner(hub, "POST", "/tasks/bulk", {"action": "cancel", "ids": [fetch, report]})
    assert acted["counts"] == {"ok": 2, "refused": 0, "also": 0}
    schedule = {"name": "hourly", "every": "1h", "task": {"input": "x", "type": "nobody"}}
    as_owner(hub, "POST", "/schedules", schedule)
    run = as_owner(hub, "POST", "/schedules/hourly/run")
    [remembered] = as_owner(hub, "GET", "/schedules/hourly/runs")
    assert (remembered["task_id"], remembered["status"]) == (run["id"], "queued")
    # A drain is taken back, and what waits for the daemon starts
    daemon = as_owner(hub, "GET", "/daemons")[0]["name"]
    as_owner(hub, "POST", f"/daemons/{daemon}/drain")
    waiting = as_owner(hub, "POST", "/tasks", {"input": "later", "type": "echo"})
    assert as_owner(hub, "GET", f"/daemons/{daemon}")["status"] == "draining"
    as_owner(hub, "POST", f"/daemons/{daemon}/resume")
    assert as_owner(hub, "GET", f"/tasks/{waiting['id']}?wait_s=20")["status"] == "completed"
    # And what the hub remembers outlives it
    hub.restart()
    assert as_owner(hub, "GET", "/schedules/hourly/runs") == [remembered]
