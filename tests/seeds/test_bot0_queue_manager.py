"""bot0's queue manager: a hub that decides when and where tasks run.

Covered here: task fields, life cycle, priorities, preemption, choice of daemon, missing daemons, failure categories,
retries, disconnects, results, events, rate limits, backpressure.
"""

import pytest

from taskyard.core.commands import CancelTask, Draft
from taskyard.core.daemon_commands import Held
from taskyard.core.effects import CancelWork, Execute, Refused, Submitted
from taskyard.core.lifecycle import TRANSITIONS
from taskyard.core.retry import classify
from taskyard.core.settings import Limits, Settings
from taskyard.core.task import Failure, Task, Terms
from taskyard.sdk.throttle import Throttle
from taskyard.vocabulary import AttemptStatus, Backoff, Category, EventName, Refusal, SourceType, Verdict
from taskyard.vocabulary.reasons import Lack
from tests.support.harness import ErrorCode, HubHarness, Level, Status, a_draft, attempt_of

MINUTE = 60_000


# Tasks


@pytest.mark.parametrize("source", [SourceType.USER, SourceType.PROACTIVE, SourceType.WEBHOOK, SourceType.SCHEDULE])
def test_tasks_of_every_source_pass_through_one_queue(source: SourceType) -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(source=source)
    hub.complete(task)
    assert (task.kind.source, task.status) == (source, Status.COMPLETED)


def test_the_fields_of_a_task_are_kept() -> None:
    hub = HubHarness()
    parent = hub.submit()
    at = hub.now.wall + 100 * MINUTE
    task = hub.submit(
        type="computer_use",
        key="once",
        capabilities=("computer_use", "gpu"),
        excluded=("old",),
        memory_mb=512,
        cpu_intensive=True,
        deadline=at,
        sla=at - 1,
        scheduled_for=at - 2,
        parent_id=parent.id,
        correlation_id="group",
        terms=Terms(timeout_ms=5, max_attempts=7, retry_delay_ms=9, backoff=Backoff.LINEAR, estimated_ms=11),
    )
    needs = task.kind.needs
    assert (needs.type, needs.capabilities, needs.excluded, needs.memory_mb, needs.cpu_intensive) == (
        "computer_use",
        ("computer_use", "gpu"),
        ("old",),
        512,
        True,
    )
    assert (task.key, task.deadline, task.sla, task.not_before) == ("once", at, at - 1, at - 2)
    assert (task.parent_id, task.correlation_id) == (parent.id, "group")
    assert (task.terms.timeout_ms, task.terms.max_attempts, task.terms.retry_delay_ms) == (5, 7, 9)


def test_defaults_are_300_s_three_attempts_and_30_s_between_them() -> None:
    terms = HubHarness().submit().terms
    assert (terms.timeout_ms, terms.max_attempts, terms.retry_delay_ms) == (300_000, 3, 30_000)
    assert terms.backoff is Backoff.EXPONENTIAL


def test_a_users_idempotency_key_prevents_a_duplicate() -> None:
    hub = HubHarness(users=("ann", "bob"))
    task = hub.submit(key="k")
    assert hub.submit(key="k") is task
    assert hub.submit(key="k", user="bob") is not task


def test_every_step_has_its_time() -> None:
    hub = HubHarness()
    task = hub.submit()
    times = [hub.now.wall]
    for step in (hub.daemon, lambda: hub.start(task), lambda: hub.complete(task)):
        hub.advance(s=1)
        step()
        times.append(hub.now.wall)
    assert [task.queued_at, task.scheduled_at, task.started_at, task.completed_at] == times
    assert task.created_at == times[0]


def test_an_attempt_knows_number_daemon_times_end_and_error() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.advance(s=1)
    hub.fail(task, code="NETWORK_DOWN", message="no route")
    attempt = attempt_of(task)
    assert (attempt.number, attempt.daemon_id, attempt.status) == (1, "d-mac", AttemptStatus.FAILED)
    assert (attempt.started_at, attempt.ended_at) == (hub.now.wall - 1000, hub.now.wall)
    assert attempt.error == Failure("NETWORK_DOWN", "no route")


# Priorities


def test_an_explicit_priority_is_taken_as_it_is() -> None:
    assert HubHarness().submit(level=Level.LOW, channel="desktop").level is Level.LOW


@pytest.mark.parametrize(("channel", "level"), [("desktop", Level.HIGH), ("telegram", Level.NORMAL)])
def test_a_users_task_is_high_from_the_desktop_and_normal_from_elsewhere(channel: str, level: Level) -> None:
    assert HubHarness().submit(channel=channel).level is level


@pytest.mark.parametrize(("factor", "level"), [(1.4, Level.CRITICAL), (2.9, Level.HIGH), (3.0, Level.NORMAL)])
def test_a_tight_deadline_makes_a_task_critical_or_high(factor: float, level: Level) -> None:
    hub = HubHarness()
    # 300 s is the estimate where none is given.
    deadline = hub.now.wall + round(factor * 300_000)
    task = hub.submit(source=SourceType.PROACTIVE, deadline=deadline, scheduled_for=hub.now.wall + 1)
    assert task.level is level


@pytest.mark.parametrize("source", [SourceType.PROACTIVE, SourceType.SCHEDULE])
def test_engines_and_schedules_are_normal(source: SourceType) -> None:
    assert HubHarness().submit(source=source).level is Level.NORMAL


@pytest.mark.parametrize(
    ("event", "level"),
    [("charge.payment.failed", Level.HIGH), ("repo.security.alert", Level.CRITICAL), ("push", Level.NORMAL)],
)
def test_a_webhooks_event_decides_its_priority(event: str, level: Level) -> None:
    assert HubHarness().submit(source=SourceType.WEBHOOK, event_type=event).level is level


def test_a_queued_task_is_escalated_when_its_deadline_comes_near() -> None:
    hub = HubHarness()
    task = hub.submit(level=Level.NORMAL, deadline=hub.now.wall + 20 * MINUTE)
    hub.advance(ms=10 * MINUTE + 1)
    assert task.level is Level.CRITICAL
    assert len(hub.said(EventName.TASK_ESCALATED)) == 1


def test_priorities_are_compared_by_urgency_not_by_their_letters() -> None:
    hub = HubHarness()
    levels = [Level.NORMAL, Level.LOW, Level.HIGH, Level.CRITICAL]
    hub.submit_all(*(a_draft(id=level, level=level) for level in levels))
    hub.daemon(slots=4)
    assert [task_id for task_id, _ in hub.sent()] == ["critical", "high", "normal", "low"]


# Daemons


def test_only_online_daemons_of_the_owner_with_room_and_capabilities_are_chosen() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.disconnect(hub.daemon("offline", capabilities=("gpu",)))
    hub.daemon("foreign", user="bob", capabilities=("gpu",))
    hub.daemon("plain")
    hub.daemon("full", slots=1, capabilities=("gpu",))
    hub.run(hub.submit(target="full"))
    hub.daemon("excluded", capabilities=("gpu",))
    hub.daemon("right", capabilities=("gpu", "browser"))
    task = hub.submit(capabilities=("gpu",), excluded=("excluded",))
    assert attempt_of(task).daemon_name == "right"


def test_the_less_loaded_daemon_is_preferred_then_the_one_with_fewer_tasks() -> None:
    hub = HubHarness()
    a, b = hub.daemon("a"), hub.daemon("b")
    hub.beat(a, load=0.5)
    hub.beat(b, load=0.1)
    first = hub.submit()
    assert attempt_of(first).daemon_name == "b"
    hub.beat(a, load=0.15)
    assert attempt_of(hub.submit()).daemon_name == "a"


def test_a_daemon_runs_five_tasks_unless_it_says_otherwise() -> None:
    hub = HubHarness()
    hub.daemon(slots=None)  # type: ignore[arg-type]
    tasks = [hub.submit() for _ in range(6)]
    # The fifth is kept for critical work
    assert [t.status for t in tasks].count(Status.SCHEDULED) == 4
    assert hub.submit(level=Level.CRITICAL).status is Status.SCHEDULED
    assert hub.submit(level=Level.CRITICAL).status is Status.QUEUED


def test_an_unknown_target_daemon_fails_the_task_for_good() -> None:
    task = HubHarness().submit(target="primary")
    assert task.status is Status.PERMANENTLY_FAILED
    assert task.error is not None
    assert task.error.code == ErrorCode.DAEMON_NOT_FOUND


def test_a_target_daemon_that_is_offline_holds_the_task_and_the_user_is_told() -> None:
    hub = HubHarness()
    hub.disconnect(hub.daemon("primary"))
    task = hub.submit(target="primary")
    assert task.status is Status.QUEUED
    assert task.trouble is not None
    assert task.trouble.waiting_for_daemon == "primary"
    assert len(hub.said(EventName.TASK_BLOCKED, task)) == 1


def test_an_urgent_task_that_no_daemon_can_run_is_told_at_once_and_stays_queued() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(level=Level.CRITICAL, capabilities=("gpu",))
    assert task.status is Status.QUEUED
    assert [e.task_id for e in hub.said(EventName.TASK_BLOCKED)] == [task.id]


def test_what_a_daemon_lacks_has_a_name() -> None:
    assert {Lack.DAEMON_OFFLINE, Lack.DAEMON_NOT_YOURS, Lack.DAEMON_FULL, Lack.CAPABILITY_MISSING} <= set(Lack)


# Failures


@pytest.mark.parametrize(
    ("code", "category"),
    [
        ("NETWORK_UNREACHABLE", Category.TRANSIENT),
        ("CONNECTION_LOST", Category.TRANSIENT),
        ("INVALID_INPUT", Category.PERMANENT),
        ("PERMISSION_DENIED", Category.PERMANENT),
        ("RESOURCE_NOT_FOUND", Category.PERMANENT),
        ("EXECUTION_TIMEOUT", Category.TIMEOUT),
        ("NEVER_HEARD_OF", Category.TRANSIENT),
    ],
)
def test_errors_are_classified(code: str, category: Category) -> None:
    assert classify(Failure(code, "m")) is category


def test_a_transient_error_is_retried_with_backoff_until_the_attempts_are_used_up() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    for base in (30, 60):
        hub.fail(task)
        assert task.not_before is not None
        assert base * 1000 <= task.not_before - hub.now.wall <= base * 1200
        hub.await_offer(task)
    hub.fail(task)
    assert task.status is Status.PERMANENTLY_FAILED


def test_a_permanent_error_is_not_retried_and_told() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.fail(task, code="PERMISSION_DENIED")
    assert task.status is Status.PERMANENTLY_FAILED
    assert len(hub.said(EventName.TASK_PERMANENTLY_FAILED)) == 1


def test_a_timed_out_task_is_retried_with_a_longer_timeout() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=10_000, retry_delay_ms=0)))
    hub.live(s=10)
    hub.confirm_cancel(task, attempt=1)
    assert [e.timeout_ms for e in hub.of(hub.effects, Execute)] == [10_000, 15_000]


def test_no_retry_begins_past_the_deadline() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(deadline=hub.now.wall + 20_000)
    hub.fail(task)
    assert task.status is Status.PERMANENTLY_FAILED
    assert task.error is not None
    assert task.error.code == ErrorCode.DEADLINE_PASSED


def test_delays_are_in_one_unit_and_at_most_ten_minutes() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(retry_delay_ms=3_600_000))
    hub.fail(task)
    assert task.not_before == hub.now.wall + 600_000


def test_tasks_of_a_daemon_that_disconnects_are_requeued_to_another() -> None:
    hub = HubHarness()
    gone = hub.daemon("gone")
    task = hub.run(hub.submit())
    hub.disconnect(gone)
    hub.advance(s=30)
    hub.daemon("other")
    hub.advance(s=6)
    assert (attempt_of(task).number, attempt_of(task).daemon_name) == (2, "other")
    assert hub.said(EventName.DAEMON_DISCONNECTED)[0].data == {
        "daemon_id": "d-gone",
        "name": "gone",
        "affected_tasks": 1,
    }


def test_a_fleet_of_one_gets_its_task_back_after_it_reconnects() -> None:
    hub = HubHarness()
    hub.disconnect(hub.daemon())
    task = hub.submit()
    hub.daemon()
    hub.run(task)
    hub.advance(s=36)
    hub.daemon(boot="boot-2")
    assert (task.status, attempt_of(task).daemon_name) == (Status.SCHEDULED, "mac")


def test_a_daemon_that_merely_blinked_goes_on() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit())
    hub.disconnect(daemon)
    hub.daemon(inventory=[Held(task.id, 1)])
    assert (task.status, attempt_of(task).number) == (Status.RUNNING, 1)


# Life cycle


@pytest.mark.parametrize(
    ("status", "after"),
    [
        ("pending", ["queued", "cancelled"]),
        ("queued", ["scheduled", "cancelled", "stale"]),
        ("scheduled", ["running", "queued", "cancelled"]),
        ("running", ["completed", "failed", "timeout", "cancelled"]),
        ("failed", ["queued", "permanently_failed"]),
        ("timeout", ["queued", "permanently_failed"]),
        ("completed", []),
        ("cancelled", []),
        ("stale", []),
    ],
)
def test_the_documents_transitions_are_possible(status: str, after: list[str]) -> None:
    assert set(after) <= set(TRANSITIONS[Status(status)])


def test_a_task_goes_from_queued_through_scheduled_and_running_to_completed() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.complete(task)
    assert hub.events(task) == [
        "task.created",
        "task.queued",
        "task.scheduled",
        "task.started",
        "task.completed",
    ]


def test_a_deadline_that_passes_before_the_start_makes_a_task_stale() -> None:
    hub = HubHarness()
    task = hub.submit(deadline=hub.now.wall + 1000)
    hub.advance(s=1)
    assert task.status is Status.STALE


def test_a_task_is_not_started_before_its_scheduled_time() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(scheduled_for=hub.now.wall + 1000)
    assert task.status is Status.PENDING
    hub.advance(s=1)
    assert task.status is Status.SCHEDULED


def test_a_task_that_failed_for_good_waits_for_a_person() -> None:
    hub = HubHarness()
    task = hub.submit(target="nobody")
    hub.review(task, Verdict.DISCARD)
    assert task.status is Status.CANCELLED


# Limits on what comes in, and backpressure


def a_metered_hub(**numbers: object) -> HubHarness:
    """With the document's limits; as many tasks as one likes may be pending."""
    hub = HubHarness(Settings(**numbers), users=("ann", "bob"), is_metered=True)  # type: ignore[arg-type]
    for user in hub.state.users.values():
        user.record.overrides["max_pending"] = 1_000_000
    return hub


def of(source: SourceType, count: int, **fields: object) -> list[Draft]:
    return [a_draft(source=source, **fields) for _ in range(count)]  # type: ignore[arg-type]


def test_an_engine_has_fifty_tasks_a_minute_and_a_hundred_at_once() -> None:
    hub = a_metered_hub()
    hub.submit_all(*of(SourceType.PROACTIVE, 100))
    hub.advance(s=60)
    hub.submit_all(*of(SourceType.PROACTIVE, 50))
    assert isinstance(hub.offer(*of(SourceType.PROACTIVE, 1)), Refused)


@pytest.mark.parametrize(("source", "per_minute"), [(SourceType.USER, 60), (SourceType.WEBHOOK, 100)])
def test_people_and_webhooks_have_their_own_rates(source: SourceType, per_minute: int) -> None:
    hub = a_metered_hub()
    hub.submit_all(*of(source, per_minute))
    refused = hub.offer(*of(source, 1))
    assert isinstance(refused, Refused)
    assert (refused.code, refused.retry_after_ms) == (Refusal.RATE_LIMITED, MINUTE // per_minute)


def test_a_full_fleet_refuses_nobody() -> None:
    hub = HubHarness(is_metered=True)
    hub.daemon(slots=50)
    hub.submit_all(*of(SourceType.USER, 40))
    assert isinstance(hub.offer(a_draft()), Submitted)


def test_a_long_line_warns_and_a_longer_one_refuses_low_work_and_pauses_engines() -> None:
    hub = a_metered_hub(limits=Limits(rate={}))
    hub.submit_all(*of(SourceType.USER, 500))
    assert [event.user_id for event in hub.said(EventName.BACKPRESSURE_WARNING)] == ["ann"]
    tasks = hub.submit_all(*of(SourceType.USER, 500, level=Level.LOW))
    (event,) = hub.said(EventName.BACKPRESSURE_CRITICAL)
    assert event.data is not None
    assert event.data["queue_depth"] == 1000
    assert event.data["recommendations"]
    low, engine = hub.offer(a_draft(level=Level.LOW)), hub.offer(*of(SourceType.PROACTIVE, 1))
    assert isinstance(low, Refused)
    assert isinstance(engine, Refused)
    assert (low.code, engine.code) == (Refusal.BACKPRESSURE, Refusal.RATE_LIMITED)
    assert all(task.status is Status.QUEUED for task in tasks)


def test_the_pause_ends_and_another_users_line_was_never_meant() -> None:
    hub = a_metered_hub(limits=Limits(rate={}))
    tasks = hub.submit_all(*of(SourceType.USER, 1000))
    assert isinstance(hub.offer(*of(SourceType.PROACTIVE, 1), user="bob"), Submitted)
    for task in tasks[:201]:
        hub.step(CancelTask("ann", task.id))
    assert isinstance(hub.offer(*of(SourceType.PROACTIVE, 1)), Submitted)


def test_an_engine_slows_down_once_however_often_it_is_told_and_recovers() -> None:
    throttle = Throttle(window_s=10, batch_max=8)
    for level, window_s, batch_max in (
        ("warning", 20, 4),
        ("warning", 20, 4),
        ("critical", 20, 0),
        ("warning", 20, 4),
        ("normal", 10, 8),
    ):
        throttle.hear(level)
        assert (throttle.window_s, throttle.batch_max) == (window_s, batch_max)


# Preemption


def a_user_at_its_limit() -> tuple[HubHarness, Task]:
    """One low task has run for a while, and the user may run no other."""
    hub = HubHarness(Settings(limits=Limits(running_per_user=1)))
    hub.daemon(slots=5, types=("general",))
    low = hub.run(hub.submit(level=Level.LOW))
    hub.live(s=10)
    return hub, low


def test_a_critical_task_preempts_a_low_one_of_its_user_at_the_concurrent_limit() -> None:
    hub, low = a_user_at_its_limit()
    urgent = hub.submit(level=Level.CRITICAL)
    assert (low.status, urgent.status) == (Status.RUNNING, Status.QUEUED), "nothing ends before its daemon says so"
    hub.confirm_cancel(low)
    assert (low.status, urgent.status) == (Status.QUEUED, Status.SCHEDULED)
    assert low.trouble is not None
    assert low.trouble.preempted_by == urgent.ref


def test_the_preempted_task_is_never_cancelled_in_between() -> None:
    hub, low = a_user_at_its_limit()
    hub.submit(level=Level.CRITICAL)
    hub.confirm_cancel(low)
    assert EventName.TASK_CANCELLED not in hub.events(low)
    assert hub.events(low)[-1] == EventName.TASK_PREEMPTED


def test_a_late_completion_of_the_preempted_run_is_not_that_of_the_next() -> None:
    hub, low = a_user_at_its_limit()
    urgent = hub.submit(level=Level.CRITICAL)
    hub.confirm_cancel(low)
    hub.complete(urgent)
    hub.run(low)
    hub.complete(low, attempt=1)
    assert (low.status, attempt_of(low).number) == (Status.RUNNING, 2)


def test_no_low_task_goes_for_one_that_could_not_start_all_the_same() -> None:
    hub, low = a_user_at_its_limit()
    urgent = hub.submit(level=Level.CRITICAL, type="computer_use")
    hub.live(s=30)
    assert (low.status, urgent.status) == (Status.RUNNING, Status.QUEUED)
    assert hub.of(hub.effects, CancelWork) == []
