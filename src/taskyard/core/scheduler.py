"""Who runs next: one cycle, in numbered steps.

Only woken lines are looked at: those that got a task, a slot, or a daemon since the last cycle. What may hold a task
back is in `limits.py`, one small function each, in three tuples: of the hub, of a whole line, of one user's lane. The
first that says no puts line or lane to sleep under the name of what blocks it, and whoever removes that wakes it
(`Yard.wake`). A new limit is one function in a tuple and one `wake` at its release.

Before all this, who was made room for comes into it (`preemption.py`). After it, with every slot given away: sub-tasks
run in the place of those that wait for them (`in_place.py`), and critical tasks that wait for room alone demand some.
"""

from typing import Final

from taskyard.core.attempts import grant, withdraw
from taskyard.core.contest import Contest
from taskyard.core.in_place import next_in_place
from taskyard.core.lanes import Lane
from taskyard.core.limits import (
    LANE_RULES,
    LINE_RULES,
    Hold,
    ages_of,
    hub_has_room,
    leaves_to_claims,
    levels_with_room,
    watch,
)
from taskyard.core.lines import Line, Pool
from taskyard.core.placement import choose
from taskyard.core.preemption import demand_room, next_start
from taskyard.core.state import State, Turn
from taskyard.core.suspects import let_go, let_go_of_line, watch_suspect
from taskyard.core.yard import rank_in
from taskyard.vocabulary import RANK, CancelReason, Level

LEVELS: Final = tuple(Level)
HIGH: Final = RANK[Level.HIGH]


def needs_dispatch(state: State) -> bool:
    """Whether anything has changed for anyone who waits."""
    yard = state.yard
    return bool(yard.woken or yard.places or yard.urgent or state.made_room)


def dispatch(turn: Turn) -> None:
    """Start everything that may start."""
    if turn.state.made_room:
        _hand_over(turn)
    _fill_pools(turn)
    if turn.state.yard.places:
        _fill_places(turn)
    if turn.state.yard.urgent and hub_has_room(turn) is None:
        _demand_room(turn)


def _hand_over(turn: Turn) -> None:
    """Room was made for these: nobody else is looked at before them."""
    made_room, turn.state.made_room = turn.state.made_room, {}
    for task_id in made_room:
        found = next_start(turn, task_id)
        if found is not None:
            lane, task, line, daemon = found
            grant(turn, lane, task, daemon, level=_counted_as(rank_in(lane, line.pool), lane))


def _fill_places(turn: Turn) -> None:
    """Sub-tasks that found no room of their own, and whose parents wait for them."""
    yard = turn.state.yard
    places, yard.places = yard.places, {}
    for parent_id in places:
        found = next_in_place(turn, parent_id)
        if found is not None:
            lane, task, daemon, beyond = found
            grant(turn, lane, task, daemon, level=lane.level, in_place=parent_id, beyond=beyond)


def _demand_room(turn: Turn) -> None:
    yard = turn.state.yard
    urgent, yard.urgent = yard.urgent, {}
    for user_id in urgent:
        for victim in demand_room(turn, turn.state.users[user_id]):
            attempt = victim.newest
            assert attempt is not None, "I2: a held task has an attempt"
            withdraw(turn, victim, attempt, CancelReason.PREEMPTED)


def _fill_pools(turn: Turn) -> None:
    yard = turn.state.yard
    while yard.woken:
        # 1. A user's own daemons first: who could use both leaves the shared ones to others.
        for pool_id in sorted(yard.woken, reverse=True) if len(yard.woken) > 1 else list(yard.woken):
            if hub_has_room(turn) is not None:
                # Whoever ends next anywhere makes room; until then everything stays as it is.
                return
            _fill(turn, yard.woken[pool_id])
            if not yard.woken[pool_id].woken:
                del yard.woken[pool_id]


def _fill(turn: Turn, pool: Pool) -> None:
    """Give away the slots of one pool."""
    # 2. Which lines have both a task and room. The others wait for a slot, which will wake them.
    woken, pool.woken = pool.woken, {}
    # A suspect is looked at all the same: for how long it has waited, counts from here (step 5).
    lines = [
        line
        for line in woken.values()
        if line.blocker is None and line.is_waiting() and (line.has_room() or line.suspect is not None)
    ]
    contest = Contest(lines, ages_of(turn))
    while contest.lines:
        # 3. The user whose turn it is, of the first level that has room and somebody to use it.
        party = contest.first(levels_with_room(turn, pool))
        if party is None:
            pool.starved.update((line.key, line) for line in contest.lines)
            return
        aged_before = contest.ages[party.rank]
        line, lane = party.line, party.first(aged_before)
        # 4. May it start? What holds the whole line, then what holds this user's work.
        if _is_held(turn, line, lane):
            contest.settle(party)
            if pool.woken:
                _put_off(pool, contest)
                return
            continue
        # 5. Where? A line whose daemons are full drops out until one of them has room again.
        left_to_claims = pool.claiming and leaves_to_claims(turn, pool, party.rank)
        daemon = choose(lane, line, claims_only=True) if left_to_claims else choose(lane, line)
        if daemon is None:
            turn.state.yard.heed(lane)
            if lane.special.suspect is not None:
                watch_suspect(turn, lane.head(aged_before))
            contest.drop(line)
            continue
        # 6. It starts there.
        grant(turn, lane, lane.head(aged_before), daemon, level=_counted_as(party.rank, lane))
        contest.settle(party)
        if pool.woken or hub_has_room(turn) is not None:
            _put_off(pool, contest)
            return


def _put_off(pool: Pool, contest: Contest) -> None:
    """The hub is full; or others were woken meanwhile, for whom a suspect's daemon is there again or who have another
    level now: then all of them are asked anew, together."""
    pool.woken.update((line.key, line) for line in contest.lines)


def _is_held(turn: Turn, line: Line, lane: Lane) -> bool:
    hold = held_by_line(turn, line)
    is_line_held = hold is not None
    if hold is not None:
        turn.state.yard.sleep_line(line, hold.blocker)
        turn.state.yard.heed(lane)
    else:
        hold = held_by(turn, lane)
        if hold is None:
            return False
        turn.state.yard.sleep(lane, hold.blocker)
    watch(turn, hold)
    if lane.special.suspect is not None:
        # What is kept for it stays of use to others for as long as it sleeps.
        suspect = turn.state.tasks[lane.special.suspect]
        if is_line_held:
            let_go_of_line(turn, suspect, line)
        else:
            let_go(turn, suspect)
    return True


def held_by_line(turn: Turn, line: Line) -> Hold | None:
    """What the first rule about its queue that says no gives as its reason."""
    for rule in LINE_RULES:
        hold = rule(turn, line)
        if hold is not None:
            return hold
    return None


def held_by(turn: Turn, lane: Lane) -> Hold | None:
    """What the first rule about its user's work that says no gives as its reason."""
    for rule in LANE_RULES:
        hold = rule(turn, lane)
        if hold is not None:
            return hold
    return None


def _counted_as(rank: int, lane: Lane) -> Level:
    """What it counts as: its level, unless it is critical work ordered as high."""
    return LEVELS[HIGH] if rank == HIGH and lane.level is LEVELS[0] else lane.level
