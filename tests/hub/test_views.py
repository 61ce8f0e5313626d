"""Daemons, breakers, queues and schedules as people see them."""

import pytest

from taskyard.core.changes import BreakerRecord, DaemonRecord, UserRecord
from taskyard.core.settings import Queue, Settings
from taskyard.core.state import Daemon, State, User
from taskyard.core.yard_commands import PauseQueue
from taskyard.hub.schedule_views import schedule_view
from taskyard.hub.views import breaker_view, breaker_views, daemon_views, queue_views, status_of
from taskyard.vocabulary import BreakerState, DaemonStatus, QueueState
from tests.support.harness import HubHarness
from tests.support.schedules import MINUTE, Scheduled


def a_state(*, session: int, slots: int = 5, draining: bool = False, pulls: bool = False) -> State:
    state = State(Settings(), cluster_id="c_test", epoch=1, seq=0)
    record = DaemonRecord("d_1", "u_1", "mac", "boot", 7, slots=slots, draining=draining, memory_mb=512, pulls=pulls)
    state.daemons["d_1"] = daemon = Daemon(record, 0)
    daemon.session = session
    return state


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (a_state(session=0), DaemonStatus.OFFLINE),
        (a_state(session=0, draining=True), DaemonStatus.OFFLINE),
        (a_state(session=1), DaemonStatus.ONLINE),
        (a_state(session=1, draining=True), DaemonStatus.DRAINING),
        (a_state(session=1, slots=0), DaemonStatus.BUSY),
    ],
)
def test_a_daemon_is_shown_as_it_is(state: State, status: DaemonStatus) -> None:
    (view,) = daemon_views(state)
    assert (view.id, view.status, view.memory_free_mb, view.running) == ("d_1", status, 512, [])
    assert view.last_heartbeat is None, "it has yet to give a sign of life"


def test_an_agent_that_claims_is_busy_while_it_works_although_it_is_not_connected() -> None:
    state = a_state(session=0, pulls=True)
    assert daemon_views(state) == []
    hub = HubHarness()
    task = hub.submit()
    state.daemons["d_1"].holding[task.id] = task
    assert status_of(state.daemons["d_1"]) is DaemonStatus.BUSY


def a_user_with(*breakers: BreakerRecord) -> State:
    state = a_state(session=0)
    state.users["u_1"] = User(UserRecord("u_1", "ann", 0), 0)
    state.users["u_1"].breakers = {breaker.type: breaker for breaker in breakers}
    return state


def test_breakers_are_shown_newest_first() -> None:
    state = a_user_with(
        BreakerRecord("u_1", "failing", 2, last_failure_at=50),
        BreakerRecord("u_1", "forced", opened_at=90, half_open_at=100),
        BreakerRecord("u_1", "opened", 5, last_failure_at=70, opened_at=70, half_open_at=80),
    )
    shown = [(view.type, view.state, view.half_open_at) for view in breaker_views(state, "u_1", 95)]
    assert shown == [
        ("forced", BreakerState.OPEN, 100),
        ("opened", BreakerState.HALF_OPEN, 80),
        ("failing", BreakerState.CLOSED, None),
    ]


def test_what_never_failed_is_shown_as_closed() -> None:
    view = breaker_view(a_user_with(), "u_1", "any", 0)
    assert (view.state, view.failures, view.probe) == (BreakerState.CLOSED, 0, None)
    assert (view.failure_threshold, view.cooldown) == (5, 300.0)


def state_of(hub: HubHarness, user: str | None) -> tuple[QueueState, int | None]:
    """Of the first queue, as this user sees it."""
    view = queue_views(hub.state, user, hub.now.wall)[0]
    return view.state, view.until


def test_a_queue_is_shown_as_it_is_to_each_user() -> None:
    # Given a queue that was refused on ann's daemon, and a user who has another
    hub = HubHarness(Settings(queues={"cloud": Queue(models=("glm5",))}), users=("ann", "bob"))
    hub.daemon("mac")
    hub.daemon("box", user="bob")
    task, waiting = hub.submit(model="glm5"), hub.submit(model="glm5")
    hub.fail(task, code="RATE_LIMITED", retry_after_ms=5000)
    until = hub.now.wall + 5000

    # Then it cools for her and for whoever sees everything, and is open for the other
    assert state_of(hub, "ann") == state_of(hub, None) == (QueueState.COOLING, until)
    assert state_of(hub, "bob") == (QueueState.OPEN, None)

    # When the time is over, then it is tried, and afterwards it is open
    hub.live(s=5)
    assert state_of(hub, "ann") == (QueueState.COOLING, None)
    hub.complete(task if task.id in hub.state.begun else waiting)
    assert state_of(hub, "ann") == state_of(hub, None) == (QueueState.OPEN, None)

    # When it is paused, then it is so for all, and everybody's own tasks are counted
    hub.step(PauseQueue("cloud", "root"))
    assert state_of(hub, "bob") == (QueueState.PAUSED, None)
    counts = [(view.name, view.waiting, view.running) for view in queue_views(hub.state, "ann", hub.now.wall)]
    assert counts == [("cloud", 0, 1), ("default", 0, 0)]


def test_what_was_shown_of_a_schedule_stays_as_it_was() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=MINUTE)
    hub.run_now(beat)
    shown = schedule_view(hub.state, beat.user_id, beat.id)
    assert shown is not None
    hub.run_now(beat)
    assert (len(shown.recent), len(hub.runs(beat).recent)) == (1, 2)
