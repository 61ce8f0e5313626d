"""The trace that a submission belongs to."""

import pytest

from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def kept(hub: GatewayHub) -> list[str | None]:
    return [task.traceparent for task in hub.state.tasks.values()]


async def test_a_task_keeps_the_trace_of_its_submission(hub: GatewayHub, ann: Client) -> None:
    await ann.post(TASKS, {"input": "a"}, headers={"traceparent": PARENT})
    await ann.post(TASKS, {"input": "b"})
    assert kept(hub) == [PARENT, None]


async def test_a_header_that_cannot_be_read_refuses_nothing(hub: GatewayHub, ann: Client) -> None:
    for wrong in ("", "yes", '"', PARENT.upper(), "ü"):
        assert (await ann.post(TASKS, {"input": "a"}, headers={"traceparent": wrong})).status == 201
    assert kept(hub) == [None] * 5


async def test_all_tasks_of_a_batch_belong_to_one_trace(hub: GatewayHub, ann: Client) -> None:
    await ann.post(f"{TASKS}/batch", {"tasks": [{"input": "a"}, {"input": "b"}]}, headers={"traceparent": PARENT})
    assert kept(hub) == [PARENT, PARENT]


async def test_a_submission_repeated_in_another_trace_is_the_same(hub: GatewayHub, ann: Client) -> None:
    body = {"input": "a", "idempotency_key": "k"}
    assert (await ann.post(TASKS, body, headers={"traceparent": PARENT})).status == 201
    again = await ann.post(TASKS, body, headers={"traceparent": PARENT.replace("4bf9", "0000")})
    assert (again.status, again.json["deduplicated"]) == (200, True)
    assert kept(hub) == [PARENT]


async def test_the_state_of_a_trace_is_kept_with_it_and_never_without(hub: GatewayHub, ann: Client) -> None:
    for number, headers in enumerate(
        (
            {"traceparent": PARENT, "tracestate": "a=b, c=d"},
            {"tracestate": "a=b"},
            {"traceparent": "no", "tracestate": "a=b"},
            {"traceparent": PARENT, "tracestate": "no state"},
        )
    ):
        await ann.post(TASKS, {"input": str(number)}, headers=headers)
    assert kept(hub) == [PARENT, None, None, PARENT]
    assert [task.tracestate for task in hub.state.tasks.values()] == ["a=b,c=d", None, None, None]


async def test_a_daemon_is_handed_the_state_with_the_trace(ann: Client, owner: Client) -> None:
    state = 'a="\\"'
    async with owner.daemon() as daemon:
        await owner.post(TASKS, {"input": "a"}, headers={"traceparent": PARENT, "tracestate": state})
        (order,) = await daemon.hear()
    assert (order["task"]["traceparent"], order["task"]["tracestate"]) == (PARENT, state)
