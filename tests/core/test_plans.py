"""What a user may have, and that it holds from the next decision on."""

import pytest

from taskyard.core.changes import UserRecord
from taskyard.core.effects import Refused
from taskyard.core.plans import Allowance, allowance_of
from taskyard.core.settings import Limits, Plan, Settings
from taskyard.core.state import State, User
from taskyard.core.task import Terms
from taskyard.core.usage import HOUR_MS
from taskyard.core.yard_commands import ChangeSettings, ChangeUser, CreateUser
from taskyard.vocabulary import LOCAL_USER, Level, Profile, Refusal, SourceType
from tests.support.harness import HubHarness, Status, a_draft, attempt_of

MINUTE_MS = 60_000


def allowed(
    plan: str | None = None, *, name: str = "ann", settings: Settings | None = None, **overrides: float
) -> Allowance:
    state = State(settings or Settings(), cluster_id="c", epoch=1, seq=0)
    return allowance_of(state, User(UserRecord(name, name, 0, plan, overrides), 0))


@pytest.mark.parametrize(
    ("plan", "concurrent", "minutes", "hours", "pending"),
    [
        ("free", 1, 30, 10, 50),
        ("pro", 3, 120, 100, 50),
        ("team", 10, 240, None, 100),
        ("enterprise", 50, 480, None, 10_000),
    ],
)
def test_the_four_plans(plan: str, concurrent: int, minutes: int, hours: int | None, pending: int) -> None:
    found = allowed(plan)
    assert (found.plan, found.concurrent, found.duration_ms, found.hours_ms, found.pending) == (
        plan,
        concurrent,
        minutes * MINUTE_MS,
        None if hours is None else hours * HOUR_MS,
        pending,
    )
    assert (found.max_priority, found.is_unlimited) == (None, False)


def test_without_a_plan_there_are_the_defaults() -> None:
    found = allowed()
    assert (found.plan, found.concurrent, found.duration_ms, found.hours_ms, found.pending) == (
        None,
        20,
        None,
        None,
        50,
    )
    assert found.per_source == Limits().running_per_source


def test_an_override_goes_before_the_plan_also_with_zero() -> None:
    found = allowed(
        "pro", max_concurrent_agents=0, max_task_duration_minutes=7, monthly_agent_hours=0.5, max_pending=200
    )
    assert (found.concurrent, found.duration_ms, found.hours_ms, found.pending) == (
        0,
        7 * MINUTE_MS,
        HOUR_MS // 2,
        200,
    )
    assert allowed(max_concurrent_agents=2).concurrent == 2


def test_a_source_has_never_less_than_the_plan_lets_run() -> None:
    assert allowed("enterprise").per_source[SourceType.WEBHOOK] == 50
    assert allowed("free").per_source[SourceType.WEBHOOK] == 5
    endless = Settings(plans={"endless": Plan()})
    assert allowed("endless", settings=endless).per_source == {}


@pytest.mark.parametrize(
    ("plan", "said", "holds"),
    [
        ("gold", 500, 100),
        ("gold", 70, 70),
        ("gold", None, 100),
        ("enterprise", 500, 500),
        ("enterprise", 20_000, 10_000),
        ("enterprise", None, 10_000),
    ],
)
def test_no_plan_but_enterprise_has_more_than_a_hundred_pending(plan: str, said: int | None, holds: int) -> None:
    settings = Settings(plans={plan: Plan(max_pending=said)})
    assert allowed(plan, settings=settings).pending == holds


def test_on_ones_own_machine_there_are_no_limits_but_those_one_was_given() -> None:
    found = allowed(name=LOCAL_USER)
    assert found.is_unlimited
    assert (found.concurrent, found.hours_ms, found.duration_ms, found.pending, found.per_source) == (
        None,
        None,
        None,
        None,
        {},
    )
    assert allowed("free", name=LOCAL_USER).concurrent == 1
    assert allowed(name=LOCAL_USER, monthly_agent_hours=2).hours_ms == 2 * HOUR_MS
    assert not allowed(name=LOCAL_USER, settings=Settings(profile=Profile.SERVICE)).is_unlimited


def test_a_plan_that_is_gone_from_the_settings_leaves_the_defaults_and_frees_nobody() -> None:
    found = allowed("gold", name=LOCAL_USER)
    assert (found.is_unlimited, found.concurrent, found.pending) == (False, 20, 50)


def test_a_plan_that_nobody_configured_is_refused_with_those_there_are() -> None:
    hub = HubHarness()
    refusal = Refused(
        Refusal.INVALID_INPUT, "There is no plan gold; there are: free, pro, team, enterprise.", field="plan"
    )
    assert hub.ask(CreateUser("u1", "zoe", "root", "gold")) == refusal
    assert hub.ask(ChangeUser("ann", "root", plan="gold")) == refusal
    assert hub.batches[-1].is_empty()
    assert "zoe" not in hub.state.names


def test_a_user_of_a_plan_that_is_gone_can_be_changed_otherwise() -> None:
    hub = HubHarness()
    hub.ask(ChangeUser("ann", "root", plan="pro"))
    hub.step(ChangeSettings(Settings(plans={})))
    hub.ask(ChangeUser("ann", "root", name="anna"))
    assert (hub.state.users["ann"].record.name, hub.state.users["ann"].record.plan) == ("anna", "pro")


def test_another_plan_holds_from_the_next_decision_on_also_downwards() -> None:
    # Given a user of a plan of three who runs three
    hub = HubHarness()
    hub.ask(ChangeUser("ann", "root", plan="pro"))
    hub.daemon(slots=10)
    tasks = hub.submit_all(*(a_draft() for _ in range(6)))
    assert [t.status for t in tasks].count(Status.SCHEDULED) == 3
    # When the plan becomes one of ten, the others start at once
    hub.ask(ChangeUser("ann", "root", plan="team"))
    assert all(t.status is Status.SCHEDULED for t in tasks)
    # When it becomes one of one, what runs goes on and nothing else starts until all of it has ended
    hub.ask(ChangeUser("ann", "root", plan="free"))
    late = hub.submit()
    for task in tasks[1:]:
        hub.complete(task)
    assert (tasks[0].status, late.status) == (Status.SCHEDULED, Status.QUEUED)
    hub.complete(tasks[0])
    assert late.status is Status.SCHEDULED


def test_other_numbers_of_a_plan_hold_from_the_next_decision_on() -> None:
    hub = HubHarness()
    hub.ask(ChangeUser("ann", "root", plan="free"))
    hub.daemon()
    hub.submit()
    second = hub.submit()
    seen = [second.status]
    hub.step(ChangeSettings(Settings(plans={"free": Plan(max_concurrent_agents=2)})))
    assert [*seen, second.status] == [Status.QUEUED, Status.SCHEDULED]


def test_a_task_runs_no_longer_than_the_plan_allows_however_its_timeout_grows() -> None:
    hub = HubHarness()
    hub.ask(ChangeUser("ann", "root", overrides={"max_task_duration_minutes": 2}))
    hub.daemon()
    task = hub.submit(terms=Terms(timeout_ms=100_000, retry_delay_ms=0))
    given = []
    for _ in range(3):
        hub.run(task)
        given.append(attempt_of(task).timeout_ms)
        hub.live(s=given[-1] / 1000)
    assert given == [100_000, 120_000, 120_000]
    assert task.status is Status.PERMANENTLY_FAILED


def test_a_plan_can_hold_down_how_urgent_its_users_call_things() -> None:
    hub = HubHarness(Settings(plans={"calm": Plan(max_priority=Level.NORMAL)}))
    hub.ask(ChangeUser("ann", "root", plan="calm"))
    assert hub.submit(level=Level.CRITICAL).level is Level.NORMAL
    assert hub.submit(level=Level.LOW).level is Level.LOW
    assert hub.submit(deadline=hub.now.wall + 1000).level is Level.NORMAL
    (under_a_key,) = hub.submit_all(a_draft(level=Level.CRITICAL), ceiling=Level.LOW)
    assert under_a_key.level is Level.LOW
    (under_a_high_key,) = hub.submit_all(a_draft(level=Level.CRITICAL), ceiling=Level.HIGH)
    assert under_a_high_key.level is Level.NORMAL
    assert hub.submit(level=Level.CRITICAL, source=SourceType.AGENT).level is Level.NORMAL
    task = hub.submit()
    hub.change(task, level=Level.CRITICAL)
    assert task.level is Level.NORMAL


def test_pending_are_the_open_tasks_that_no_daemon_holds() -> None:
    hub = HubHarness()
    ann = hub.state.users["ann"]
    first = hub.submit()
    hub.submit(depends_on=(first.id,))
    hub.submit(scheduled_for=hub.now.wall + 1000)
    hub.submit(target="nobody")
    assert ann.pending == 3
    hub.daemon()
    assert ann.pending == 2
    hub.run(first)
    hub.fail(first)
    assert ann.pending == 3
    assert hub.restarted().state.users["ann"].pending == 3
    hub.cancel(first)
    assert ann.pending == 1
