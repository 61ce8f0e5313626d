"""Levels and numbers: what a task gets, what raises it, and what never does."""

import pytest

from taskyard.core.commands import Draft
from taskyard.core.effects import Refused
from taskyard.core.priority import higher_of, level_of, lower_of
from taskyard.core.settings import Priorities, Settings
from taskyard.core.task import Terms
from taskyard.vocabulary import DependsPolicy, EventName, Level, SourceType
from tests.support.harness import HubHarness, Status, a_draft

CRITICAL, HIGH, NORMAL, LOW = Level.CRITICAL, Level.HIGH, Level.NORMAL, Level.LOW
MINUTE = 60_000


def given(draft: Draft, **options: object) -> tuple[Level, int]:
    task = HubHarness().submit_all(draft, **options)[0]
    return task.level, task.value


@pytest.mark.parametrize(
    ("value", "level"),
    [(10, CRITICAL), (9, HIGH), (8, HIGH), (7, NORMAL), (5, NORMAL), (4, LOW), (1, LOW)],
)
def test_a_number_from_1_to_10_means_a_level_and_is_kept(value: int, level: Level) -> None:
    assert level_of(value) is level
    assert given(a_draft(value=value)) == (level, value)


@pytest.mark.parametrize(("level", "value"), [(CRITICAL, 10), (HIGH, 8), (NORMAL, 5), (LOW, 2)])
def test_a_level_alone_means_its_number(level: Level, value: int) -> None:
    assert given(a_draft(level=level)) == (level, value)


@pytest.mark.parametrize(
    ("draft", "level"),
    [
        (a_draft(channel="desktop"), HIGH),
        (a_draft(channel="telegram"), NORMAL),
        (a_draft(), NORMAL),
        (a_draft(source=SourceType.PROACTIVE, channel="desktop"), NORMAL),
        (a_draft(source=SourceType.SCHEDULE), NORMAL),
        (a_draft(source=SourceType.AGENT), NORMAL),
        (a_draft(source=SourceType.WEBHOOK), NORMAL),
        (a_draft(source=SourceType.WEBHOOK, event_type="invoice.payment_failed"), HIGH),
        (a_draft(source=SourceType.WEBHOOK, event_type="security_advisory"), CRITICAL),
        (a_draft(source=SourceType.USER, event_type="security"), NORMAL),
    ],
)
def test_an_unnamed_priority_follows_from_source_and_channel(draft: Draft, level: Level) -> None:
    assert given(draft)[0] is level


@pytest.mark.parametrize(
    ("left_ms", "level"), [(149_999, CRITICAL), (150_000, HIGH), (299_999, HIGH), (300_000, NORMAL)]
)
def test_a_near_deadline_raises_an_unnamed_priority(left_ms: int, level: Level) -> None:
    hub = HubHarness()
    # Its time has not come, so that escalation has no say yet.
    terms, deadline = Terms(estimated_ms=100_000), hub.now.wall + left_ms
    assert hub.submit(terms=terms, deadline=deadline, scheduled_for=hub.now.wall + 1).level is level


def test_a_deadline_raises_and_never_lowers() -> None:
    hub = HubHarness()
    far, near = hub.now.wall + 100 * MINUTE, hub.now.wall + 14 * MINUTE
    security = a_draft(source=SourceType.WEBHOOK, event_type="security", deadline=near)
    desktop = a_draft(channel="desktop", deadline=far)
    assert hub.submit(security).level is CRITICAL
    assert hub.submit(desktop).level is HIGH


def test_a_priority_that_was_named_is_not_raised_by_the_deadline_at_submission() -> None:
    hub = HubHarness()
    task = hub.submit(level=LOW, deadline=hub.now.wall + 1000, scheduled_for=hub.now.wall + 500)
    assert task.level is LOW


@pytest.mark.parametrize("draft", [a_draft(level=CRITICAL), a_draft(value=10)])
def test_nothing_exceeds_the_ceiling_of_its_key(draft: Draft) -> None:
    assert given(draft, ceiling=NORMAL) == (NORMAL, 5)


def test_what_is_below_the_ceiling_is_left_alone() -> None:
    assert given(a_draft(value=3), ceiling=NORMAL) == (LOW, 3)


def test_a_near_deadline_does_not_exceed_the_ceiling() -> None:
    hub = HubHarness()
    task = hub.submit_all(a_draft(deadline=hub.now.wall + 1000), ceiling=HIGH)[0]
    assert task.level is HIGH


def test_agents_have_high_at_most_unless_configured() -> None:
    agent = {"source": SourceType.AGENT, "level": CRITICAL}
    assert given(a_draft(**agent))[0] is HIGH  # type: ignore[arg-type]
    assert given(a_draft(**agent), ceiling=LOW)[0] is LOW  # type: ignore[arg-type]
    assert given(a_draft(**agent), ceiling=CRITICAL)[0] is CRITICAL  # type: ignore[arg-type]
    hub = HubHarness(Settings(priorities=Priorities(agent_max=CRITICAL)))
    assert hub.submit(**agent).level is CRITICAL


def test_levels_compare_by_urgency() -> None:
    assert lower_of(CRITICAL, None) is CRITICAL
    assert lower_of(CRITICAL, LOW) is LOW
    assert lower_of(LOW, HIGH) is LOW
    assert higher_of(LOW, HIGH) is HIGH
    assert higher_of(HIGH, LOW) is HIGH


# Escalation


def test_a_queued_task_becomes_critical_when_its_deadline_is_nearer_than_twice_its_duration() -> None:
    hub = HubHarness()
    task = hub.submit(level=LOW, terms=Terms(estimated_ms=MINUTE), deadline=hub.now.wall + 10 * MINUTE)
    hub.advance(ms=8 * MINUTE)
    assert task.level is LOW
    hub.advance(ms=1)
    assert (task.level, task.value, task.asked) == (CRITICAL, 10, LOW)
    assert hub.said(EventName.TASK_ESCALATED, task)[0].data == {
        "level": CRITICAL,
        "from_level": LOW,
        "because": "deadline",
    }


def test_escalation_stays_within_the_ceiling() -> None:
    hub = HubHarness()
    deadline = hub.now.wall + 10 * MINUTE
    task = hub.submit_all(a_draft(level=LOW, terms=Terms(estimated_ms=MINUTE), deadline=deadline), ceiling=NORMAL)[0]
    hub.advance(ms=9 * MINUTE)
    assert task.level is NORMAL


def test_a_task_that_is_not_queued_escalates_when_it_is() -> None:
    hub = HubHarness()
    task = hub.submit(
        level=LOW,
        terms=Terms(estimated_ms=MINUTE),
        deadline=hub.now.wall + 10 * MINUTE,
        scheduled_for=hub.now.wall + 9 * MINUTE,
    )
    hub.advance(ms=9 * MINUTE - 1)
    assert task.level is LOW
    hub.advance(ms=1)
    assert task.level is CRITICAL


def test_a_running_task_does_not_escalate() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(level=LOW, terms=Terms(estimated_ms=MINUTE), deadline=hub.now.wall + 3 * MINUTE))
    hub.live(s=150)
    assert (task.status, task.level) == (Status.RUNNING, LOW)


# Inheritance


def test_a_task_is_at_least_as_urgent_as_what_waits_for_it() -> None:
    hub = HubHarness()
    first = hub.submit(level=LOW)
    second = hub.submit(level=LOW, depends_on=(first.id,))
    hub.submit(level=HIGH, depends_on=(second.id,))
    assert (first.level, second.level) == (HIGH, HIGH)
    assert hub.said(EventName.TASK_ESCALATED, second)[0].data is not None


def test_inheritance_stops_at_a_ceiling() -> None:
    hub = HubHarness()
    first = hub.submit_all(a_draft(level=LOW), ceiling=NORMAL)[0]
    hub.submit(level=CRITICAL, depends_on=(first.id,))
    assert first.level is NORMAL


def test_inheritance_does_not_depend_on_the_order_in_a_batch() -> None:
    hub = HubHarness()
    urgent, base, deeper = hub.submit_all(
        a_draft(level=CRITICAL, depends_on=("base",)),
        a_draft(name="base", level=LOW, depends_on=("deeper",)),
        a_draft(name="deeper", level=LOW),
    )
    assert (urgent.level, base.level, deeper.level) == (CRITICAL, CRITICAL, CRITICAL)


def test_a_sub_task_is_at_least_as_urgent_as_its_parent() -> None:
    hub = HubHarness()
    parent = hub.submit(level=HIGH)
    assert hub.submit(level=LOW, parent_id=parent.id).level is HIGH


def test_when_a_parent_rises_its_sub_tasks_rise_with_it() -> None:
    # Given a running parent with a sub-task
    hub = HubHarness()
    hub.daemon(slots=1)
    parent = hub.run(hub.submit(level=LOW))
    child = hub.submit(level=LOW, parent_id=parent.id)
    # When something urgent comes to wait for the parent
    hub.submit(level=CRITICAL, depends_on=(parent.id,))
    # Then what holds up the parent is urgent as well
    assert (parent.level, child.level) == (CRITICAL, CRITICAL)


def test_a_sub_task_of_a_parent_that_has_ended_inherits_nothing() -> None:
    hub = HubHarness()
    hub.daemon()
    parent = hub.submit(level=CRITICAL)
    hub.complete(parent)
    child = hub.submit_all(a_draft(level=LOW, parent_id=parent.id), known=hub.known(parent))[0]
    assert child.level is LOW


def test_what_has_ended_is_not_raised() -> None:
    hub = HubHarness()
    dead = hub.submit(level=LOW, target="nobody")
    hub.submit(level=CRITICAL, depends_on=(dead.id,))
    assert dead.level is LOW


def test_a_dead_letter_that_is_retried_is_as_urgent_as_what_waits_for_it() -> None:
    hub = HubHarness()
    dead = hub.submit(level=LOW, target="nobody")
    hub.submit(level=HIGH, depends_on=(dead.id,))
    hub.daemon("nobody", slots=1)
    hub.retry(dead)
    assert dead.level is HIGH


def test_a_person_cannot_lower_a_task_below_what_waits_for_it() -> None:
    hub = HubHarness()
    first = hub.submit(level=HIGH)
    hub.submit(level=HIGH, depends_on=(first.id,))
    hub.change(first, level=LOW)
    assert first.level is HIGH


def test_an_urgent_one_that_goes_on_without_it_still_raises_what_it_waits_for() -> None:
    hub = HubHarness()
    first = hub.submit(level=LOW)
    hub.submit(level=HIGH, depends_on=(first.id,), terms=Terms(on_depends_fail=DependsPolicy.CONTINUE))
    assert first.level is HIGH


# News


def blocked_reasons(hub: HubHarness) -> list[object]:
    return [(e.data or {}).get("reason") for e in hub.said(EventName.TASK_BLOCKED)]


def test_a_critical_task_that_waited_30_s_is_told_of() -> None:
    hub = HubHarness()
    hub.daemon(slots=1)
    hub.run(hub.submit())
    task = hub.submit(level=CRITICAL)
    hub.live(s=29)
    assert blocked_reasons(hub) == []
    hub.live(s=1)
    assert [(e.task_id, (e.data or {})["waited_ms"]) for e in hub.said(EventName.TASK_BLOCKED)] == [(task.id, 30_000)]
    assert task.status is Status.QUEUED


def test_a_critical_task_that_started_in_time_is_not_told_of() -> None:
    hub = HubHarness()
    hub.daemon()
    hub.run(hub.submit(level=CRITICAL))
    hub.live(s=60)
    assert blocked_reasons(hub) == []


def test_a_critical_task_that_nothing_can_run_is_told_of_at_once_and_once() -> None:
    hub = HubHarness(users=("ann", "bob"))
    first, second, third = (
        hub.submit(level=CRITICAL),
        hub.submit(level=CRITICAL),
        hub.submit(level=CRITICAL, user="bob"),
    )
    assert [e.task_id for e in hub.said(EventName.TASK_BLOCKED)] == [first.id, second.id, third.id]
    hub.change(first, level=CRITICAL)
    assert blocked_reasons(hub) == ["NO_DAEMON"] * 3


def test_a_task_that_becomes_critical_where_nothing_can_run_it_is_told_of() -> None:
    hub = HubHarness()
    task = hub.submit(level=LOW)
    assert blocked_reasons(hub) == []
    hub.change(task, level=CRITICAL)
    assert blocked_reasons(hub) == ["NO_DAEMON"]


@pytest.mark.parametrize("how", ["away", "draining"])
def test_a_waiting_critical_task_is_told_of_when_its_last_daemon_goes(how: str) -> None:
    hub = HubHarness()
    daemon = hub.daemon(slots=1)
    hub.run(hub.submit())
    hub.submit(level=CRITICAL)
    if how == "away":
        hub.disconnect(daemon)
    else:
        hub.drain(daemon)
    assert blocked_reasons(hub) == ["NO_DAEMON"]


def test_nobody_is_told_while_another_daemon_can_run_it() -> None:
    hub = HubHarness()
    one, two = hub.daemon("one", slots=1), hub.daemon("two", slots=1)
    for _ in range(2):
        hub.run(hub.submit())
    hub.submit(level=CRITICAL)
    hub.disconnect(one)
    assert blocked_reasons(hub) == []
    hub.disconnect(two)
    assert blocked_reasons(hub) == ["NO_DAEMON"]


def test_a_missed_sla_is_told_of_once_and_changes_nothing() -> None:
    hub = HubHarness()
    task = hub.submit(sla=hub.now.wall + 1000)
    before = (task.status, task.level)
    hub.advance(ms=5000)
    assert len(hub.said(EventName.TASK_SLA_MISSED, task)) == 1
    assert (task.status, task.level) == before
    assert hub.restarted().advance(ms=1) == []


def test_an_sla_that_was_missed_while_the_hub_was_away_is_told_of() -> None:
    hub = HubHarness()
    task = hub.submit(sla=hub.now.wall + 1000)
    hub.now = type(hub.now)(hub.now.wall + 2000, hub.now.mono + 2000)
    other = hub.restarted()
    other.advance(ms=1)
    assert [e.task_id for e in other.said(EventName.TASK_SLA_MISSED)] == [task.id]


def test_a_task_that_ended_in_time_missed_no_sla() -> None:
    hub = HubHarness()
    hub.daemon()
    hub.complete(hub.submit(sla=hub.now.wall + 1000))
    hub.advance(ms=5000)
    assert hub.said(EventName.TASK_SLA_MISSED) == []


def test_a_refused_change_raises_nothing() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(level=LOW)
    assert isinstance(hub.change(task, level=CRITICAL), Refused)
    assert task.level is LOW
