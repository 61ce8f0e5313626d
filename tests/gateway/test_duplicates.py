"""Names that stand twice in one JSON object are found where the hub reads, and nowhere else."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskyard.gateway.duplicates import NAMED_BYTES_MAX, Shape, repeated, shape_of
from taskyard.gateway.routes import ROUTES
from taskyard.wire.imports import Import
from taskyard.wire.submission import Batch, Completion, Submission
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

TASKS = "/api/v1/tasks"
pytestmark = pytest.mark.anyio
SUBMISSION, BATCH, IMPORT = shape_of(Submission), shape_of(Batch), shape_of(Import)


def twice(raw: bytes, shape: Shape) -> str | None:
    fault = repeated(raw, shape)
    return None if fault is None else fault.path


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b'{"input":"a","input":"a"}', "input"),
        (b'{"input":"a","type":"b","input":"c"}', "input"),
        (b'{"input":"a","\\u0069nput":"c"}', "input"),
        (b' { "input" : "a" , "input" : "c" } ', "input"),
        (b'{"input":"a","context":{},"context":{}}', "context"),
        (b'{"input":"a:b","title":"c:d","title":"e"}', "title"),
        (b'{"input":"a","execution":{"timeout":1,"timeout":2}}', "execution.timeout"),
        (b'{"input":"a","requirements":{"capabilities":[],"capabilities":[]}}', "requirements.capabilities"),
        (b'{"input":"a","source":{"type":"user","type":"agent"}}', "source.type"),
    ],
)
async def test_a_name_that_stands_twice_is_refused_and_named(ann: Client, raw: bytes, path: str) -> None:
    response = await ann.post(TASKS, raw=raw)
    assert (response.status, response.json["code"]) == (422, "INVALID_INPUT")
    assert [error["path"] for error in response.json["errors"]] == [path]
    assert path in response.json["detail"]
    assert (await ann.get(TASKS)).json == []


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b'{"tasks":[{"input":"a"}],"tasks":[{"input":"b"}]}', "tasks"),
        (b'{"tasks":[{"input":"a"},{"input":"b","input":"c"}]}', "tasks[1].input"),
        (b'{"tasks":[{"input":"a"},{"type":"b","input":"b","type":"c"}],"partial":true}', "tasks[1].type"),
        (b'{"tasks":[{"input":1},{"input":"b","input":"c"}],"partial":true}', "tasks[1].input"),
        (b'{"tasks":[{"input":"a","execution":{"timeout":1,"timeout":2}}]}', "tasks[0].execution.timeout"),
    ],
)
async def test_in_a_batch_its_place_is_told(ann: Client, raw: bytes, path: str) -> None:
    response = await ann.post(f"{TASKS}/batch", raw=raw)
    assert (response.status, [error["path"] for error in response.json["errors"]]) == (422, [path])
    assert (await ann.get(TASKS)).json == []


@pytest.mark.parametrize("field", ["context", "payload", "metadata"])
async def test_what_is_only_carried_stays_as_it_is(hub: GatewayHub, ann: Client, field: str) -> None:
    carried = '{"a":1,"a":{"b":2,"b":3}}'
    response = await ann.post(TASKS, raw=f'{{"input":"a","{field}":{carried}}}'.encode())
    assert response.status == 201
    assert f'"{field}":{carried}'.encode() in response.body


async def test_a_result_is_only_carried_and_how_it_ended_is_read() -> None:
    shape = shape_of(Completion)
    assert twice(b'{"status":"completed","result":{"a":1,"a":2}}', shape) is None
    assert twice(b'{"status":"completed","status":"failed"}', shape) == "status"
    assert twice(b'{"status":"failed","error":{"code":"a","code":"b"}}', shape) == "error.code"
    assert twice(b'{"status":"failed","error":"a:b"}', shape) is None
    assert twice(b'{"status":"failed","error":{"code":"a","details":{"b":1,"b":2}}}', shape) is None


def test_an_objects_names_may_be_its_senders() -> None:
    assert twice(b'{"origin":"a","queues":{"a:b":{"models":[]},"c:d":{}}}', IMPORT) is None
    assert twice(b'{"origin":"a","queues":{"a":{},"a":{}}}', IMPORT) == "queues.a"
    assert twice(b'{"origin":"a","queues":{"a:b":{"models":[],"models":[]}}}', IMPORT) == "queues.a:b.models"
    assert twice(b'{"origin":"a","tasks":[{"id":"a","attempts":[{"daemon":"a","daemon":"b"}]}]}', IMPORT) == (
        "tasks[0].attempts[0].daemon"
    )


async def test_a_large_object_is_not_taken_apart_for_the_name(ann: Client) -> None:
    raw = b'{"input":"a","title":"b","input":"' + b"x" * NAMED_BYTES_MAX + b'"}'
    fault = repeated(raw, SUBMISSION)
    assert fault is not None
    assert fault.message.endswith("one of input, title")
    response = await ann.post(TASKS, raw=raw)
    assert response.json["detail"] == f"The whole {fault.message}."


async def test_every_body_that_is_read_is_looked_at(ann: Client, admin: Client) -> None:
    """Each route that takes an object refuses one that repeats a name, be it even one that it would not know."""
    for route in ROUTES:
        if route.method == "GET" or route.body is bytes or not route.body.__struct_fields__:
            continue
        name = msgspec.structs.fields(route.body)[0].encode_name
        assert twice(f'{{"{name}":null,"{name}":null}}'.encode(), route.shape) == name, route.path


NAMES = st.sampled_from(["input", "title", "execution", "context", "a:b", ""])
LEAVES: Any = st.one_of(st.none(), st.text(max_size=4), st.sampled_from(['":', ":", '\\":"', "{:}"]))
OBJECTS: Any = st.deferred(lambda: st.lists(st.tuples(NAMES, VALUES), max_size=4))
VALUES: Any = st.one_of(LEAVES, OBJECTS.map(lambda pairs: ("object", pairs)))


def written(value: Any, blank: str) -> str:
    if not isinstance(value, tuple):
        return msgspec.json.encode(value).decode()
    members = [f"{msgspec.json.encode(name).decode()}{blank}:{blank}{written(one, blank)}" for name, one in value[1]]
    return "{" + f"{blank},{blank}".join(members) + "}"


@given(pairs=OBJECTS, blank=st.sampled_from(["", " ", "\n\t "]))
@settings(max_examples=100, deadline=None)
def test_an_object_is_refused_if_and_only_if_it_repeats_a_name(pairs: list[tuple[str, Any]], blank: str) -> None:
    """Beside an oracle that looks at each object; of members of `execution` only those of one level are read."""
    raw = written(("object", pairs), blank).encode()
    last = dict(pairs).get("execution")
    inner = last[1] if isinstance(last, tuple) else []
    names, below = [name for name, _ in pairs], [name for name, _ in inner]
    expected = len(set(names)) < len(names) or len(set(below)) < len(below)
    assert (repeated(raw, SUBMISSION) is not None) is expected
    assert (repeated(b'{"tasks":[' + raw + b"," + raw + b"]}", BATCH) is not None) is expected
