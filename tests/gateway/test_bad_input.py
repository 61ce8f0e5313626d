"""Bad input gets a clear answer and changes nothing."""

import pytest

from taskyard.gateway.app import GatewayApp
from tests.support.gateway_client import Client

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"
KIB = 1024


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b'{"input": 1}', "input"),
        (b'{"input": "a", "description": "b"}', "description"),
        (b'{"input": "a", "colour": "red"}', "colour"),
        (b'{"input": "a", "context": []}', "context"),
        (b'{"input": "a", "payload": 1}', "payload"),
        (b'{"input": "a", "metadata": "b"}', "metadata"),
        (b'{"input": "a", "deadline": "2030-01-01T00:00:00"}', "deadline"),
        (b'{"input": "a", "execution": {"timeout": 0}}', "execution.timeout"),
        (b'{"input": "a", "type": "' + b"x" * 256 + b'"}', "type"),
        (b'{"input": "a", "depends_on": [' + b",".join([b'"T-1"'] * 101) + b"]}", "depends_on"),
        (
            b'{"input": "a", "requirements": {"capabilities": [' + b",".join([b'"x"'] * 51) + b"]}}",
            "requirements.capabilities",
        ),
    ],
)
async def test_a_wrong_field_is_named(ann: Client, raw: bytes, path: str) -> None:
    response = await ann.post(TASKS, raw=raw)
    assert (response.status, response.json["code"]) == (422, "INVALID_INPUT")
    assert [error["path"] for error in response.json["errors"]] == [path]
    assert (await ann.get(TASKS)).json == []


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"input": "a", "context": ' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"}",
        b'{"input": "a", "context": ' + b'{"a":' * 65 + b"1" + b"}" * 65 + b"}",
        b'{"input": "a\\u0000b"}',
        b'{"input": "\\ud800"}',
        b"[]",
        b'{"input": "a"} x',
    ],
)
async def test_what_is_no_submission_is_refused(ann: Client, raw: bytes) -> None:
    response = await ann.post(TASKS, raw=raw)
    assert (response.status, response.json["code"]) == (422, "INVALID_INPUT")
    assert (await ann.get(TASKS)).json == []


async def test_an_escaped_backslash_before_u0000_is_no_nul(ann: Client) -> None:
    assert (await ann.post(TASKS, raw=b'{"input": "a\\\\u0000"}')).json["input"] == "a\\u0000"


async def test_a_field_of_just_its_size_is_taken_and_of_a_batch_only_the_larger_is_refused(ann: Client) -> None:
    largest = "é" * (64 * KIB // 2)
    tasks = [{"input": "a", "title": largest}, {"input": "a", "title": largest + "x"}, {"input": "a"}]
    assert (await ann.post(TASKS, tasks[0])).status == 201
    response = await ann.post(f"{TASKS}/batch", {"tasks": tasks})
    assert [error["path"] for error in response.json["errors"]] == ["tasks[1].title"]
    response = await ann.post(f"{TASKS}/batch", {"tasks": tasks, "partial": True})
    assert [(one["index"], one["code"]) for one in response.json["rejected"]] == [(1, "TOO_LARGE")]
    assert len(response.json["tasks"]) == 2


async def test_a_body_is_counted_while_it_streams(ann: Client) -> None:
    parts = [b'{"input": "'] + [b"x" * 64 * KIB] * 70 + [b'"}']
    response = await ann.request("POST", TASKS, parts=parts)
    assert (response.status, response.json["code"]) == (413, "TOO_LARGE")


async def test_an_announced_size_is_refused_before_it_comes(ann: Client) -> None:
    assert (await ann.post(TASKS, raw=b"{}", headers={"content-length": "99999999"})).status == 413


async def test_a_body_in_parts_is_put_together(ann: Client) -> None:
    assert (await ann.request("POST", TASKS, parts=[b'{"in', b'put": "a"', b"}"])).status == 201


async def test_a_compressed_body_is_refused(ann: Client) -> None:
    response = await ann.post(TASKS, {"input": "a"}, headers={"content-encoding": "gzip"})
    assert (response.status, response.json["code"]) == (422, "INVALID_INPUT")


async def test_a_fault_in_a_batch_says_where(ann: Client) -> None:
    response = await ann.post(f"{TASKS}/batch", {"tasks": [{"input": "a"}, {"input": 1}]})
    assert response.json["errors"][0]["path"] == "tasks[1].input"
    response = await ann.post(f"{TASKS}/batch", {"tasks": [{"input": "a"}, {}]})
    assert response.json["errors"][0]["path"] == "tasks[1].input"
    assert (await ann.post(f"{TASKS}/batch", {"tasks": []})).status == 422
    assert (await ann.post(f"{TASKS}/batch", {"tasks": [{"input": "a"}] * 1001})).status == 422


async def test_an_unknown_address_and_a_wrong_method_are_problems_too(ann: Client) -> None:
    for path in ("/nowhere", "/api/v1/tasks/", "/api/v1/tasks/a/b/c", "/api/v1/tasks/{id}/odd", "//"):
        response = await ann.get(path)
        assert (response.status, response.json["code"]) == (404, "NOT_FOUND"), path
    response = await ann.request("PUT", TASKS)
    assert (response.status, response.json["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert response.headers["allow"] == "GET, HEAD, POST"


async def test_a_fault_of_ours_tells_nothing(app: GatewayApp, ann: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(app.door.hub, "read", broken)
    await ann.post(TASKS, {"input": "a"})
    response = await ann.get(TASKS)
    assert (response.status, response.json["code"]) == (500, "INTERNAL_ERROR")
    assert b"secret" not in response.body


async def test_every_answer_is_guarded_against_being_misread(ann: Client) -> None:
    headers = (await ann.get(TASKS)).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["cache-control"] == "no-store"
