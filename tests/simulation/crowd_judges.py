"""The judges of a crowd: what is asked of every start, and of everybody who waits.

None of them trusts a count, a lane's sleep or a remembered order: they look at all there is, and are slow.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from math import floor
from unittest.mock import patch

from taskyard.core.in_place import next_in_place
from taskyard.core.lanes import Lane
from taskyard.core.limits import LEVEL_RULES, ages_of, hub_has_room
from taskyard.core.lines import Line, Pool
from taskyard.core.placement import choose
from taskyard.core.preemption import _victim_for
from taskyard.core.scheduler import held_by, held_by_line
from taskyard.core.state import Daemon, State, Turn
from taskyard.core.task import Attempt, Task
from taskyard.core.timers import Clock, Due, Timers
from taskyard.core.yard import Yard, rank_in
from taskyard.vocabulary import AttemptStatus, Level, Status
from tests.simulation.history import Violation
from tests.support.counts import recounted


def no_limit_is_exceeded(state: State, task: Task, attempt: Attempt, daemon: Daemon) -> None:
    """Everything this start counts under, counted from scratch, against the limit in force."""
    if attempt.in_place:
        return
    found = recounted(state)
    pool = daemon.pool
    assert pool is not None
    for name, limit in limits_in_force(state, task, attempt, pool):
        used = found.get(name, 0)
        if limit is not None and used > limit:
            raise Violation(f"{task.id} was started as number {used} of {limit} under {name}")
    own = sum(not t.newest.in_place for t in daemon.holding.values() if t.newest) + len(daemon.lingering)
    if own > daemon.record.slots:
        raise Violation(f"{daemon.id} holds {own} with {daemon.record.slots} slots")
    slots = sum(d.record.slots for d in pool.daemons.values() if d.is_open)
    others = sum(found.get(("level", level, pool.id), 0) for level in Level if level is not Level.CRITICAL)
    rest = slots - floor(state.settings.shares.critical_reserve * slots)
    if attempt.level is not Level.CRITICAL and others > rest:
        raise Violation(f"{task.id} took a slot of the critical reserve: {others} of {rest}")


def limits_in_force(state: State, task: Task, attempt: Attempt, pool: Pool) -> list[tuple[tuple[str, ...], int | None]]:
    """As the specification has them, worked out here a second time."""
    settings, user = state.settings, state.users[task.user_id]
    plan = settings.plans.get(user.record.plan or "")
    per_user = settings.limits.running_per_user if plan is None else plan.max_concurrent_agents
    per_source = settings.limits.running_per_source.get(task.kind.source)
    if per_source is not None and plan is not None and per_user is not None:
        per_source = max(per_source, per_user)
    said = state.queues.get(task.kind.queue)
    queue = settings.queues.get(task.kind.queue) if said is None or said.config is None else said.config
    per_queue = None if queue is None else queue.max_concurrent or 1
    rank = list(Level).index(attempt.level)
    rest = pool.slots - floor(settings.shares.critical_reserve * pool.slots)
    share = (None, settings.shares.high, settings.shares.normal, settings.shares.low)[rank]
    strict = max(1, floor(share * rest)) if share is not None and settings.shares.strict else None
    return [
        (("hub",), settings.limits.running_total),
        (("user", user.id), per_user),
        (("source", user.id, task.kind.source), per_source),
        (("queue", task.kind.queue, pool.id), per_queue),
        (("low", user.id), settings.shares.low_max if attempt.level is Level.LOW else None),
        (("level", attempt.level, pool.id), strict),
    ]


def a_suspect_runs_alone(task: Task, attempt: Attempt, daemon: Daemon) -> None:
    """Nobody was there before it, and nobody comes but a sub-task that it waits for."""
    others = [each for each in daemon.holding.values() if each is not task]
    if is_suspect(task) and (others or daemon.lingering):
        raise Violation(f"{task.id} is a suspect and was started beside {len(others) + len(daemon.lingering)}")
    for other in others:
        if is_suspect(other) and attempt.in_place != other.id:
            raise Violation(f"{task.id} was started beside the suspect {other.id}")


def is_suspect(task: Task) -> bool:
    return task.trouble is not None and task.trouble.suspect


def may_be_told_to_go(turn: Turn, victim: Task) -> None:
    """What the specification asks of whoever makes room, and of whom it is made for."""
    state, attempt, numbers = turn.state, victim.newest, turn.state.settings.preemption
    assert attempt is not None
    assert attempt.yields_to is not None
    urgent = state.tasks[attempt.yields_to]
    ran_ms = turn.now.mono - state.begun[victim.id]
    is_low = victim.level is Level.LOW and victim.status is Status.RUNNING
    times = sum(each.status is AttemptStatus.PREEMPTED for each in victim.attempts or ())
    if not is_low or ran_ms < numbers.min_run_s * 1000 or times >= numbers.times_max:
        raise Violation(f"{victim.id}, {victim.level} and {victim.status}, was told to go after {ran_ms} ms")
    if urgent.user_id != victim.user_id or urgent.level is not Level.CRITICAL or urgent.status is not Status.QUEUED:
        raise Violation(f"{victim.id} was told to go for {urgent.id}, which is {urgent.level} and {urgent.status}")
    going = [task.id for task, other in state.live_attempts() if other.yields_to == urgent.id]
    if going != [victim.id]:
        raise Violation(f"{going} were told to go for {urgent.id} alone")
    above: Task | None = urgent
    while above is not None and above.parent_id is not None:
        if above.parent_id == victim.id:
            raise Violation(f"{victim.id} was told to go for {urgent.id}, which is part of it")
        above = state.tasks.get(above.parent_id)


def could_start(turn: Turn, lane: Lane, line: Line) -> bool:
    """Asked of everything, asleep or not: would any rule keep this lane from this line's daemons now?"""
    return is_ready(turn, lane, line) and choose(lane, line) is not None


def is_ready(turn: Turn, lane: Lane, line: Line) -> bool:
    return (
        hub_has_room(turn) is None
        and all(rule(turn, line.pool, rank_in(lane, line.pool)) is None for rule in LEVEL_RULES)
        and held_by_line(turn, line) is None
        and held_by(turn, lane) is None
    )


def nobody_sleeps_who_could_start(turn: Turn) -> None:
    """A ready task that a free daemon may run does not wait for anything."""
    yard = turn.state.yard
    for judge in (
        could_have_a_place,
        could_have_room_made,
        misplaced,
        waits_alone_for_ever,
        keeps_a_daemon_for_nothing,
    ):
        missed = judge(turn)
        if missed is not None:
            raise Violation(f"{missed.id}: {judge.__doc__}")
    for user in turn.state.users.values():
        for lane in user.lanes.values():
            for line in yard.lines_for(user, lane.key):
                if could_start(turn, lane, line):
                    raise Violation(
                        f"{lane.heads()[0].id} could start in pool {line.pool.id!r} and waits: {lane.blocker}"
                    )


def it_was_their_turn(turn: Turn, lane: Lane, daemon: Daemon) -> None:
    """Of all who could have had this slot at this level, nobody runs less or was served longer ago."""
    pool = daemon.pool
    assert pool is not None
    rank = next(p.rank for p in lane.parties if p.line.pool is pool)
    ages = ages_of(turn)
    for user in turn.state.users.values():
        if user.turn >= lane.user.turn:
            continue
        for other in user.lanes.values():
            for party in other.parties:
                if party.rank == rank and party.line.pool is pool and could_start(turn, other, party.line):
                    head = other.head(ages[rank])
                    raise Violation(f"{user.id} {user.turn} should have had the slot of {lane.user.id}: {head.id}")


def could_have_a_place(turn: Turn) -> Task | None:
    """A ready sub-task that could run in the place of its waiting parent, if there is one."""
    with without_a_trace():
        found = [next_in_place(turn, parent_id) for parent_id in list(turn.state.waits)]
    return next((each[1] for each in found if each is not None), None)


def could_have_room_made(turn: Turn) -> Task | None:
    """A critical task that waits for nothing but the room of a low one that nobody told to go, if there is one."""
    if hub_has_room(turn) is not None:
        return None
    aged_before = ages_of(turn)[0]
    with without_a_trace():
        for user in turn.state.users.values():
            for lane in [each for each in user.lanes.values() if each.rank == 0 and user.running.low]:
                task = lane.head(aged_before)
                # Whose parents have ended is spared them only as long as they are remembered.
                is_judged = task.parent_id is None and task.id not in turn.state.preempting
                if is_judged and _victim_for(turn, lane, task) is not None:
                    return task
    return None


@contextmanager
def without_a_trace() -> Iterator[None]:
    """What is asked here puts nobody to sleep, and sets no timer."""

    def nothing(*_: object) -> None: ...

    with (
        patch.object(Yard, "sleep_place", nothing),
        patch.object(Yard, "sleep_urgent", nothing),
        patch.object(Yard, "await_daemon", nothing),
        patch.object(Timers, "set", nothing),
    ):
        yield


def misplaced(turn: Turn) -> Task | None:
    """A task that is ordered at another level than its user's critical work in the shared pool leaves it, if any."""
    state = turn.state
    reserve = max(1, state.settings.shares.reserve_of(state.yard.shared.slots))
    shared: dict[str, int] = {}
    for task, attempt in state.live_attempts():
        is_critical = attempt.level is Level.CRITICAL and attempt.in_place is None
        if is_critical and state.daemons[attempt.daemon_id].record.shared:
            shared[task.user_id] = shared.get(task.user_id, 0) + 1
    for user in state.users.values():
        for lane in user.lanes.values():
            rank = 1 if lane.rank == 0 and shared.get(user.id, 0) >= reserve else lane.rank
            if rank_in(lane, state.yard.shared) != rank:
                return lane.heads()[0]
    return None


def waits_alone_for_ever(turn: Turn) -> Task | None:
    """A suspect that waits for nothing but an empty daemon and will not be kept one, if there is one."""
    timers = turn.state.timers
    for lane in suspected(turn.state):
        task = lane.heads()[0]
        lines = [each for each in turn.state.yard.lines_for(lane.user, lane.key) if is_ready(turn, lane, each)]
        is_served = any(line.is_served() for line in lines)
        is_kept = any(daemon.alone == task.id and daemon.is_open for daemon in turn.state.daemons.values())
        if is_served and not is_kept and not timers.is_set(Clock.MONO, Due.SUSPECT, task.id):
            return task
    return None


def keeps_a_daemon_for_nothing(turn: Turn) -> Task | None:
    """A task that a daemon is kept for and that waits for something else, if there is one."""
    state = turn.state
    waiting = {lane.heads()[0].id: lane for lane in suspected(state)}
    for daemon in state.daemons.values():
        if daemon.alone is None or daemon.alone in daemon.holding or not daemon.is_open:
            continue
        lane = waiting.get(daemon.alone)
        lines = [] if lane is None or lane.blocker is not None else state.yard.lines_for(lane.user, lane.key)
        if not any(daemon in line.servers and line.blocker is None for line in lines):
            return state.tasks[daemon.alone]
    return None


def suspected(state: State) -> list[Lane]:
    return [lane for user in state.users.values() for lane in user.lanes.values() if lane.special.suspect is not None]
