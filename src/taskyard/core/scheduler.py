"""Who runs next: one cycle, in numbered steps.

Only woken lines are looked at: those that got a task, a slot, or a daemon since the last cycle. Task-side rules are
one tuple of small functions; the first that says no puts the lane to sleep under the name of what blocks it, and
whoever removes that wakes it (`Yard.wake`). A new limit is one function in `RULES` and one `wake` at its release.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from taskyard.core.attempts import grant
from taskyard.core.lanes import Blocker, Lane, Line, order_of
from taskyard.core.placement import choose
from taskyard.core.state import State, Turn
from taskyard.core.suspects import watch_suspect
from taskyard.vocabulary import RANK, Reason

RANKS: Final = tuple(RANK.values())


class Hold(Struct, frozen=True):
    """Why a lane's head may not start now, and the name under which to wake it."""

    reason: Reason
    blocker: Blocker


Rule = Callable[[State, Lane], Hold | None]


def exclusive_is_free(state: State, lane: Lane) -> Hold | None:
    """Of the tasks that share an exclusive key only one runs at a time."""
    key = lane.special.exclusive
    if key is None or (lane.user.id, key) not in state.exclusive:
        return None
    return Hold(Reason.EXCLUSIVE_HELD, ("exclusive", lane.user.id, key))


RULES: Final[tuple[Rule, ...]] = (exclusive_is_free,)


def dispatch(turn: Turn) -> None:
    """Start everything that may start."""
    yard = turn.state.yard
    # 1. Which lines have both a task and room. The others wait for a slot, which will wake them.
    lines = [line for line in yard.woken.values() if line.is_waiting() and line.has_room()]
    yard.woken = {}
    while lines:
        # 2. The best lane of the highest level that has one.
        lane = _next_lane(lines)
        if lane is None:
            return
        # 3. May it start? The first rule that says no names what it waits for.
        hold = held_by(turn.state, lane)
        if hold is not None:
            yard.sleep(lane, hold.blocker)
            continue
        # 4. Where? A line whose daemons are full drops out until one of them has room again.
        daemon = choose(lane)
        if daemon is None:
            if lane.special.suspect is not None:
                watch_suspect(turn, lane.head())
            lines.remove(lane.line)
            continue
        # 5. It starts there.
        grant(turn, lane, daemon)


def held_by(state: State, lane: Lane) -> Hold | None:
    """What the first rule that says no gives as its reason."""
    for rule in RULES:
        hold = rule(state, lane)
        if hold is not None:
            return hold
    return None


def _next_lane(lines: list[Line]) -> Lane | None:
    if len(lines) == 1:
        return lines[0].first()
    for rank in RANKS:
        lanes = [lane for line in lines if (lane := line.best(rank)) is not None]
        if lanes:
            return lanes[0] if len(lanes) == 1 else min(lanes, key=order_of)
    return None
