"""A hub started from rows is the hub that wrote them."""

import pytest

from taskyard.core.commands import ReportProgress
from taskyard.core.daemon_commands import Held
from taskyard.core.lanes import key_of
from taskyard.core.recovery import _NoDice
from taskyard.core.state import Now, State
from taskyard.core.task import Terms
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import HELD, AttemptStatus, DependsPolicy, Level
from tests.support.harness import HubHarness, InventoryState, Status, a_draft, attempt_of

SOFT = (Due.AGEING, Due.CRITICAL_WAIT, Due.SUSPECT, Due.LEASE, Due.ATTEMPT)
"""Clocks that begin anew: nobody could be heard while the hub was away."""


def a_lively_yard() -> HubHarness:
    """Tasks in every status that lasts, with every kind of trouble."""
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon("mac", slots=4)
    shared = hub.daemon("box", user="bob", shared=True, slots=2)
    hub.run(hub.submit(key="running", terms=Terms(exclusive="repo"), cpu_intensive=True))
    hub.submit(terms=Terms(exclusive="repo"))
    hub.accept(hub.submit())
    cancelling = hub.run(hub.submit())
    hub.cancel(cancelling)
    rejected = hub.submit(target="mac")
    hub.reject(rejected)
    retrying = hub.submit(user="bob", terms=Terms(max_attempts=5))
    hub.fail(retrying)
    hub.submit(key="later", scheduled_for=hub.now.wall + 60_000)
    waited_for = hub.submit(capabilities=("gpu",), level=Level.LOW, sla=hub.now.wall + 500_000)
    hub.submit(depends_on=(waited_for.id,), level=Level.HIGH, deadline=hub.now.wall + 10_000_000)
    hub.submit(parent_id=waited_for.id, capabilities=("gpu",))
    dead = hub.submit(target="nobody", key="dead")
    hub.submit_all(
        a_draft(name="b", depends_on=(dead.id,), key="blocked"),
        a_draft(depends_on=("b", waited_for.id)),
        a_draft(depends_on=(dead.id,), terms=Terms(on_depends_fail=DependsPolicy.SKIP)),
    )
    hub.submit(level=Level.CRITICAL, capabilities=("gpu",), deadline=hub.now.wall + 900_000)
    suspect = hub.run(hub.submit(user="bob"))
    for n in (2, 3, 4):
        hub.disconnect(shared)
        hub.daemon("box", user="bob", shared=True, slots=2, boot=f"boot-{n}")
        if suspect.status is Status.SCHEDULED:
            hub.run(suspect)
    return hub


def lanes_of(state: State) -> dict[str, dict[object, list[str]]]:
    return {
        user.id: {key: sorted(t.id for t in lane.tasks()) for key, lane in user.lanes.items()}
        for user in state.users.values()
    }


def timers_of(state: State) -> dict[object, int]:
    return {name: at for name, at in state.timers.plan(Clock.WALL).items() if name[0] not in SOFT}


@pytest.fixture
def pair() -> tuple[HubHarness, HubHarness]:
    hub = a_lively_yard()
    hub.advance(ms=1)
    return hub, hub.restarted()


def test_every_open_task_is_there_as_it_was(pair: tuple[HubHarness, HubHarness]) -> None:
    hub, other = pair
    mine = {t.id: t for t in hub.state.tasks.values() if t.id in hub.hot()}
    assert set(other.state.tasks) == set(mine)
    statuses = {t.status for t in mine.values()}
    assert statuses >= {Status.PENDING, Status.WAITING, Status.BLOCKED, Status.QUEUED, *HELD}
    for task in other.state.tasks.values():
        before = mine[task.id]
        for attempt in (*(task.attempts or ()), *(before.attempts or ())):
            attempt.accepted = False
        assert task == before


def test_the_lanes_are_the_same(pair: tuple[HubHarness, HubHarness]) -> None:
    hub, other = pair
    assert lanes_of(other.state) == lanes_of(hub.state)
    assert other.state.yard.waiting == hub.state.yard.waiting > 0


def test_what_was_due_at_an_instant_is_due_at_that_instant(pair: tuple[HubHarness, HubHarness]) -> None:
    hub, other = pair
    assert timers_of(other.state) == timers_of(hub.state)
    assert {due for due, _ in timers_of(hub.state)} == {  # type: ignore[misc]
        Due.BEGIN,
        Due.DEADLINE,
        Due.ESCALATION,
        Due.SLA,
        Due.AVOIDANCE,
    }


def test_slots_keys_and_those_who_listen_are_the_same(pair: tuple[HubHarness, HubHarness]) -> None:
    hub, other = pair
    for daemon in hub.state.daemons.values():
        assert set(other.state.daemons[daemon.id].holding) == set(daemon.holding)
        assert other.state.daemons[daemon.id].cpu_intensive == daemon.cpu_intensive
    for user in hub.state.users.values():
        restored = other.state.users[user.id]
        assert (set(restored.live), restored.number) == (
            set(user.live),
            user.number,
        )
    assert other.state.exclusive == hub.state.exclusive
    assert other.state.names == hub.state.names
    assert other.state.children == hub.state.children
    open_keys = {name: task_id for name, task_id in hub.state.keys.items() if task_id in other.state.tasks}
    assert other.state.keys == open_keys
    assert other.state.dependants == hub.state.dependants


def test_alike_tasks_share_their_parts_again() -> None:
    hub = HubHarness()
    hub.submit_all(a_draft(type="x"), a_draft(type="x"))
    one, two = hub.restarted().state.tasks.values()
    assert one.kind is two.kind
    assert one.terms is two.terms


def test_recovery_writes_nothing_and_draws_no_dice(pair: tuple[HubHarness, HubHarness]) -> None:
    _, other = pair
    assert other.core.cut(batch_id="b", now=other.now).is_empty()
    with pytest.raises(AssertionError, match="I7"):
        _NoDice().random()


def test_after_a_restart_every_daemon_is_away_and_has_a_full_lease_to_come_back() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.advance(s=30)
    other = hub.restarted()
    restored = other.state.tasks[task.id]
    assert other.state.daemons["d-mac"].session == 0
    other.advance(ms=35_999)
    assert restored.status is Status.RUNNING
    other.daemon(inventory=[Held(task.id, 1)])
    other.live(s=60)
    assert (restored.status, attempt_of(restored).number) == (Status.RUNNING, 1)


def test_a_daemon_that_does_not_come_back_after_a_restart_loses_what_it_held() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    other = hub.restarted()
    other.advance(s=36)
    assert attempt_of(other.state.tasks[task.id]).status is AttemptStatus.LOST


@pytest.mark.parametrize("state", [InventoryState.ACCEPTED, InventoryState.RUNNING])
def test_a_restart_restarts_no_work_that_was_begun_while_the_hub_was_away(state: InventoryState) -> None:
    # Given an offer on disk whose acceptance the hub did not live to hear
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    other = hub.restarted()
    restored = other.state.tasks[task.id]
    # When its daemon needs longer than the time for an answer to find the hub again
    other.advance(s=20)
    assert restored.status is Status.SCHEDULED
    other.daemon(inventory=[Held(task.id, 1, state)])
    # Then the same attempt goes on
    assert (restored.status in HELD, attempt_of(restored).number) == (True, 1)
    assert other.sent() == []


def test_the_timeout_of_an_attempt_goes_on_over_a_restart() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=60_000)))
    hub.live(s=50)
    hub.now = Now(hub.now.wall, 7)  # another machine's clock
    other = hub.restarted()
    other.daemon(inventory=[Held(task.id, 1)])
    other.live(s=10)
    assert attempt_of(other.state.tasks[task.id]).status is AttemptStatus.TIMEOUT


def test_a_retry_that_was_due_while_the_hub_was_away_happens_at_once() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.fail(task)
    hub.now = Now(hub.now.wall + 10**7, hub.now.mono + 10**7)
    other = hub.restarted()
    other.daemon()
    other.advance(ms=0)
    assert other.state.tasks[task.id].status is Status.SCHEDULED


def test_a_deadline_that_passed_while_the_hub_was_away_is_passed() -> None:
    hub = HubHarness()
    task = hub.submit(deadline=hub.now.wall + 1000)
    hub.now = Now(hub.now.wall + 2000, hub.now.mono + 2000)
    other = hub.restarted()
    other.advance(ms=0)
    assert task.id not in other.hot()
    assert [e for e in other.events() if e == "task.stale"] == ["task.stale"]


def test_a_key_is_recognised_after_a_restart() -> None:
    hub = HubHarness()
    task = hub.submit(key="k")
    assert [t.id for t in hub.restarted().submit_all(a_draft(key="k"))] == [task.id]


def test_the_length_of_a_log_is_known_after_a_restart() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.step(ReportProgress("d-mac", task.id, 1, log="12345"))
    assert hub.restarted().state.log_bytes == {(task.id, 1): 5}


def test_of_several_daemons_to_avoid_the_first_is_avoided_no_longer_than_before() -> None:
    hub = HubHarness()
    for name in "ab":
        hub.daemon(name)
    task = hub.submit()
    hub.reject(task)
    hub.reject(task)
    assert task.trouble is not None
    other = hub.restarted()
    due = other.state.timers.due_at(Clock.WALL, Due.AVOIDANCE, task.id)
    assert due == min(each.until for each in task.trouble.avoid) < max(each.until for each in task.trouble.avoid)


def test_a_suspect_that_runs_still_runs_alone() -> None:
    hub = a_lively_yard()
    suspect = hub.state.tasks[hub.state.daemons["d-box"].alone or ""]
    assert hub.restarted().state.daemons["d-box"].alone == suspect.id
    assert key_of(suspect)[2].suspect == suspect.id


def test_two_restarts_in_a_row_give_the_same() -> None:
    hub = a_lively_yard()
    once = hub.restarted()
    once.batches = hub.batches
    twice = once.restarted()
    assert lanes_of(once.state) == lanes_of(twice.state)
    assert timers_of(once.state) == timers_of(twice.state)
