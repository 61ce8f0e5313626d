"""One trace per task: its spans follow from its record, and the work is told where it stands."""

import io
import json
import sys
from typing import Any

import pytest

from taskyard.core.task import Task, Terms
from taskyard.hub.observe import Log
from taskyard.hub.traces import ENDPOINTS, Span, Traces, open_traces, spans_of
from taskyard.vocabulary import DependsPolicy, Verdict
from taskyard.wire.traceparent import read_traceparent
from tests.support.harness import START_WALL, HubHarness, a_draft
from tests.support.hub_scene import a_scene

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{CALLER}-01"
AGAIN = Terms(max_attempts=2, retry_delay_ms=3000)


class Sent:
    """Keeps what it is given, or refuses it."""

    def __init__(self, error: Exception | None = None) -> None:
        self.spans: list[Span] = []
        self.is_closed = False
        self._error = error

    def send(self, spans: list[Span]) -> None:
        if self._error is not None:
            raise self._error
        self.spans += spans

    def close(self) -> None:
        self.is_closed = True


def traces(sent: Sent | None = None) -> Traces:
    return Traces(sent or Sent(), Log(io.BytesIO()))


def between(span: Span) -> tuple[str, int, int]:
    """What it is, and its seconds since the start."""
    return span.name, (span.started_at - START_WALL) // 1000, (span.ended_at - START_WALL) // 1000


def a_task_that_fails_once(**fields: Any) -> Task:
    """It waits 2 s, fails after 1 s, waits 3 s, and is completed after 4 s."""
    hub = HubHarness()
    task = hub.submit(a_draft(terms=AGAIN, type="echo", **fields))
    hub.advance(s=2)
    hub.daemon()
    hub.run(task)
    hub.advance(s=1)
    hub.fail(task)
    hub.live(s=4)
    hub.run(task)
    hub.live(s=4)
    hub.complete(task)
    return task


def test_a_task_is_one_span_with_its_waits_and_attempts_below() -> None:
    root, *children = spans_of(a_task_that_fails_once())
    assert between(root)[:2] == ("task echo", 0)
    assert [between(child) for child in children][:2] == [("waiting", 0, 2), ("attempt", 2, 3)]
    assert [child.name for child in children] == ["waiting", "attempt", "waiting", "attempt"]
    assert all(child.parent_id == root.span_id and child.trace_id == root.trace_id for child in children)
    assert len({span.span_id for span in (root, *children)}) == 5
    assert children[2].started_at >= children[1].ended_at
    assert children[3].ended_at == root.ended_at


def test_spans_say_what_became_of_what() -> None:
    root, _, failed, _, done = spans_of(a_task_that_fails_once())
    assert root.attributes["taskyard.task.status"] == "completed"
    assert root.attributes["taskyard.task.ref"] == "T-001"
    assert root.error is None
    assert (failed.error, done.error) == ("BOOM", None)
    assert failed.attributes["taskyard.attempt.status"] == "failed"
    assert done.attributes == {
        "taskyard.attempt.number": 2,
        "taskyard.attempt.status": "success",
        "taskyard.daemon.id": "d-mac",
        "taskyard.daemon.name": "mac",
    }


def test_a_message_of_an_error_is_in_no_span() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(a_draft(terms=Terms(max_attempts=1))))
    hub.fail(task, code="BOOM", message="the password is 12345")
    spans = spans_of(task)
    assert spans[0].error == "BOOM"
    assert "12345" not in repr(spans)


def test_without_a_caller_the_trace_has_the_id_of_the_task() -> None:
    task = a_task_that_fails_once(id="0197aaaa-0000-7000-8000-000000000001")
    root = spans_of(task)[0]
    assert (root.trace_id, root.parent_id) == ("0197aaaa000070008000000000000001", None)


def test_the_trace_of_the_caller_goes_on() -> None:
    spans = spans_of(a_task_that_fails_once(traceparent=PARENT, tracestate="a=b"))
    assert {span.state for span in spans} == {"a=b"}
    root = spans[0]
    assert (root.trace_id, root.parent_id) == (TRACE, CALLER)


def test_what_the_caller_does_not_record_is_not_told() -> None:
    task = a_task_that_fails_once(traceparent=f"00-{TRACE}-{CALLER}-00")
    assert spans_of(task) == []
    assert traces().handed_context(task, 1).endswith("-00")


def test_the_work_stands_under_the_span_of_its_attempt() -> None:
    for parent in (None, PARENT):
        task = a_task_that_fails_once(traceparent=parent, id="0197aaaa-0000-7000-8000-000000000001")
        attempts = [span for span in spans_of(task) if span.name == "attempt"]
        handed = [traces().handed_context(task, number) for number in (1, 2)]
        assert handed == [f"00-{span.trace_id}-{span.span_id}-01" for span in attempts]
        assert [read_traceparent(one) for one in handed] == handed


def test_a_task_that_never_ran_has_waited_until_its_end() -> None:
    hub = HubHarness()
    task = hub.submit()
    hub.advance(s=5)
    hub.cancel(task)
    assert [between(span) for span in spans_of(task)] == [("task general", 0, 5), ("waiting", 0, 5)]


def test_a_task_that_was_never_ready_is_one_span() -> None:
    hub = HubHarness()
    first = hub.submit()
    task = hub.submit(a_draft(depends_on=(first.id,), terms=Terms(on_depends_fail=DependsPolicy.BLOCK)))
    hub.advance(s=5)
    hub.skip(task)
    assert [between(span) for span in spans_of(task)] == [("task general", 0, 5)]


def test_a_revived_task_is_told_anew_without_what_was_told_before() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(a_draft(terms=Terms(max_attempts=1))))
    hub.fail(task)
    before = spans_of(task)
    hub.live(s=5)
    hub.review(task, Verdict.RETRY)
    hub.complete(hub.run(task))
    after = spans_of(task)
    assert [span.name for span in after] == ["task general", "waiting", "attempt"]
    assert between(after[0]) == ("task general", 5, 5)
    assert before[0].trace_id == after[0].trace_id
    assert not {span.span_id for span in before} & {span.span_id for span in after}


def test_a_revived_task_that_is_cancelled_before_it_ran_is_told_from_when_it_was_ready() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit(a_draft(terms=Terms(max_attempts=1))))
    hub.fail(task)
    hub.disconnect(daemon)
    hub.advance(s=5)
    hub.review(task, Verdict.RETRY)
    hub.advance(s=2)
    hub.cancel(task)
    assert [between(span) for span in spans_of(task)] == [("task general", 5, 7), ("waiting", 5, 7)]


def test_a_clock_that_was_set_back_makes_no_span_that_ends_before_it_begins() -> None:
    task = a_task_that_fails_once()
    task.completed_at = task.attempts[1].ended_at = task.created_at - 60_000
    assert all(span.started_at <= span.ended_at for span in spans_of(task))


# --- in a hub ----------------------------------------------------------------------------------------------


async def test_a_hub_tells_of_a_task_once_it_has_ended_and_hands_its_context_to_the_work() -> None:
    sent = Sent()
    async with a_scene(traces=traces(sent)) as scene:
        session = await scene.daemon()
        task_id = await scene.submit(traceparent=PARENT)
        await scene.run(session, task_id)
        handed = (await session.message("task.execute"))["task"]["traceparent"]
        assert sent.spans == []
        watcher = scene.watcher()
        scene.complete(session, task_id)
        await watcher.event("task.completed")
    root, _, attempt = sent.spans
    assert root.attributes["taskyard.task.id"] == task_id
    assert (root.trace_id, root.parent_id) == (TRACE, CALLER)
    assert handed == f"00-{TRACE}-{attempt.span_id}-01"


@pytest.mark.parametrize("parent", [None, PARENT])
async def test_a_hub_without_traces_hands_on_what_the_caller_sent(parent: str | None) -> None:
    async with a_scene() as scene:
        session = await scene.daemon()
        await scene.submit(traceparent=parent)
        assert (await session.message("task.execute"))["task"].get("traceparent") == parent


async def test_what_sends_may_fail_and_the_hub_goes_on_without_it() -> None:
    sent, sink = Sent(ValueError("no")), io.BytesIO()
    async with a_scene(traces=Traces(sent, Log(sink))) as scene:
        first, second = await scene.submit(), await scene.submit()
        await scene.cancel(first)
        await scene.cancel(second)
        assert scene.hub.ready
    assert [json.loads(line)["event"] for line in sink.getvalue().splitlines()] == ["telemetry.failed"]


# --- opening -----------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ENDPOINTS:
        monkeypatch.delenv(name, raising=False)


def test_nothing_is_sent_unless_somebody_said_where() -> None:
    assert open_traces(None, Log(io.BytesIO())) is None


def test_without_the_extra_a_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "taskyard.hub.otlp", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    sink = io.BytesIO()
    assert open_traces("http://127.0.0.1:4318", Log(sink)) is None
    said = json.loads(sink.getvalue())
    assert (said["event"], said["level"]) == ("telemetry.missing", "warning")
    assert "taskyard[otel]" in said["data"]["advice"]
