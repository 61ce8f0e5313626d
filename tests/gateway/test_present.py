"""The quick way to a new task's answer says what the plain way says, byte for byte, and nothing said is lost."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskyard.core.commands import Draft
from taskyard.core.settings import Settings
from taskyard.core.task import Attempt, Dependency, Failure, Task, Trouble
from taskyard.gateway.present import batch_json, task_answer, task_json
from taskyard.gateway.translate import draft_of
from taskyard.store.port import StoredTask
from taskyard.vocabulary import Level, ResultStatus, Status
from taskyard.wire.submission import Submission
from taskyard.wire.tasks import BatchAnswer, Rejected, TaskAnswer
from tests.support.gateway_client import Client

CREATED_AT = 1_700_000_000_123

EVERYTHING: dict[str, Any] = {
    "type": "report",
    "title": 'Ein "Titel"\n\\ mit \u00fcberall Zeichen, \u7dd1 \U0001f600 und \u2028',
    "input": "a\tb\\u0041 / </script> \x7f",
    "goal": "done",
    "constraints": ["quick", "\u00e9"],
    "context": {"event_type": None, "n": 1e-7, "deep": [[[{}]]]},
    "payload": {"": "empty name", "big": 12345678901234567890, "text": 'q"\\\u0001'},
    "metadata": {"a": [1, 2.50, True, None]},
    "source": {"type": "webhook", "id": "hook-1", "channel": "c"},
    "model": "m",
    "project_id": "p",
    "priority": 9,
    "deadline": "2999-01-01T00:00:00+02:00",
    "sla": "2998-01-01T00:00:00.5Z",
    "scheduled_for": "2997-06-01T12:00:00-03:30",
    "on_depends_fail": "continue",
    "correlation_id": "corr",
    "idempotency_key": "key",
    "dedupe": "content",
    "requirements": {
        "capabilities": ["gpu"],
        "excluded_daemons": ["d"],
        "estimated_duration": 1.5,
        "memory_mb": 1,
        "cpu_intensive": True,
    },
    "execution": {
        "timeout": 2,
        "max_attempts": 7,
        "retry_delay": 0.5,
        "retry_backoff": "linear",
        "require_decision_report": True,
        "on_lost": "fail",
        "exclusive": "x",
    },
}
ODD: list[dict[str, Any]] = [
    {},
    {"input": ""},
    {"context": None, "payload": None, "metadata": None},
    {"context": {}, "payload": {}, "constraints": []},
    {"requirements": {}, "execution": {}, "source": {}},
    {"dedupe": "content"},
    *({name: value} for name, value in EVERYTHING.items()),
    EVERYTHING,
]


def a_draft(said: dict[str, Any]) -> Draft:
    submission = msgspec.json.decode(msgspec.json.encode({"input": "hello", **said}), type=Submission)
    return draft_of(submission, id="0190", user_id="u", settings=Settings())


def a_stored(said: dict[str, Any], **fields: Any) -> StoredTask:
    """As intake would make it of this; `fields` are what became of it."""
    draft = a_draft(said)
    task = Task(
        id=draft.id,
        user_id="u",
        number=7,
        kind=draft.kind,
        terms=draft.terms,
        created_at=CREATED_AT,
        status=Status.QUEUED if draft.scheduled_for is None else Status.PENDING,
        queued_at=CREATED_AT if draft.scheduled_for is None else None,
        not_before=draft.scheduled_for,
        deadline=draft.deadline,
        sla=draft.sla,
        key=draft.key,
        digest=draft.digest,
        correlation_id=draft.correlation_id,
    )
    for name, value in fields.items():
        setattr(task, name, value)
    return StoredTask(task, draft.body)


def plainly(stored: StoredTask, *, deduplicated: bool = False) -> bytes:
    return msgspec.json.encode(task_answer(stored, deduplicated=deduplicated))


@pytest.mark.parametrize("said", ODD)
def test_a_new_task_is_answered_as_any_other(said: dict[str, Any]) -> None:
    stored = a_stored(said)
    assert task_json(stored) == plainly(stored)


BECAME: list[dict[str, Any]] = [
    {"level": Level.CRITICAL, "value": 10},
    {"level": Level.NORMAL, "asked": Level.LOW},
    {"level": Level.LOW, "trouble": Trouble(aged=True)},
    {"number": 12345},
    {"parent_id": "parent"},
    {"depends": [Dependency("one"), Dependency("two", Status.COMPLETED, 5)]},
    {"depends": []},
    {"status": Status.WAITING, "queued_at": None},
    {"queued_at": CREATED_AT + 1},
    {"not_before": CREATED_AT + 5, "status": Status.PENDING, "queued_at": None},
    {"trouble": Trouble(waiting_for_daemon="mac-1")},
    {"trouble": Trouble(blocked_reason="T-001 ended as failed"), "status": Status.BLOCKED},
    {"status": Status.SCHEDULED, "scheduled_at": 5, "attempts": [Attempt(1, "d", "mac-1", "b", 5)]},
    {"status": Status.RUNNING, "started_at": 6, "attempts": [Attempt(1, "d", "mac-1", "b", 5, started_at=6)]},
    {"status": Status.CANCELLED, "completed_at": 7},
    {"status": Status.STALE, "completed_at": 7, "cancel_requested_at": 6},
    {"status": Status.PERMANENTLY_FAILED, "completed_at": 7, "error": Failure("DAEMON_NOT_FOUND", "No such daemon.")},
    {"cancel_requested_at": 6},
    {
        "status": Status.COMPLETED,
        "completed_at": 7,
        "attempts": [Attempt(1, "d", "mac-1", "b", 5, started_at=6, ended_at=7)],
        "summary": "done",
        "result_status": ResultStatus.SUCCESS,
    },
]


@pytest.mark.parametrize("became", BECAME)
@pytest.mark.parametrize("said", [{}, EVERYTHING])
def test_so_is_one_to_which_something_has_happened(said: dict[str, Any], became: dict[str, Any]) -> None:
    stored = a_stored(said, **became)
    assert task_json(stored) == plainly(stored)


def test_so_are_a_duplicate_and_a_task_with_a_result() -> None:
    stored = a_stored({})
    assert task_json(stored, deduplicated=True) == plainly(stored, deduplicated=True)
    ended = StoredTask(stored.task, stored.body, outcome=b'{"result":[1]}')
    assert task_json(ended) == plainly(ended)


@settings(deadline=None)
@given(st.text(), st.dictionaries(st.text(), st.text() | st.integers(-(2**63), 2**64 - 1) | st.none()))
def test_whatever_was_said_is_answered_as_it_was_said(text: str, payload: dict[str, object]) -> None:
    stored = a_stored({"input": text, "title": text, "payload": payload})
    assert task_json(stored) == plainly(stored)
    answered = msgspec.json.decode(task_json(stored))
    assert (answered["input"], answered["title"], answered["payload"]) == (text, text, payload)


def test_a_batch_of_encoded_tasks_is_a_batch_answer() -> None:
    tasks = [a_stored(said) for said in ODD]
    rejected = [Rejected(index=3, status=422, code="INVALID_INPUT", detail='"no"')]
    whole = msgspec.json.encode(BatchAnswer([task_answer(one) for one in tasks], rejected))
    assert batch_json([(one, False) for one in tasks], rejected) == whole
    assert batch_json([], []) == msgspec.json.encode(BatchAnswer([], []))


def test_an_answer_has_the_fields_that_are_documented() -> None:
    optional = {"truncated", "pattern"}
    assert set(msgspec.json.decode(task_json(a_stored({})))) == set(TaskAnswer.__struct_fields__) - optional


@pytest.mark.anyio
async def test_everything_that_was_said_comes_back_under_its_own_name(ann: Client) -> None:
    """A value that strayed into its neighbour's place would be found here."""
    said = {**EVERYTHING, "name": "a"}
    response = await ann.post("/api/v1/tasks/batch", {"tasks": [said]})
    task = response.json["tasks"][0]
    times = {"deadline": "2998-12-31T22:00:00Z", "sla": "2998-01-01T00:00:00.500000Z"}
    times["scheduled_for"] = times["not_before"] = "2997-06-01T15:30:00Z"
    expected: dict[str, Any] = {**EVERYTHING, **times, "priority": "high", "priority_value": 9}
    requirements: dict[str, Any] = {**EVERYTHING["requirements"], "target_daemon": None}
    assert {name: task[name] for name in expected} == {**expected, "requirements": requirements}
    assert (task["queue"], task["status"], task["parent_task_id"]) == ("default", "pending", None)
    assert (await ann.get(f"/api/v1/tasks/{task['id']}")).json == task
