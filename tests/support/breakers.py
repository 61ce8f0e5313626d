"""Yards with breakers in each of their states, and ends of attempts that say something of their type or nothing."""

from taskyard.core.attempts import close, release
from taskyard.core.breakers import breaker_of, probe_of, state_of
from taskyard.core.changes import BreakerRecord
from taskyard.core.lanes import key_of
from taskyard.core.limits import Hold, breaker_lets_through
from taskyard.core.readiness import enqueue
from taskyard.core.settings import Settings
from taskyard.core.task import Task, Terms
from taskyard.vocabulary import BreakerState, Keeps
from tests.support.harness import AttemptStatus, ErrorCode, EventName, HubHarness, attempt_of

ONCE = Terms(max_attempts=1)
CLOSED, OPEN, HALF_OPEN = BreakerState
BLOCKER = ("breaker", "ann", "general")


def a_hub(*, slots: int = 10, users: tuple[str, ...] = ("ann",), settings: Settings | None = None) -> HubHarness:
    hub = HubHarness(settings, users=users)
    hub.daemon(slots=slots, shared=True)
    return hub


def fail_times(hub: HubHarness, times: int, **fields: object) -> None:
    """So many tasks run and fail, one after another."""
    for _ in range(times):
        hub.fail(hub.submit(terms=ONCE, **fields))  # type: ignore[arg-type]


def opened(**fields: object) -> HubHarness:
    """A hub whose breaker of ann's type `general` has just opened."""
    hub = a_hub(**fields)  # type: ignore[arg-type]
    fail_times(hub, 5)
    assert now_is(hub) is OPEN
    return hub


def half_opened(**fields: object) -> HubHarness:
    hub = opened(**fields)
    hub.live(s=60)
    return hub


def the(hub: HubHarness, type: str = "general", user: str = "ann") -> BreakerRecord:
    return breaker_of(hub.state.users[user], type)


def now_is(hub: HubHarness, type: str = "general", user: str = "ann") -> BreakerState:
    return state_of(the(hub, type, user), hub.now.wall)


def probe(hub: HubHarness) -> str | None:
    return probe_of(hub.state.users["ann"], the(hub))


def hold(hub: HubHarness, task: Task) -> Hold | None:
    lane = hub.state.users[task.user_id].lanes[key_of(task)]
    return breaker_lets_through(hub.core.turn(hub.now), lane)


def kept_breakers(hub: HubHarness) -> list[str]:
    return [each.name for each in hub.kept() if each.kind is Keeps.BREAKER]


def timed_out(hub: HubHarness, task: Task) -> None:
    hub.run(task)
    hub.live(s=attempt_of(task).timeout_ms / 1000)


def incomplete(hub: HubHarness, task: Task) -> None:
    hub.complete(task)


def said_failed(hub: HubHarness, task: Task) -> None:
    hub.fail(task, code="NETWORK_DOWN")


def wrong_input(hub: HubHarness, task: Task) -> None:
    hub.fail(task, code=ErrorCode.INVALID_INPUT)


def not_allowed(hub: HubHarness, task: Task) -> None:
    hub.fail(task, code=ErrorCode.PERMISSION_DENIED)


def not_retryable(hub: HubHarness, task: Task) -> None:
    hub.fail(task, retryable=False)


def rate_limited(hub: HubHarness, task: Task) -> None:
    """The provider says for how long; what has no model waits in a queue that others use too."""
    hub.fail(task, code=ErrorCode.RATE_LIMITED, retry_after_ms=0)


def lost(hub: HubHarness, task: Task) -> None:
    hub.run(task)
    hub.beat(hub.state.daemons["d-mac"])


def rejected(hub: HubHarness, task: Task) -> None:
    hub.reject(task)


def drained(hub: HubHarness, task: Task) -> None:
    hub.run(task)
    hub.reject(task, drained=True)


def cancelled(hub: HubHarness, task: Task) -> None:
    hub.run(task)
    hub.cancel(task)
    hub.confirm_cancel(task)


def failed_after_the_cancel(hub: HubHarness, task: Task) -> None:
    hub.run(task)
    hub.cancel(task)
    hub.fail(task)


def preempted(hub: HubHarness, task: Task) -> None:
    """As when a critical task took its slot."""
    hub.run(task)
    turn = hub.core.turn(hub.now)
    close(turn, attempt_of(task), AttemptStatus.PREEMPTED)
    release(turn, task)
    enqueue(turn, task, event=EventName.TASK_PREEMPTED)
    hub.advance()


NEUTRAL = [
    wrong_input,
    not_allowed,
    not_retryable,
    rate_limited,
    lost,
    rejected,
    drained,
    cancelled,
    failed_after_the_cancel,
    preempted,
]
