"""Both clients when something is refused, breaks off or is not there: through real sockets, against one hub or more."""

import socket
from typing import Any

import pytest

from taskyard.sdk.client import Client
from taskyard.sdk.errors import (
    BadAnswer,
    Conflict,
    HubUnreachable,
    Invalid,
    Limited,
    NotAllowed,
    NotFound,
    Unavailable,
)
from tests.sdk.conftest import Driver
from tests.support.http_stub import Reply, Reset, Stream, StubHub, a_task, an_event, problem

# --- refusals and faults -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (problem(404, "TASK_NOT_FOUND", "There is no task T-9."), NotFound),
        (problem(401, "UNAUTHENTICATED", "No key."), NotAllowed),
        (problem(429, "RATE_LIMITED", "Too fast.", retry_after=70), Limited),
        (problem(409, "INVALID_TRANSITION", "It has ended."), Conflict),
        (problem(422, "INVALID_INPUT", "Bad.", errors=[{"path": "input", "message": "is missing"}]), Invalid),
        (problem(503, "A_NEW_CODE", "Later."), Unavailable),
    ],
)
def test_a_refusal_is_an_exception_that_says_everything(
    hub: StubHub, driver: Driver, reply: Reply, kind: type[Any]
) -> None:
    hub.on("GET", "tasks/T-9", reply)
    with pytest.raises(kind) as caught:
        driver.do(driver.client.task("T-9"))
    assert caught.value.status == reply.status
    assert caught.value.code == reply.body["code"]
    assert str(caught.value) == reply.body["detail"]
    assert caught.value.retry_after == (70.0 if reply.status == 429 else None)
    assert [error.path for error in caught.value.errors] == (["input"] if reply.status == 422 else [])
    assert len(hub.calls) == 1


def test_a_call_that_is_not_safe_to_repeat_is_not_repeated(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "tasks/T-1/retry", Reset())
    with pytest.raises(HubUnreachable) as caught:
        driver.do(driver.client.retry("T-1"))
    assert caught.value.sent
    assert len(hub.calls) == 1


def test_repeating_has_an_end(hub: StubHub, driver: Driver) -> None:
    hub.on("GET", "tasks/T-1", problem(503, "NO_LEADER", "Nobody leads.", retry_after=0))
    with pytest.raises(Unavailable, match=r"Nobody leads\."):
        driver.do(driver.client.task("T-1"))
    assert len(hub.calls) == 3


def test_a_hub_that_is_not_there_is_said_so(driver: Driver) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        absent = Driver(
            f"http://127.0.0.1:{reserved.getsockname()[1]}",
            asynchronous=not isinstance(driver.client, Client),
        )
        with pytest.raises(HubUnreachable, match="No hub answers at http://") as caught:
            absent.do(absent.client.retry("T-1"))
        assert not caught.value.sent
        absent.close()


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body=b"<html>hello</html>"),
        Reply(body={"id": 7}),
        Reply(status=302, headers={"Location": "http://elsewhere.example/"}),
    ],
)
def test_what_is_no_answer_of_a_hub_is_said_so(hub: StubHub, driver: Driver, reply: Reply) -> None:
    hub.on("GET", "tasks/T-1", reply)
    with pytest.raises(BadAnswer):
        driver.do(driver.client.task("T-1"))


# --- several hubs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [Reset(), problem(503, "NO_LEADER", "Nobody leads.", retry_after=0)])
def test_what_one_hub_does_not_answer_is_asked_of_the_next_which_is_then_asked_first(
    hub: StubHub, other_hub: StubHub, driver_of_two: Driver, fault: Any
) -> None:
    hub.on("POST", "tasks", fault)
    other_hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    for _ in range(2):
        assert driver_of_two.do(driver_of_two.client.submit("hello")).ref == "T-002"
    assert (len(hub.calls), len(other_hub.calls)) == (1, 2)
    assert hub.calls[0].headers["idempotency-key"] == other_hub.calls[0].headers["idempotency-key"]


def test_a_hub_that_is_not_there_is_passed_over(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "tasks/T-1/retry", Reply(body=a_task()))
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        hubs = f"http://127.0.0.1:{reserved.getsockname()[1]},{hub.url}"
        both = Driver(hubs, asynchronous=not isinstance(driver.client, Client))
        assert both.do(both.client.retry("T-1")).ref == "T-002"
        both.close()


def test_a_stream_that_one_hub_breaks_off_goes_on_at_the_next(
    hub: StubHub, other_hub: StubHub, driver_of_two: Driver
) -> None:
    hub.on("GET", "events", Stream([an_event("1-1-0", "task.queued")]))
    other_hub.on("GET", "events", Stream([an_event("1-2-0", "task.started")]))
    events = driver_of_two.take(driver_of_two.client.events(), 2)
    assert [event.id for event in events] == ["1-1-0", "1-2-0"]
    assert [call.headers.get("last-event-id") for call in (*hub.calls, *other_hub.calls)] == [None, "1-1-0"]


# --- events ------------------------------------------------------------------------------------------------


def test_a_broken_stream_goes_on_where_it_was(hub: StubHub, driver: Driver) -> None:
    first = an_event("1-1-0", "task.queued", **{"from": None, "to": "queued"})
    second, third = an_event("1-2-0", "task.started"), an_event("1-3-0", "task.completed")
    hub.on(
        "GET",
        "events",
        Stream([b": hello\n\n", first, second[:20]]),  # cut in the middle of an event
        Reset(),
        problem(503, "NO_LEADER", "Nobody leads.", retry_after=0),
        Stream([second], torn=False),
        Stream([third]),
    )

    events = driver.take(driver.client.events(task="T-002", types=["task.queued", "task.started"]), 3)

    assert [event.id for event in events] == ["1-1-0", "1-2-0", "1-3-0"]
    assert (events[0].event, events[0].was, events[0].now) == ("task.queued", None, "queued")
    resumed = [call.headers.get("last-event-id") for call in hub.calls]
    assert resumed == [None, "1-1-0", "1-1-0", "1-1-0", "1-2-0"]
    assert hub.calls[0].query == {"task": "T-002", "types": "task.queued,task.started"}
    assert hub.calls[0].headers["accept"] == "text/event-stream"


def test_a_stream_can_begin_after_a_known_event(hub: StubHub, driver: Driver) -> None:
    hub.on("GET", "events", Stream([an_event(None, "task.progress"), an_event("1-9-0", "task.queued")]))
    events = driver.take(driver.client.events(last_event_id="1-8-0"), 2)
    assert [event.id for event in events] == [None, "1-9-0"]
    assert hub.calls[0].headers["last-event-id"] == "1-8-0"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (problem(403, "FORBIDDEN", "Not yours."), NotAllowed),
        (Stream([b"<html>"], torn=False, content_type="text/html"), BadAnswer),
        (Stream([b"data: {]\n\n"]), BadAnswer),
        (Stream([]), HubUnreachable),
    ],
)
def test_a_stream_that_cannot_be_had_ends_in_an_error(
    hub: StubHub, driver: Driver, answer: Any, kind: type[Exception]
) -> None:
    hub.on("GET", "events", answer)
    with pytest.raises(kind):
        driver.take(driver.client.events(), 1)
