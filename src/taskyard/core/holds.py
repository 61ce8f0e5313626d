"""Everything that holds a ready lane back now: the rules that `scheduler.py` asks until one says no, all of them asked.

No rule is written here. What is about the user's work or the whole hub holds in any case. What is about a queue in a
pool, a level of it or its daemons holds only if it does so in every pool that could run the task: a way that is open
is enough.
"""

from typing import Final

from msgspec import Struct

from taskyard.core.lanes import Lane
from taskyard.core.limits import (
    LANE_RULES,
    LEVEL_RULES,
    LINE_RULES,
    Hold,
    hub_has_room,
    leaves_to_claims,
)
from taskyard.core.lines import Line
from taskyard.core.placement import STANDINGS, choose
from taskyard.core.sentences import PRECEDENCE
from taskyard.core.state import Daemon, Turn
from taskyard.core.yard import rank_in
from taskyard.vocabulary.reasons import Lack, Reason

BUSY: Final = frozenset({Lack.DAEMON_HELD, Lack.DAEMON_FULL})
"""What a task that runs alone waits to go away."""


class Held(Struct, frozen=True):
    """A reason, and where: None is everywhere."""

    hold: Hold
    line: Line | None = None


def lines_of(turn: Turn, lane: Lane) -> list[Line]:
    """Where a lane may be served, its own daemons' line first. Asking makes none."""
    return turn.state.yard.lines_seen_by(lane.user, lane.key)


def holds_of(turn: Turn, lane: Lane, lines: list[Line]) -> list[Held]:
    """All of them, the most important first; none: it is about to start."""
    found = [Held(hold) for rule in LANE_RULES if (hold := rule(turn, lane)) is not None]
    if (hub := hub_has_room(turn)) is not None:
        found.append(Held(hub))
    found += _in_every_way(turn, lane, lines)
    return sorted(found, key=lambda held: PRECEDENCE[held.hold.reason])


def _in_every_way(turn: Turn, lane: Lane, lines: list[Line]) -> list[Held]:
    usable = [line for line in lines if line.servers]
    found: dict[tuple[str, ...], Held] = {}
    if not usable:
        is_known = any(line.pool.daemons for line in lines)
        reason = Reason.NO_ELIGIBLE_DAEMON if is_known else Reason.NO_DAEMON
        found[(reason,)] = Held(Hold(reason, ("fleet", lane.user.id)))
    ways = [(line, _in_line(turn, lane, line)) for line in usable or lines]
    if usable and any(not holds for _, holds in ways):
        return []
    named = [frozenset(map(_name_of, holds)) for _, holds in ways]
    for (line, holds), names in zip(ways, named, strict=True):
        # Where less is in the way elsewhere, and all of that here too, nobody need open this one.
        if any(other < names for other in named):
            continue
        for hold in holds:
            # What holds a queue in all pools is one thing, told once.
            found.setdefault(_name_of(hold), Held(hold, line))
    return list(found.values())


def _name_of(hold: Hold) -> tuple[str, ...]:
    return (hold.reason, *hold.blocker)


def _in_line(turn: Turn, lane: Lane, line: Line) -> list[Hold]:
    holds = [hold for rule in LINE_RULES if (hold := rule(turn, line)) is not None]
    if not line.servers:
        return holds
    is_full, slots = choose(lane, line) is None, line.pool.slots
    for rule in LEVEL_RULES if slots else ():
        hold = rule(turn, line.pool, rank_in(lane, line.pool))
        # Where all slots are taken, a level that may have them all is held by the slots and not by its share.
        if hold is not None and not (is_full and (hold.limit or 0) >= slots):
            holds.append(hold)
    left = leaves_to_claims(turn, line.pool, rank_in(lane, line.pool))
    if left is not None and not is_full and choose(lane, line, claims_only=True) is None:
        holds.append(left)
    return [*holds, _no_slot(lane, line)] if is_full else holds


def _no_slot(lane: Lane, line: Line) -> Hold:
    """Daemons could run it, and none of them now."""
    blocker = ("slots", line.pool.id)
    if lane.special.suspect is not None and any(_is_only_busy(lane, daemon) for daemon in line.servers):
        return Hold(Reason.WAITS_ALONE, blocker)
    there = [daemon for daemon in line.servers if daemon.is_open]
    used, limit = sum(daemon.occupied for daemon in there), sum(daemon.record.slots for daemon in there)
    return Hold(Reason.NO_FREE_SLOT, blocker, used, limit)


def _is_only_busy(lane: Lane, daemon: Daemon) -> bool:
    lacks = {lack for standing in STANDINGS if (lack := standing(lane, daemon)) is not None}
    return bool(lacks) and lacks <= BUSY
