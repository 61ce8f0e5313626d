"""Preemption: a critical task that waits for nothing but room may have that of one of its user's low tasks.

Only the scheduler asks, after it has given away every slot, and only for heads of critical lanes that were looked at
since. A low task is asked to go only if the critical one could start once it has gone, by every rule there is: tried by
taking it out of the counts for a moment. The youngest goes: it has the least to lose.

It is told to stop, with time to save a checkpoint, and keeps its slot until its daemon confirms, its lease ends, its
own time is over, or its result comes first. What it was told is kept with its attempt (`yields_to`), so that a restart
changes nothing. Then the critical task starts, before anybody else is looked at; if it may not, it has no claim left.
Should it need no room any more before that, the next critical task that does has the claim.

This file decides who goes and for whom. The scheduler tells them, `losses.py` says what becomes of them.
"""

from collections.abc import Iterator
from heapq import nsmallest
from typing import Final, NamedTuple

from taskyard.core.counts import count
from taskyard.core.lanes import Lane, key_of
from taskyard.core.limits import LANE_RULES, LEVEL_RULES, LINE_RULES, Hold, ages_of, hub_has_room, watch
from taskyard.core.lines import CRITICAL, Line
from taskyard.core.placement import choose
from taskyard.core.state import Daemon, State, Turn, User
from taskyard.core.task import Attempt, Task, ms_of
from taskyard.core.timers import Clock, Due
from taskyard.core.yard import rank_in
from taskyard.vocabulary import Level, Status
from taskyard.vocabulary.reasons import Reason

LANES_MAX: Final = 32
# Critical lanes of one user that are looked at in one go, best heads first: enough for all its low tasks.


def victim_of(state: State, task: Task) -> Task | None:
    """Who was told to make room for this task and has not gone yet."""
    victim_id = state.preempting.get(task.id)
    return None if victim_id is None else state.tasks[victim_id]


def remember(state: State, task: Task, attempt: Attempt) -> None:
    """After a start: who was told to go is still to go."""
    if attempt.yields_to is not None:
        state.preempting[attempt.yields_to] = task.id


def look_again(turn: Turn, user_id: str) -> None:
    """The timer: one of the user's low tasks has run long enough."""
    turn.state.yard.urgent[user_id] = None


def note_low(turn: Turn, task: Task, attempt: Attempt, _daemon: Daemon) -> None:
    """A low task runs: what held its user's critical work, while there was none to go, is looked at again."""
    if attempt.level is Level.LOW and attempt.in_place is None:
        turn.state.yard.urgent[task.user_id] = None


def came_back(turn: Turn, daemon: Daemon) -> None:
    """A daemon that can be told something again: those whose low tasks it holds may have waited for that."""
    for task in daemon.holding.values():
        if task.level is Level.LOW:
            turn.state.yard.urgent[task.user_id] = None


# Who goes.


def demand_room(turn: Turn, user: User) -> list[Task]:
    """The low tasks of this user that have to go for its critical ones, marked as such. Their daemons are to be told"""
    if not user.running.low:
        return []
    aged_before = ages_of(turn)[CRITICAL]
    lanes = [lane for lane in user.lanes.values() if lane.rank == CRITICAL]
    told = []
    for lane in nsmallest(LANES_MAX, lanes, key=Lane.best):
        task = lane.head(aged_before)
        victim = None if task.id in turn.state.preempting else _victim_for(turn, lane, task)
        attempt = None if victim is None else victim.newest
        if victim is None or attempt is None:
            continue
        turn.state.ledger.touch(victim)
        if attempt.yields_to is None:
            told.append(victim)
        else:
            del turn.state.preempting[attempt.yields_to]
        attempt.yields_to = task.id
        turn.state.preempting[task.id] = victim.id
    return told


def _victim_for(turn: Turn, lane: Lane, task: Task) -> Task | None:
    """The youngest that may be told to go, and whose going would let this task start."""
    lines = [line for line in _lines_of(turn, lane) if _waits_for_room(turn, lane, line)]
    if not lines:
        return None
    numbers, spared = turn.state.settings.preemption, _leans_on(turn.state, task)
    soonest = None
    for running in _running_low(turn.state, lane.user):
        victim = running.task
        times = 0 if victim.trouble is None else victim.trouble.preemptions
        if victim.id in spared or times >= numbers.times_max or not _helps(turn, lane, lines, running):
            continue
        due = turn.state.begun[victim.id] + ms_of(numbers.min_run_s)
        if due <= turn.now.mono:
            return victim
        soonest = due if soonest is None else min(due, soonest)
    if soonest is not None:
        _watch(turn, lane.user, soonest)
    # Nobody's going would help as long as the daemons are full; that changes with every slot that comes free.
    for line in lines:
        turn.state.yard.sleep_urgent(lane.user.id, ("room", line.pool.id))
    return None


class Low(NamedTuple):
    """A low task that runs."""

    task: Task
    attempt: Attempt
    daemon: Daemon


def _running_low(state: State, user: User) -> list[Low]:
    """The user's low tasks that run in a slot of their own and could be told to go, the youngest first.

    Before them those that were told already, for one who needs it no longer.
    """
    found = []
    for task in user.live.values():
        attempt = task.newest
        assert attempt is not None, "I2: a held task has an attempt"
        daemon = state.daemons[attempt.daemon_id]
        # One that has not started yet is looked at when it does (`note_low`).
        is_low = task.level is Level.LOW and attempt.level is Level.LOW and task.status is Status.RUNNING
        is_going = _who_needs(state, attempt.yields_to) is not None or task.cancel_requested_at is not None
        # In whose place another runs, would leave that one behind in its room.
        has_room = attempt.in_place is None and task.id not in state.standing
        if is_low and has_room and not is_going and daemon.session:
            found.append(Low(task, attempt, daemon))
    return sorted(found, key=_started, reverse=True)


def _started(low: Low) -> tuple[bool, int, str]:
    return low.attempt.yields_to is not None, low.attempt.started_at or 0, low.task.id


def _who_needs(state: State, task_id: str | None) -> Task | None:
    """The task that somebody was told to go for, if it still waits for that."""
    task = state.tasks.get(task_id or "")
    is_urgent = task is not None and task.status is Status.QUEUED and task.level is Level.CRITICAL
    return task if is_urgent else None


def _helps(turn: Turn, lane: Lane, lines: list[Line], low: Low) -> bool:
    """Whether the lane's head could start if this one were gone."""
    victim, attempt, daemon = low
    count(turn.state, victim, attempt, daemon, -1)
    daemon.beyond += 1
    assert daemon.pool is not None, "I2: what is held is held in a pool"
    daemon.pool.eased[daemon] = None
    helps = any(_starts_at(turn, lane, line) is not None for line in lines)
    daemon.beyond -= 1
    count(turn.state, victim, attempt, daemon, 1)
    return helps


def _leans_on(state: State, task: Task) -> dict[str, None]:
    """What must not go for this task: those above it, and what it depends on, directly or through others."""
    found: dict[str, None] = {}
    above = task.parent_id
    while above is not None and above in state.tasks:
        found[above] = None
        above = state.tasks[above].parent_id
    ahead = [task]
    while ahead:
        one = ahead.pop()
        for other_id in (*(d.id for d in one.depends or ()), *state.children.get(one.id, ())):
            if other_id not in found:
                found[other_id] = None
                ahead += [state.tasks[other_id]] if other_id in state.tasks else []
    return found


def _watch(turn: Turn, user: User, due: int) -> None:
    timers = turn.state.timers
    planned = timers.due_at(Clock.MONO, Due.PREEMPTION, user.id)
    if planned is None or due < planned:
        timers.set(Clock.MONO, Due.PREEMPTION, user.id, due)


# What holds the critical task.


def _lines_of(turn: Turn, lane: Lane) -> list[Line]:
    return turn.state.yard.lines_for(lane.user, lane.key)


def _holds(turn: Turn, lane: Lane, line: Line) -> Iterator[Hold]:
    rank = rank_in(lane, line.pool)
    found = (
        hub_has_room(turn),
        *(rule(turn, line) for rule in LINE_RULES),
        *(rule(turn, lane) for rule in LANE_RULES),
        *(rule(turn, line.pool, rank) for rule in LEVEL_RULES),
    )
    return (hold for hold in found if hold is not None)


def _waits_for_room(turn: Turn, lane: Lane, line: Line) -> bool:
    """Held by full daemons, by its user's concurrency, by a full queue of its user's own machines, and by nothing else.

    Who has one source is at its limit and at the plan's concurrency at once, where the source's is not the lower one.
    """
    holds = {hold.reason: hold for hold in _holds(turn, lane, line)}
    user, source = holds.get(Reason.USER_CONCURRENCY), holds.get(Reason.SOURCE_CONCURRENCY)
    helped = {Reason.USER_CONCURRENCY: None}
    if user is not None and source is not None and (source.limit or 0) >= (user.limit or 0):
        helped[Reason.SOURCE_CONCURRENCY] = None
    if line.pool.id == lane.user.id:
        helped[Reason.QUEUE_FULL] = None
    others = [hold for reason, hold in holds.items() if reason not in helped]
    for hold in others:
        turn.state.yard.sleep_urgent(lane.user.id, hold.blocker)
        watch(turn, hold)
    return not others and (bool(holds) or choose(lane, line) is None)


def _starts_at(turn: Turn, lane: Lane, line: Line) -> Daemon | None:
    return choose(lane, line) if next(_holds(turn, lane, line), None) is None else None


# Who comes.


def yielded(turn: Turn, task: Task, attempt: Attempt, daemon: Daemon) -> None:
    """An attempt has ended, in whatever way: if somebody waits for its room, they come first."""
    if attempt.yields_to is None:
        return
    del turn.state.preempting[attempt.yields_to]
    turn.state.made_room[attempt.yields_to] = None


def next_start(turn: Turn, task_id: str) -> tuple[Lane, Task, Line, Daemon] | None:
    """Where the task that room was made for can start; None: it needs it no longer, or may not have it."""
    task = _who_needs(turn.state, task_id)
    if task is None:
        return None
    user = turn.state.users[task.user_id]
    # Should it not start, or others like it wait behind it: somebody else may have to go.
    turn.state.yard.urgent[user.id] = None
    lane = user.lanes[key_of(task)]
    for line in _lines_of(turn, lane):
        daemon = _starts_at(turn, lane, line)
        if daemon is not None:
            return lane, task, line, daemon
    return None
