"""Loki's task queue: claims, backoff, dead letters, idempotency, cancellation, rate limits.

Everything it says is covered here.
"""

import asyncio
import os
import subprocess
import sys

import msgspec
import pytest

from taskyard.core.breakers import breaker_of, numbers_of, state_of
from taskyard.core.commands import SaveCheckpoint
from taskyard.core.effects import Done, SlowDown, Submitted
from taskyard.core.retry import classify
from taskyard.core.settings import Breaker, Breakers, Settings
from taskyard.core.task import Failure, Terms
from taskyard.core.yard_commands import ResetBreaker
from taskyard.gateway.app import GatewayApp
from taskyard.gateway.translate import digest_of
from taskyard.vocabulary import STATUS_ALIASES, AttemptStatus, BreakerState, Category, EventName, Scope, Verdict
from taskyard.wire.submission import Submission
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub
from tests.support.harness import ErrorCode, HubHarness, Level, Status, a_draft, attempt_of


def test_priorities_from_1_to_10_run_highest_first() -> None:
    hub = HubHarness()
    tasks = {value: hub.submit(value=value) for value in (3, 10, 1, 7, 8)}
    hub.daemon(slots=1)
    served = []
    for _ in tasks:
        task = hub.state.tasks[hub.sent()[-1][0]]
        served.append(task.value)
        hub.complete(task)
    assert served == [10, 8, 7, 3, 1]


@pytest.mark.parametrize(
    ("value", "level"),
    [(10, Level.CRITICAL), (9, Level.HIGH), (8, Level.HIGH), (6, Level.NORMAL), (4, Level.LOW), (2, Level.LOW)],
)
def test_the_documents_bands_of_priority_are_levels(value: int, level: Level) -> None:
    assert HubHarness().submit(value=value).level is level


def test_a_task_is_claimed_only_by_an_agent_that_runs_its_type() -> None:
    hub = HubHarness()
    hub.daemon("frontend", types=("eng-frontend",))
    task = hub.submit(type="eng-backend")
    assert task.status is Status.QUEUED
    hub.daemon("backend", types=("eng-backend", "ops-devops"))
    assert attempt_of(task).daemon_name == "backend"


def test_a_claimed_task_is_nobody_elses() -> None:
    hub = HubHarness()
    hub.daemon("one")
    hub.daemon("two")
    task = hub.submit()
    assert [e for e in hub.sent() if e[0] == task.id] == [(task.id, 1)]


def test_a_claim_that_is_not_followed_by_a_start_expires() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.accept(task)
    hub.live(s=30)
    assert (task.status, attempt_of(task).status) == (Status.QUEUED, AttemptStatus.REJECTED)


def test_what_an_agent_had_in_progress_when_it_crashed_is_claimed_by_another() -> None:
    hub = HubHarness()
    hub.daemon("crashed")
    task = hub.run(hub.submit())
    hub.advance(s=30)
    assert task.status is Status.RUNNING
    hub.daemon("other")
    hub.advance(s=6)
    assert (task.status, attempt_of(task).daemon_name) == (Status.SCHEDULED, "other")


@pytest.mark.anyio
async def test_agents_that_pull_are_given_the_most_urgent_they_can_do_and_no_two_the_same(
    hub: GatewayHub, app: GatewayApp
) -> None:
    agent = Client(app, hub.a_key(hub.a_user("loki"), Scope.TASKS, Scope.DAEMON))
    for priority, type in ((3, "eng-backend"), (9, "eng-backend"), (10, "eng-frontend"), (6, "eng-backend")):
        task = {"input": str(priority), "type": type, "priority": priority, "requirements": {"capabilities": [type]}}
        await agent.post("/api/v1/tasks", task)
    claim = {"name": "eng-backend-1", "capabilities": ["eng-backend"], "wait_s": 0}
    claimed = [await agent.post("/api/v1/claim", claim, hang_up=asyncio.Event()) for _ in range(4)]
    assert [answer.json["task"]["input"] for answer in claimed[:3]] == ["9", "6", "3"]
    assert claimed[3].status == 204


@pytest.mark.anyio
async def test_whoever_claimed_a_task_heartbeats_and_completes_it_and_nobody_else_can(
    hub: GatewayHub, app: GatewayApp
) -> None:
    agent = Client(app, hub.a_key(hub.a_user("loki"), Scope.TASKS, Scope.DAEMON))
    other = Client(app, hub.a_key(hub.a_user("thor"), Scope.TASKS, Scope.DAEMON))
    task = (await agent.post("/api/v1/tasks", {"input": "a"})).json["id"]
    claimed = await agent.post("/api/v1/claim", {"name": "one", "wait_s": 0}, hang_up=asyncio.Event())
    own = Client(app, claimed.json["token"])
    done = {"status": "completed", "attempt": 1}
    assert (await other.post(f"/api/v1/tasks/{task}/complete", done)).status == 404
    assert (await own.post(f"/api/v1/tasks/{task}/heartbeat")).status == 200
    assert (await own.post(f"/api/v1/tasks/{task}/complete", done)).status == 200
    assert (await agent.get(f"/api/v1/tasks/{task}")).json["status"] == "completed"


def test_a_failed_task_is_nobodys_while_it_waits_and_anybodys_when_its_wait_is_over() -> None:
    # Given an agent with one place, whose task failed and waits for its next try
    hub = HubHarness()
    agent = hub.daemon("agent", slots=1)
    task = hub.run(hub.submit(terms=Terms(retry_delay_ms=10_000)))
    hub.fail(task)

    # Then the place is free for the next one, and who failed is not waited for
    other = hub.submit()
    assert attempt_of(other).daemon_name == "agent"
    hub.disconnect(agent)
    hub.daemon("second", slots=1)
    assert hub.await_offer(task, within_s=13) >= 9
    assert attempt_of(task).daemon_name == "second"


def test_a_task_with_unfinished_dependencies_is_not_claimed() -> None:
    hub = HubHarness()
    hub.daemon()
    first, second = hub.submit(), hub.submit()
    task = hub.submit(depends_on=(first.id, second.id))
    hub.complete(first)
    assert task.status is Status.WAITING
    hub.complete(second)
    assert task.status is Status.SCHEDULED


def test_the_words_claimed_in_progress_done_and_dead_letter_are_understood() -> None:
    assert STATUS_ALIASES["claimed"] == (Status.SCHEDULED,)
    assert STATUS_ALIASES["in-progress"] == (Status.SCHEDULED, Status.RUNNING)
    assert STATUS_ALIASES["done"] == (Status.COMPLETED,)
    assert STATUS_ALIASES["dead-letter"] == STATUS_ALIASES["failed"] == (Status.PERMANENTLY_FAILED,)


def test_completing_a_task_triggers_its_dependants() -> None:
    hub = HubHarness()
    hub.daemon()
    first = hub.submit()
    heir = hub.submit(depends_on=(first.id,))
    hub.complete(first)
    assert heir.status is Status.SCHEDULED


def test_backoff_doubles_from_its_base_and_does_not_compound() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(retry_delay_ms=60_000, max_attempts=5))
    waits = []
    for _ in range(4):
        hub.fail(task)
        assert task.not_before is not None
        waits.append((task.not_before - hub.now.wall) / 60_000)
        hub.await_offer(task)
    # 60 s, 120 s, 240 s, 480 s, each with at most a fifth of jitter; compounding would give 60, 120, 480, 3840.
    assert all(base <= wait <= 1.2 * base for wait, base in zip(waits, (1, 2, 4, 8), strict=True))


def test_after_its_last_try_a_task_is_a_dead_letter_with_its_error() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(max_attempts=2, retry_delay_ms=0))
    hub.fail(task, message="first")
    hub.fail(task, message="second")
    assert task.status is Status.PERMANENTLY_FAILED
    assert task.error == Failure("BOOM", "second")
    assert [a.error.message for a in task.attempts or () if a.error] == ["first", "second"]


def test_a_dead_letter_is_deleted_retried_put_off_or_escalated() -> None:
    for verdict, status in (
        (Verdict.DISCARD, Status.CANCELLED),
        (Verdict.RETRY, Status.QUEUED),
        (Verdict.WAIT, Status.PENDING),
        (Verdict.ESCALATE, Status.PERMANENTLY_FAILED),
    ):
        hub = HubHarness()
        daemon = hub.daemon()
        task = hub.submit(terms=Terms(max_attempts=1))
        hub.fail(task)
        hub.disconnect(daemon)
        hub.review(task, verdict, until=hub.now.wall + 1000, to="lead" if verdict is Verdict.ESCALATE else None)
        assert task.status is status


def test_a_retried_dead_letter_has_its_tries_again_and_the_decision_is_logged() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(max_attempts=1))
    hub.fail(task)
    hub.review(task, Verdict.RETRY)
    assert (task.status, task.series) == (Status.SCHEDULED, 2)
    assert hub.batches[-1].audit[0].action == "dead_letter.retry"
    assert hub.said(EventName.TASK_REVIEWED, task) != []


def test_a_retried_dead_letter_waits_as_long_as_at_first() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(retry_delay_ms=60_000, max_attempts=3))
    for _ in range(2):
        hub.fail(task)
        hub.await_offer(task)
    hub.fail(task)
    hub.review(task, Verdict.RETRY)
    hub.fail(task)
    assert task.not_before is not None
    assert 60_000 <= task.not_before - hub.now.wall <= 72_000


CONTENT = {"type": "eng-backend", "input": "build", "context": {"a": 1}, "payload": {"b": [2]}, "depends_on": ["T-001"]}
HASHES = """
import msgspec, sys
from taskyard.gateway.translate import digest_of
from taskyard.wire.submission import Submission
print(digest_of(msgspec.json.decode(sys.argv[1], type=Submission), "ann"))
"""


def digest(**fields: object) -> str:
    user = str(fields.pop("user", "ann"))
    return digest_of(msgspec.json.decode(msgspec.json.encode({**CONTENT, **fields}), type=Submission), user)


def test_the_same_content_has_the_same_hash_in_every_process() -> None:
    content = msgspec.json.encode(CONTENT).decode()
    said = {
        subprocess.run(
            [sys.executable, "-c", HASHES, content],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert len(said) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"user": "bob"},
        {"type": "eng-frontend"},
        {"input": "test"},
        {"context": {"a": 2}},
        {"payload": {"b": [3]}},
        {"depends_on": []},
    ],
)
def test_whatever_makes_it_other_work_makes_another_hash(other: dict[str, object]) -> None:
    assert digest(**other) != digest()


@pytest.mark.anyio
async def test_the_callers_key_is_kept_where_content_is_compared_too(ann: Client) -> None:
    first = await ann.post("/api/v1/tasks", {"input": "a", "dedupe": "content", "idempotency_key": "mine"})
    assert first.json["idempotency_key"] == "mine"
    second = await ann.post("/api/v1/tasks", {"input": "a", "dedupe": "content", "idempotency_key": "another"})
    assert second.json["id"] != first.json["id"]


@pytest.mark.anyio
async def test_a_task_that_waits_for_other_work_of_its_own_batch_is_another_task(ann: Client) -> None:
    # Given a batch whose second task waits for its first
    summary = {"input": "sum up", "depends_on": ["first"], "dedupe": "content"}
    batches = [{"tasks": [{"input": page, "name": "first"}, summary]} for page in ("read page 1", "read page 2")]
    path = "/api/v1/tasks/batch"
    (_, one) = (await ann.post(path, batches[0])).json["tasks"]

    # When another batch has the same second task after another first one
    (first, other) = (await ann.post(path, batches[1])).json["tasks"]

    # Then that is not the same work
    assert (other["deduplicated"], other["depends_on"]) == (False, [first["id"]])
    assert other["id"] != one["id"]


def test_what_was_cancelled_may_be_submitted_again() -> None:
    hub = HubHarness()
    task = hub.submit(key="hash", digest="hash")
    hub.cancel(task)
    assert hub.submit(key="hash", digest="hash") is not task


def test_the_same_content_is_one_task_while_it_is_pending_in_progress_or_completed() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(key="hash", digest="hash")
    assert hub.submit(key="hash", digest="hash") is task
    hub.run(task)
    assert hub.submit(key="hash", digest="hash") is task
    hub.complete(task)
    assert hub.offer(a_draft(key="hash", digest="hash")) == Submitted((task.id,), (True,))


def test_cancelling_cancels_dependants_recursively_with_the_reason_kept() -> None:
    hub = HubHarness()
    first = hub.submit()
    second = hub.submit(depends_on=(first.id,))
    third = hub.submit(depends_on=(second.id,))
    assert hub.cancel(first, reason="obsolete") == Done(first.id, (second.id, third.id))
    assert [t.status for t in (first, second, third)] == [Status.CANCELLED] * 3
    assert hub.said(EventName.TASK_CANCELLED, first)[0].data == {"reason": "obsolete"}
    assert hub.said(EventName.TASK_CANCELLED, third)[0].data == {"because": second.id}


def test_cancelling_where_ways_meet_again_cancels_each_once() -> None:
    hub = HubHarness()
    top = hub.submit()
    left, right = hub.submit(depends_on=(top.id,)), hub.submit(depends_on=(top.id,))
    bottom = hub.submit(depends_on=(left.id, right.id))
    assert hub.cancel(top) == Done(top.id, (left.id, right.id, bottom.id))
    assert len(hub.said(EventName.TASK_CANCELLED)) == 4


def test_cancelling_the_first_of_a_very_long_row_cancels_all_of_it() -> None:
    hub = HubHarness()
    names = [f"n{n}" for n in range(2000)]
    drafts = [a_draft(name=name, depends_on=names[max(0, n - 1) : n]) for n, name in enumerate(names)]
    tasks = hub.submit_all(*drafts)
    hub.cancel(tasks[0])
    assert {task.status for task in tasks} == {Status.CANCELLED}


def test_a_task_in_progress_can_be_cancelled() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.cancel(task)
    hub.confirm_cancel(task)
    assert task.status is Status.CANCELLED


def test_a_completed_task_without_its_decision_report_is_incomplete() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(decision_report=True, retry_delay_ms=0))
    hub.complete(task)
    assert (task.attempts or [])[0].status is AttemptStatus.INCOMPLETE
    assert task.error is not None
    assert task.error.code == ErrorCode.DECISION_REPORT_MISSING
    hub.complete(task, has_report=True)
    assert task.status is Status.COMPLETED


@pytest.mark.parametrize(
    "message", ["rate limit hit", "HTTP error 429", "Too many requests", "Quota exceeded", "see retry-after"]
)
def test_the_documents_signs_of_a_rate_limit_are_known(message: str) -> None:
    assert classify(Failure("X", message)) is Category.RATE_LIMITED


def test_a_rate_limit_waits_as_said_or_a_minute_doubling_to_an_hour_with_a_tenth_of_jitter() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.fail(task, code="RATE_LIMITED", retry_after_ms=7_000)
    assert task.not_before == hub.now.wall + 7_000
    for expected in (120, 240, 480):
        hub.await_offer(task)
        hub.fail(task, message="429 too many requests")
        assert task.not_before is not None
        assert expected * 1000 <= task.not_before - hub.now.wall <= expected * 1100
    assert task.status is Status.PENDING


def test_the_other_agents_of_the_queue_are_told_to_slow_down_for_the_whole_time_not_half_of_it() -> None:
    hub = HubHarness()
    hub.daemon(slots=1)
    task = hub.submit()
    other = hub.daemon("other", slots=1)
    effects = hub.fail(task, code="RATE_LIMITED", retry_after_ms=7_000)
    assert hub.of(effects, SlowDown) == [SlowDown(other.session, "default", 7_000)]


def test_who_waits_for_a_rate_limit_holds_no_slot_and_the_others_wait_with_it() -> None:
    hub = HubHarness()
    hub.daemon(slots=1)
    task, other = hub.submit(), hub.submit()
    hub.fail(task, code="RATE_LIMITED", retry_after_ms=7_000)
    assert (task.status, other.status, hub.state.running) == (Status.PENDING, Status.QUEUED, 0)
    hub.live(s=6.999)
    assert hub.state.running == 0
    hub.live(s=0.001)
    assert hub.state.running == 1


def test_agents_that_print_429_are_not_rate_limited() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.fail(task, message="wrote 429 files and then fell over")
    assert attempt_of(task).status is AttemptStatus.FAILED


def test_the_checkpoint_of_a_rate_limited_agent_is_kept_for_its_next_try() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.step(SaveCheckpoint("d-mac", task.id, 1, b'{"at":3}', 1))
    hub.fail(task, code="RATE_LIMITED", retry_after_ms=0)
    hub.await_offer(task)
    assert task.checkpoint


# --- circuit breakers --------------------------------------------------------------------------------------

AS_CONFIGURED = Settings(
    breakers=Breakers(
        overrides={"ops-security": Breaker(failure_threshold=3), "biz-marketing": Breaker(failure_threshold=10)}
    )
)


def failing(type: str, times: int) -> HubHarness:
    """A hub with the document's configuration, where an agent type has failed so often."""
    hub = HubHarness(AS_CONFIGURED)
    hub.daemon(slots=10)
    for _ in range(times):
        hub.fail(hub.submit(type=type, terms=Terms(max_attempts=1)))
    return hub


def state(hub: HubHarness, type: str) -> BreakerState:
    return state_of(breaker_of(hub.state.users["ann"], type), hub.now.wall)


@pytest.mark.parametrize(("type", "threshold"), [("eng-backend", 5), ("ops-security", 3), ("biz-marketing", 10)])
def test_a_circuit_breaker_opens_at_the_threshold_of_its_agent_type(type: str, threshold: int) -> None:
    assert state(failing(type, threshold - 1), type) is BreakerState.CLOSED
    hub = failing(type, threshold)
    assert state(hub, type) is BreakerState.OPEN
    assert len(hub.said(EventName.BREAKER_OPENED)) == 1


def test_an_override_leaves_the_documents_other_numbers_as_they_are() -> None:
    numbers = numbers_of(AS_CONFIGURED, "ops-security")
    assert (numbers.half_open_after, numbers.cooldown) == (60, 300)


def test_tasks_of_an_agent_type_whose_breaker_is_open_are_not_claimed_but_others_are() -> None:
    hub = failing("eng-backend", 5)
    assert hub.submit(type="eng-backend").status is Status.QUEUED
    assert hub.submit(type="eng-frontend").status is Status.SCHEDULED


def test_after_a_minute_one_test_task_is_let_through_and_its_success_closes_the_breaker() -> None:
    hub = failing("eng-backend", 5)
    tasks = [hub.submit(type="eng-backend") for _ in range(3)]
    hub.live(s=60)
    assert state(hub, "eng-backend") is BreakerState.HALF_OPEN
    assert [task.status for task in tasks].count(Status.SCHEDULED) == 1
    hub.complete(tasks[0])
    assert state(hub, "eng-backend") is BreakerState.CLOSED
    assert {task.status for task in tasks[1:]} == {Status.SCHEDULED}


def test_a_test_task_that_fails_with_retries_left_does_not_leave_the_breaker_half_open_for_ever() -> None:
    hub = failing("eng-backend", 5)
    task = hub.submit(type="eng-backend", terms=Terms(max_attempts=3, retry_delay_ms=0))
    hub.live(s=60)
    hub.fail(task)
    assert state(hub, "eng-backend") is BreakerState.OPEN
    hub.live(s=120)
    hub.complete(task)
    assert (task.status, state(hub, "eng-backend")) == (Status.COMPLETED, BreakerState.CLOSED)


def test_a_completed_task_resets_the_count_of_a_closed_breaker_and_does_not_close_an_open_one() -> None:
    hub = failing("eng-backend", 4)
    before = hub.submit(type="eng-backend")
    hub.complete(hub.submit(type="eng-backend"))
    assert breaker_of(hub.state.users["ann"], "eng-backend").failures == 0
    for _ in range(5):
        hub.fail(hub.submit(type="eng-backend", terms=Terms(max_attempts=1)))
    hub.complete(before)
    assert state(hub, "eng-backend") is BreakerState.OPEN


def test_looking_at_a_breaker_changes_nothing() -> None:
    hub = failing("eng-backend", 5)
    hub.live(s=61)
    kept = hub.kept()
    assert [state(hub, "eng-backend") for _ in range(3)] == [BreakerState.HALF_OPEN] * 3
    assert hub.kept() == kept
    assert hub.submit(type="eng-backend").status is Status.SCHEDULED


def test_a_person_can_reset_a_circuit_breaker() -> None:
    hub = failing("eng-backend", 5)
    task = hub.submit(type="eng-backend")
    hub.ask(ResetBreaker("ann", "eng-backend", "ann"))
    assert (state(hub, "eng-backend"), task.status) == (BreakerState.CLOSED, Status.SCHEDULED)
