"""How long the line is: a user's own, and the hub's; and what is said aloud about it.

A level begins when as many tasks wait as its threshold says, and ends when fewer than 80 % of that do: on the
threshold itself it would come and go with every task. Each user has a level of their own, so that nobody is slowed
down by another's backlog; the hub's is for all. Levels are looked at after the commands at hand, where the depth has
changed (`Yard.stirred`); nothing polls.

What is said is absolute: how it stands, not what to do once more. Whoever hears it twice does the same as once.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.json import Decoder

from taskyard.core.effects import Signal, SignalPressure
from taskyard.core.plans import allowance_of
from taskyard.core.settings import Backpressure, Depth
from taskyard.core.state import Daemon, Now, State, Turn, User
from taskyard.core.task import Attempt, Task, ms_of
from taskyard.vocabulary import EventName, Keeps, Pressure, PressureScope

NORMAL, WARNING, CRITICAL = Pressure.NORMAL, Pressure.WARNING, Pressure.CRITICAL
PRESSURE: Final = Keeps.PRESSURE
HUB: Final = "hub"
RETRY_MS_MIN: Final = 1000
RETRY_MS_MAX: Final = 3_600_000
# How long somebody refused is told to wait, whatever the pace of a moment says.

EVENT_OF: Final = {
    NORMAL: EventName.BACKPRESSURE_NORMAL,
    WARNING: EventName.BACKPRESSURE_WARNING,
    CRITICAL: EventName.BACKPRESSURE_CRITICAL,
}
ADVICE: Final[dict[Pressure, tuple[str, ...]]] = {
    NORMAL: (),
    WARNING: ("Submit proactive work half as often, in half the amount.", "Put off what is not urgent."),
    CRITICAL: (
        "Pause proactive work: it is refused until the line is shorter.",
        "Submit nothing of priority low: it is refused too.",
        "Add daemons or slots.",
    ),
}
ACTIONS: Final[dict[Pressure, tuple[str, ...]]] = {
    NORMAL: ("Every submission is taken again.",),
    WARNING: ("Daemons and callers are told to slow down; every submission is still taken.",),
    CRITICAL: ("Proactive submissions and those of priority low are refused.",),
}
"""What the hub itself does at each level (`admission.pressure_allows`)."""
_SEVERITY: Final = {NORMAL: 0, WARNING: 1, CRITICAL: 2}


class Kept(Struct):
    level: Pressure


_decode = Decoder(Kept).decode


def level_after(was: Pressure, depth: int, limits: Depth, numbers: Backpressure) -> Pressure:
    """The level at this depth for somebody who was at that one."""
    if was is NORMAL and depth < limits.warning:
        return NORMAL
    resume = numbers.resume_below
    if depth >= limits.critical or (was is CRITICAL and depth >= resume * limits.critical):
        return CRITICAL
    if depth >= limits.warning or (was is not NORMAL and depth >= resume * limits.warning):
        return WARNING
    return NORMAL


def level_of_user(state: State, user: User) -> Pressure:
    """As it stands at this very instant, whatever was said last. One's own machine is under no pressure."""
    settings = state.settings
    if allowance_of(state, user).is_unlimited:
        return NORMAL
    return level_after(user.pressure, user.waiting, settings.limits.user_queue_depth, settings.backpressure)


def level_of_hub(state: State) -> Pressure:
    settings = state.settings
    return level_after(state.pressure, state.yard.waiting, settings.limits.queue_depth, settings.backpressure)


def signal_for(state: State, user: User, now: Now) -> Signal:
    """What this user should know: the worse of their own line and the hub's."""
    own = _of_user(state, user, now)
    if allowance_of(state, user).is_unlimited:
        return own
    hub = _of_hub(state, now)
    return hub if _SEVERITY[hub.level] > _SEVERITY[own.level] else own


def retry_after_ms(state: State, user: User, now: Now) -> int:
    """Until the line of whoever is at critical has shortened to where submissions are taken again."""
    limits, numbers = state.settings.limits, state.settings.backpressure
    waits = []
    if level_of_user(state, user) is CRITICAL:
        excess = user.waiting - numbers.resume_below * limits.user_queue_depth.critical
        waits.append(user.pace.wait_ms(int(excess) + 1, now.mono))
    if level_of_hub(state) is CRITICAL:
        excess = state.yard.waiting - numbers.resume_below * limits.queue_depth.critical
        waits.append(state.pace.wait_ms(int(excess) + 1, now.mono))
    known = [wait for wait in waits if wait is not None]
    guess_ms = max(known) if len(known) == len(waits) else ms_of(numbers.retry_after_s)
    return min(max(guess_ms, RETRY_MS_MIN), RETRY_MS_MAX)


def heed(turn: Turn) -> None:
    """After the commands at hand: where the depth changed, see whether the level did."""
    state = turn.state
    stirred, state.yard.stirred = state.yard.stirred, {}
    for user in stirred.values():
        level = level_of_user(state, user)
        if level is not user.pressure:
            user.pressure = level
            pool = state.yard.pools.get(user.id)
            _tell(turn, user.id, user.id, _of_user(state, user, turn.now), pool.daemons.values() if pool else ())
    level = level_of_hub(state)
    if level is not state.pressure:
        state.pressure = level
        _tell(turn, HUB, None, _of_hub(state, turn.now), state.daemons.values())


def heed_all(turn: Turn) -> None:
    """The thresholds changed: everybody's level may have."""
    turn.state.yard.stirred = dict(turn.state.users)
    heed(turn)


def greet(turn: Turn, daemon: Daemon) -> None:
    """A daemon that comes while a line is long hears of it."""
    state = turn.state
    owner = state.users[daemon.record.user_id]
    if state.pressure is not NORMAL:
        turn.effects.append(SignalPressure(daemon.session, _of_hub(state, turn.now)))
    if owner.pressure is not NORMAL and not daemon.record.shared:
        turn.effects.append(SignalPressure(daemon.session, _of_user(state, owner, turn.now)))


def note_grant(turn: Turn, task: Task, _attempt: Attempt, _daemon: Daemon) -> None:
    """A line got shorter by one."""
    state, now_ms = turn.state, turn.now.mono
    state.users[task.user_id].pace.note(now_ms)
    state.pace.note(now_ms)


def remember(state: State, name: str, record: bytes) -> None:
    """The level that was said last; it is compared with the depth in the first turn."""
    level = _decode(record).level
    if name == HUB:
        state.pressure = level
    else:
        state.users[name].pressure = level
        state.yard.stirred[name] = state.users[name]


def _of_user(state: State, user: User, now: Now) -> Signal:
    level = level_of_user(state, user)
    return Signal(level, PressureScope.USER, user.waiting, user.pace.wait_ms(user.waiting, now.mono), ADVICE[level])


def _of_hub(state: State, now: Now) -> Signal:
    level, depth = level_of_hub(state), state.yard.waiting
    return Signal(level, PressureScope.HUB, depth, state.pace.wait_ms(depth, now.mono), ADVICE[level])


def _tell(turn: Turn, name: str, user_id: str | None, signal: Signal, daemons: Iterable[Daemon]) -> None:
    turn.state.ledger.kept[PRESSURE, name] = None if signal.level is NORMAL else Kept(signal.level)
    turn.announce(
        EVENT_OF[signal.level],
        user_id,
        {
            "type": "backpressure",
            "level": signal.level,
            "scope": signal.scope,
            "queue_depth": signal.depth,
            "estimated_wait_time": None if signal.wait_ms is None else signal.wait_ms / 1000,
            "recommendations": list(signal.advice),
        },
    )
    for daemon in daemons:
        if daemon.session:
            turn.effects.append(SignalPressure(daemon.session, signal))
