"""What may hold a ready task back, one small function per rule.

Each answers with a `Hold` (a reason, its numbers, and the name under which to be woken) or None. `scheduler.py` stops
at the first that says no; `why.py` asks them all. They read the counts (`counts.py`), which follow from the live
attempts, and the settings of this moment, so a limit that changes holds from the next decision on, also downwards.
"""

from collections.abc import Callable
from functools import lru_cache
from math import floor
from typing import Final

from msgspec import Struct

from taskyard.core.breakers import blocker_of, numbers_of, probe_of
from taskyard.core.lanes import Blocker, Lane
from taskyard.core.lines import CRITICAL, Line, Pool
from taskyard.core.plans import allowance_of
from taskyard.core.queues import is_paused, limit_of
from taskyard.core.settings import Shares
from taskyard.core.state import Turn
from taskyard.core.task import ms_of
from taskyard.core.timers import Clock, Due
from taskyard.core.usage import usage_at, used_ms
from taskyard.vocabulary import RANK, Level
from taskyard.vocabulary.reasons import Reason

ROOM: Final = frozenset(
    {
        Reason.HUB_FULL,
        Reason.USER_CONCURRENCY,
        Reason.SOURCE_CONCURRENCY,
        Reason.LOW_CAP,
        Reason.QUEUE_FULL,
        Reason.CRITICAL_RESERVE,
        Reason.PRIORITY_SHARE,
    }
)
"""What holds a task only because others run: who runs in its parent's place passes these (`in_place.py`)."""
HIGH_TO_LOW: Final = (1, 2, 3)
# Ranks of the levels that share what the critical reserve leaves.
LEVELS: Final = tuple(RANK)
"""By their ranks."""
LOW: Final = Level.LOW


class Hold(Struct, frozen=True):
    """Why something may not start now."""

    reason: Reason
    blocker: Blocker
    """What to be woken by."""
    used: int | None = None
    limit: int | None = None
    until: int | None = None
    """When it ends by itself, if that is known."""
    name: str | None = None
    """Of the queue, type, source, level, key or plan it is about."""


def watch(turn: Turn, hold: Hold) -> None:
    """Whoever sleeps on this is woken when it ends by itself."""
    if hold.until is not None:
        turn.state.timers.set(Clock.WALL, Due.WAKE, hold.blocker, hold.until)


LaneRule = Callable[[Turn, Lane], Hold | None]
LineRule = Callable[[Turn, Line], Hold | None]


def breaker_lets_through(turn: Turn, lane: Lane) -> Hold | None:
    """Nothing of a type that keeps failing, until one of them may try (`breakers.py`)."""
    user, type = lane.user, lane.kind.needs.type
    breaker = user.breakers.get(type)
    if breaker is None or breaker.opened_at is None:
        return None
    if probe_of(user, breaker) is not None:
        return Hold(Reason.BREAKER_PROBING, blocker_of(breaker), name=type)
    until = breaker.half_open_at
    if turn.now.wall >= until:
        return None
    if breaker.forced:
        return Hold(Reason.BREAKER_OPEN, blocker_of(breaker), until=until, name=type)
    threshold = numbers_of(turn.state.settings, type).failure_threshold
    return Hold(Reason.BREAKER_OPEN, blocker_of(breaker), breaker.failures, threshold, until, type)


def exclusive_is_free(turn: Turn, lane: Lane) -> Hold | None:
    """Of the tasks that share an exclusive key only one runs at a time."""
    key = lane.special.exclusive
    if key is None or (lane.user.id, key) not in turn.state.exclusive:
        return None
    return Hold(Reason.EXCLUSIVE_HELD, ("exclusive", lane.user.id, key), name=key)


def user_has_room(turn: Turn, lane: Lane) -> Hold | None:
    """The plan's concurrency, or that of a user without a plan."""
    limit = allowance_of(turn.state, lane.user).concurrent
    used = lane.user.running.total
    if limit is None or used < limit:
        return None
    return Hold(Reason.USER_CONCURRENCY, ("user", lane.user.id), used, limit, name=lane.user.record.plan)


def user_has_hours(turn: Turn, lane: Lane) -> Hold | None:
    """The month's agent time, with what runs now; at its end what waits waits for the next month."""
    user = lane.user
    limit = allowance_of(turn.state, user).hours_ms
    if limit is None:
        return None
    used = used_ms(turn.state, user, turn.now)
    if used < limit:
        return None
    until = usage_at(user, turn.now.wall).until
    return Hold(Reason.USER_HOURS, ("hours", user.id), used, limit, until, user.record.plan)


def source_has_room(turn: Turn, lane: Lane) -> Hold | None:
    source = lane.kind.source
    limit = allowance_of(turn.state, lane.user).per_source.get(source)
    used = lane.user.running.by_source.get(source, 0)
    if limit is None or used < limit:
        return None
    return Hold(Reason.SOURCE_CONCURRENCY, ("source", lane.user.id, source), used, limit, name=source)


def low_has_room(turn: Turn, lane: Lane) -> Hold | None:
    """However idle the fleet: no user runs more than a handful of low tasks."""
    if lane.level is not LOW:
        return None
    used, limit = lane.user.running.low, turn.state.settings.shares.low_max
    return None if used < limit else Hold(Reason.LOW_CAP, ("low", lane.user.id), used, limit)


LANE_RULES: Final[tuple[LaneRule, ...]] = (
    breaker_lets_through,
    user_has_room,
    user_has_hours,
    source_has_room,
    low_has_room,
    exclusive_is_free,
)


def queue_is_open(turn: Turn, line: Line) -> Hold | None:
    """Nobody has paused it."""
    if not is_paused(turn.state, line.queue):
        return None
    return Hold(Reason.QUEUE_PAUSED, ("paused", line.queue), name=line.queue)


def queue_is_cool(turn: Turn, line: Line) -> Hold | None:
    """Its provider has not refused it lately; after that one goes first, and the others wait for what it finds."""
    if not turn.state.cooling:
        return None
    record = turn.state.cooling.get((line.queue, line.pool.id))
    if record is None:
        return None
    blocker = ("queue", line.queue, line.pool.id)
    if turn.now.wall < record.until:
        return Hold(Reason.QUEUE_COOLING, blocker, until=record.until, name=line.queue)
    return None if record.probe is None else Hold(Reason.QUEUE_PROBING, blocker, name=line.queue)


def queue_has_room(turn: Turn, line: Line) -> Hold | None:
    """Per queue and pool: one user's machine never holds up another's."""
    limit = limit_of(turn.state, line.queue)
    used = line.pool.queues.get(line.queue, 0)
    if limit is None or used < limit:
        return None
    return Hold(Reason.QUEUE_FULL, ("queue", line.queue, line.pool.id), used, limit, name=line.queue)


LINE_RULES: Final[tuple[LineRule, ...]] = (queue_is_open, queue_is_cool, queue_has_room)


def hub_has_room(turn: Turn) -> Hold | None:
    used, limit = turn.state.running, turn.state.settings.limits.running_total
    return None if used < limit else Hold(Reason.HUB_FULL, ("hub",), used, limit)


# Levels.


@lru_cache(maxsize=1024)
def shares_of(slots: int, shares: Shares, claiming: int = 0) -> tuple[int, ...]:
    """Per rank, of so many slots: for what is not critical all that the reserve leaves, then each level's share.

    A share is a guarantee under contention, or, if strict, a cap. Of the slots of agents that claim nothing is kept.
    """
    rest = slots - shares.reserve_of(slots - claiming)
    return rest, *(max(1, floor(fraction * rest)) for fraction in (shares.high, shares.normal, shares.low))


def reserve_is_kept(turn: Turn, pool: Pool, rank: int) -> Hold | None:
    """What is not critical leaves the reserve alone, whether or not critical tasks run."""
    if rank == CRITICAL:
        return None
    used, limit = pool.others_running, shares_of(pool.slots, turn.state.settings.shares, pool.claiming)[0]
    return None if used < limit else Hold(Reason.CRITICAL_RESERVE, ("room", pool.id), used, limit)


def leaves_to_claims(turn: Turn, pool: Pool, rank: int) -> Hold | None:
    """Why only agents that claim may be given this: by their slots the pool has room, but what is left of the others'
    slots is the reserve."""
    if not pool.claiming or rank == CRITICAL:
        return None
    used, slots = pool.others_running - pool.others_claimed, pool.slots - pool.claiming
    limit = slots - turn.state.settings.shares.reserve_of(slots)
    return None if used < limit else Hold(Reason.CRITICAL_RESERVE, ("room", pool.id), used, limit)


def share_is_kept(turn: Turn, pool: Pool, rank: int) -> Hold | None:
    """Only if shares are strict: then they are caps."""
    shares = turn.state.settings.shares
    if rank == CRITICAL or not shares.strict:
        return None
    used, limit = pool.running[rank], shares_of(pool.slots, shares, pool.claiming)[rank]
    return None if used < limit else Hold(Reason.PRIORITY_SHARE, ("room", pool.id), used, limit, name=LEVELS[rank])


LevelRule = Callable[[Turn, Pool, int], Hold | None]
LEVEL_RULES: Final[tuple[LevelRule, ...]] = (reserve_is_kept, share_is_kept)


def levels_with_room(turn: Turn, pool: Pool) -> tuple[int, ...]:
    """Ranks, in the order in which a slot is offered: critical first, then who is below its share, then the others."""
    shares = turn.state.settings.shares
    rest, high, normal, low = shares_of(pool.slots, shares, pool.claiming)
    _, highs, normals, lows = pool.running
    if highs + normals + lows >= rest:
        return (CRITICAL,)
    return _offered(highs < high, normals < normal, lows < low, shares.strict)


@lru_cache(maxsize=16)
def _offered(high: bool, normal: bool, low: bool, is_strict: bool) -> tuple[int, ...]:
    is_below = dict(zip(HIGH_TO_LOW, (high, normal, low), strict=True))
    below = [rank for rank in HIGH_TO_LOW if is_below[rank]]
    others = [] if is_strict else [rank for rank in HIGH_TO_LOW if not is_below[rank]]
    return CRITICAL, *below, *others


def ages_of(turn: Turn) -> tuple[int, ...]:
    """Per rank: who was queued before this instant has waited longer than that level should."""
    ageing, wall = turn.state.settings.ageing, turn.now.wall
    return tuple(wall - ms_of(s) for s in (ageing.critical_s, ageing.high_s, ageing.normal_s, ageing.low_s))
