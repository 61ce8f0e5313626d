"""Imports: tasks that stood elsewhere come in as they stood there, or none of them does.

What had ended there is history here, with its result or its error, and can be depended upon, reviewed and retried like
any other. What was open takes the place that is its own here (`readiness.py`): no daemon of this yard runs it, so what
ran there is ready again. Its tries so far count.

A task's id follows from where it comes from and what it was called there (the shell derives it), so whatever is brought
a second time is recognised by its id, changed or not, ended or archived since; nothing is ever written over. So a piece
that is asked again changes nothing, and an import that was broken off is gone on with by asking again for all of it. A
large one comes in pieces. `elsewhere` names what the others bring, so that each can be looked at (`dry_run`) before the
first is taken.

These were taken in once already, so no rate is charged for them. How many may be pending holds for them too.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

import msgspec

from taskyard.core.breakers import take_up
from taskyard.core.commands import Arrival, ImportTasks, SubmitTasks
from taskyard.core.effects import Imported, Refused, Reply
from taskyard.core.endings import holder_of, keep_cancel_reason, keeps_key
from taskyard.core.intake import (
    Intake,
    enter,
    find_cycle,
    model_is_routed,
    source_is_allowed,
    target_is_not_excluded,
    task_of,
)
from taskyard.core.lifecycle import arrive
from taskyard.core.plans import allowance_of
from taskyard.core.queues import queue_of, set_queue
from taskyard.core.state import State, Turn, User
from taskyard.core.task import Task, Trouble
from taskyard.vocabulary import ENDED, EventName, Refusal, Status

AHEAD_MS_MAX: Final = 24 * 3600 * 1000
# How far the clock of where they come from may be ahead: a zone that was left out, at most.


class Import:
    """One piece of an import while it is looked at."""

    __slots__ = ("arrivals", "command", "fresh", "intake", "state", "turn", "user")

    def __init__(self, turn: Turn, command: ImportTasks) -> None:
        self.turn = turn
        self.state: State = turn.state
        self.command = command
        drafts = [arrival.draft for arrival in command.arrivals]
        self.intake = Intake(
            turn,
            SubmitTasks(command.user_id, drafts, ceiling=command.ceiling, sources=command.sources, known=command.known),
        )
        self.user = turn.state.users.get(command.user_id)
        self.arrivals = {arrival.draft.id: arrival for arrival in command.arrivals}
        self.fresh = {task_id: one for task_id, one in self.arrivals.items() if self.found(task_id) is None}
        """What is not here yet."""

    def found(self, task_id: str) -> Task | None:
        """A task of this id, whoever's it is."""
        return self.state.tasks.get(task_id) or self.command.known.tasks.get(task_id)

    def is_to_be(self, task_id: str) -> bool:
        """Whether one may depend on it: it is here, comes in this piece, or is promised by another one."""
        is_promised = self.command.dry_run and task_id in self.command.elsewhere
        return task_id in self.fresh or is_promised or self.intake.find(task_id) is not None


Check = Callable[[Import, Arrival], Refused | None]


def id_is_its_own(one: Import, arrival: Arrival) -> Refused | None:
    """Ids are drawn from so many that this is no accident."""
    found = one.found(arrival.draft.id)
    if one.arrivals[arrival.draft.id] is arrival and (found is None or found.user_id == one.command.user_id):
        return None
    return Refused(Refusal.INVALID_INPUT, "Another task has this id already; give it another name.", field="id")


def source_is_the_keys(one: Import, arrival: Arrival) -> Refused | None:
    return source_is_allowed(one.intake, arrival.draft)


def times_have_been(one: Import, arrival: Arrival) -> Refused | None:
    """Clocks differ; what is a little ahead is taken for now. Far ahead it would drag the ids of all others along."""
    now = one.turn.now.wall + AHEAD_MS_MAX
    for field in ("created_at", "queued_at", "scheduled_at", "started_at", "completed_at"):
        at = getattr(arrival, field)
        if at is not None and at > now:
            return Refused(Refusal.INVALID_INPUT, f"`{field}` lies ahead; set the clock right first.", field=field)
    return None


def queue_is_there(one: Import, arrival: Arrival) -> Refused | None:
    """Here already, or an admin brings it along. What has ended waits in no queue."""
    name = arrival.draft.queue
    if name is None or arrival.status in ENDED or queue_of(one.state, name) is not None:
        return None
    if name in one.command.queues and one.command.is_admin:
        return None
    return Refused(Refusal.QUEUE_NOT_FOUND, f"There is no queue {name}; an admin can set it, or import.", field="queue")


def model_is_served(one: Import, arrival: Arrival) -> Refused | None:
    return None if arrival.status in ENDED else model_is_routed(one.intake, arrival.draft)


def target_is_possible(one: Import, arrival: Arrival) -> Refused | None:
    return None if arrival.status in ENDED else target_is_not_excluded(one.intake, arrival.draft)


def dependencies_are_to_be(one: Import, arrival: Arrival) -> Refused | None:
    for task_id in arrival.draft.depends_on:
        if not one.is_to_be(task_id):
            detail = "It depends on a task that is neither here nor in this import."
            return Refused(Refusal.DEPENDENCY_NOT_FOUND, detail, field="depends_on")
    return None


def parent_is_to_be(one: Import, arrival: Arrival) -> Refused | None:
    parent_id = arrival.draft.parent_id
    if parent_id is None:
        return None
    if not one.is_to_be(parent_id):
        detail = "Its parent is neither here nor in this import."
        return Refused(Refusal.INVALID_INPUT, detail, field="parent_task_id")
    if depth_of(one, arrival) > one.state.settings.subtask_depth_max:
        return Refused(Refusal.INVALID_INPUT, "Sub-tasks are nested too deep.", field="parent_task_id")
    return None


def depth_of(one: Import, arrival: Arrival) -> int:
    """How many parents are above it, counted no further than sub-tasks may be nested."""
    depth, parent_id = 0, arrival.draft.parent_id
    while parent_id is not None and depth <= one.state.settings.subtask_depth_max:
        depth += 1
        above = one.fresh.get(parent_id)
        if above is None:
            found = one.intake.find(parent_id)
            return depth if found is None else depth + found.depth
        parent_id = above.draft.parent_id
    return depth


CHECKS: Final[tuple[Check, ...]] = (
    id_is_its_own,
    source_is_the_keys,
    times_have_been,
    queue_is_there,
    model_is_served,
    target_is_possible,
    dependencies_are_to_be,
    parent_is_to_be,
)


def take_in(turn: Turn, command: ImportTasks) -> None:
    """Take all that is not here yet, or say what is in the way."""
    one = Import(turn, command)
    there = tuple(arrival.draft.id not in one.fresh for arrival in command.arrivals)
    user, refused, queues = one.user, tuple(_refusals(one)), tuple(_queues(one))
    if command.dry_run:
        turn.effects.append(Reply(command.reply_to, Imported(there, refused, queues)))
        return
    if user is None or refused:
        turn.effects.append(Reply(command.reply_to, refused[0]))
        return
    _take_surroundings(one, user)
    # Numbers are given in the order of the piece, whichever is taken first.
    numbers = dict(zip(one.fresh, count(user.number + 1), strict=False))
    # History first: what is open then finds how its dependencies ended.
    for arrival in sorted(one.fresh.values(), key=lambda a: a.status not in ENDED):
        if arrival.status in ENDED:
            _take_history(one, arrival, numbers[arrival.draft.id])
        else:
            _take_open(one, arrival, numbers[arrival.draft.id])
    if one.fresh:
        user.number = max(numbers.values())
        told = f"{len(one.fresh)} tasks from {command.origin}"
        turn.audit(actor=command.actor, action="tasks.import", subject=user.id, new=told)
    turn.effects.append(Reply(command.reply_to, Imported(there, queues=queues)))


def _refusals(one: Import) -> Iterator[Refused]:
    """What is wrong with the piece as a whole, then with each of its tasks that are not here yet."""
    whole = _whole(one)
    if whole is not None:
        yield whole
        return
    for index, arrival in enumerate(one.command.arrivals):
        if one.arrivals[arrival.draft.id] is arrival and _is_there(one, arrival):
            continue
        refusal = next((found for check in CHECKS if (found := check(one, arrival)) is not None), None)
        if refusal is not None:
            yield msgspec.structs.replace(refusal, index=index)


def _is_there(one: Import, arrival: Arrival) -> bool:
    found = one.found(arrival.draft.id)
    return found is not None and found.user_id == one.command.user_id


def _whole(one: Import) -> Refused | None:
    command, user = one.command, one.user
    if user is None:
        return Refused(Refusal.USER_NOT_FOUND, "There is no such user.")
    graph = {i: list(a.draft.depends_on) for i, a in one.fresh.items() if a.status not in ENDED}
    if cycle := find_cycle(graph):
        names = [one.fresh[task_id].draft.name or task_id for task_id in cycle]
        detail = f"These depend on each other: {' → '.join([*names, names[0]])}."
        return Refused(Refusal.DEPENDENCY_CYCLE, detail, field="depends_on")
    more = max(command.open_left, sum(a.status not in ENDED for a in one.fresh.values()))
    limit = allowance_of(one.state, user).pending
    if limit is None or not more or user.pending + more <= limit:
        return None
    line = f"You have {user.pending} of at most {limit} pending tasks, and this import brings {more} more"
    return Refused(Refusal.TOO_MANY_PENDING, f"{line}; wait for some to start, or import fewer.")


def _take_surroundings(one: Import, user: User) -> None:
    """Queues and breakers that are missing. What is here already stays as it is."""
    turn, command = one.turn, one.command
    for name in _queues(one):
        set_queue(turn, name, command.queues[name], actor=command.actor)
    for breaker in command.breakers:
        take_up(turn, user, breaker)


def _queues(one: Import) -> list[str]:
    """Those that are missing and an admin brings."""
    names = one.command.queues if one.command.is_admin else ()
    return [name for name in names if queue_of(one.state, name) is None]


def _task_of(one: Import, arrival: Arrival, number: int) -> Task:
    """Its record, as far as it is the same for what is open and what has ended."""
    draft, command = arrival.draft, one.command
    if draft.key is not None:
        holder = holder_of(one.state, command.known, command.user_id, draft.key, one.turn.now.wall)
        if holder is not None:
            # The task that holds a key goes on holding it.
            draft.key = draft.digest = None
    task = task_of(one.intake, draft)
    task.number = number
    task.created_at = min(arrival.created_at, one.turn.now.wall)
    task.parent_id, task.depth = draft.parent_id, depth_of(one, arrival)
    if arrival.attempts:
        task.attempts = arrival.attempts
        task.series = arrival.attempts[-1].series
    task.started_at, task.scheduled_at = _past(one, arrival.started_at), _past(one, arrival.scheduled_at)
    return task


def _past(one: Import, at: int | None) -> int | None:
    return None if at is None else min(at, one.turn.now.wall)


def _take_history(one: Import, arrival: Arrival, number: int) -> None:
    state, task = one.state, _task_of(one, arrival, number)
    state.intern(task)
    task.not_before = None
    task.queued_at, task.completed_at = _past(one, arrival.queued_at), _past(one, arrival.completed_at)
    if task.completed_at is None:
        task.completed_at = task.created_at
    task.error, task.summary, task.result_status = arrival.error, arrival.summary, arrival.result_status
    task.shelved = arrival.archived
    if arrival.status is Status.SKIPPED:
        task.trouble = Trouble(skipped_reason=arrival.skipped_reason)
    elif arrival.status is Status.CANCELLED:
        keep_cancel_reason(task, arrival.cancel_reason)
    state.tasks[task.id] = task
    arrive(one.turn, task, arrival.status, arrival.draft.body, data={"origin": one.command.origin})
    if task.key is not None and keeps_key(task, one.turn.now.wall):
        state.keys[task.user_id, task.key] = task.id
    if arrival.outcome is not None:
        state.ledger.outcomes[task.id] = arrival.outcome


def _take_open(one: Import, arrival: Arrival, number: int) -> None:
    task = _task_of(one, arrival, number)
    enter(one.turn, task, arrival.draft.body)
    one.turn.record(EventName.TASK_IMPORTED, task, None, None, {"origin": one.command.origin})
