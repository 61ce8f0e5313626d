"""Ending a task on purpose: cancel, and skip.

A task that no daemon holds ends at once, and what depends on it with it. One that is held is asked to stop: the
request is kept, the answer comes at once, and slot and limits stay taken until its daemon confirms or its lease
ends. Only then is it `cancelled`: before that, a process of it may still be alive.
"""

from taskyard.core.attempts import withdraw
from taskyard.core.commands import CancelTask, Known, SkipTask
from taskyard.core.dependencies import heirs_of
from taskyard.core.effects import Done, Refused, Reply
from taskyard.core.endings import end, keep_cancel_reason
from taskyard.core.lifecycle import TRANSITIONS, possible
from taskyard.core.state import Turn
from taskyard.core.task import Task, Trouble
from taskyard.vocabulary import HELD, CancelReason, EventName, Refusal, Status


def find_own(turn: Turn, user_id: str, task_id: str, known: Known) -> Task | None:
    """The user's task, open or ended; another's looks like none."""
    task = turn.state.tasks.get(task_id) or known.tasks.get(task_id)
    return task if task is not None and task.user_id == user_id else None


def not_found(task_id: str) -> Refused:
    return Refused(Refusal.TASK_NOT_FOUND, f"There is no task {task_id} of yours.")


def not_possible(task: Task, wanted: str) -> Refused:
    if task.status is Status.COMPLETED:
        return Refused(Refusal.TASK_ALREADY_COMPLETED, f"{task.ref} has completed; it cannot be {wanted}.")
    if task.status == wanted:
        detail = f"{task.ref} is {wanted} already."
    elif not TRANSITIONS[task.status]:
        detail = f"{task.ref} is {task.status} and cannot be {wanted}: it has ended."
    else:
        can = possible(task.status)
        detail = f"{task.ref} is {task.status} and cannot be {wanted}; from there it can become: {can}."
    return Refused(Refusal.INVALID_TRANSITION, detail)


def objection_to(task: Task, goal: Status) -> Refused | None:
    """Why a person cannot bring it there from where it stands."""
    return None if goal in TRANSITIONS[task.status] else not_possible(task, goal)


def cancel(turn: Turn, command: CancelTask) -> None:
    task = find_own(turn, command.user_id, command.task_id, command.known)
    if task is None:
        turn.effects.append(Reply(command.reply_to, not_found(command.task_id)))
        return
    objection = objection_to(task, Status.CANCELLED)
    if objection is not None:
        turn.effects.append(Reply(command.reply_to, objection))
        return
    also = tuple(heirs_of(turn.state, task.id))
    call_off(turn, task, command.reason)
    turn.effects.append(Reply(command.reply_to, Done(task.id, also)))


def call_off(turn: Turn, task: Task, reason: str | None) -> None:
    """A task that can be cancelled is, or is asked to stop."""
    if task.cancel_requested_at is None:
        keep_cancel_reason(task, reason)
    if task.status in HELD:
        _ask_to_stop(turn, task, reason)
    else:
        leave_lane(turn, task)
        turn.state.tasks[task.id] = task
        end(turn, task, Status.CANCELLED, data={"reason": reason} if reason else None)


def _ask_to_stop(turn: Turn, task: Task, reason: str | None) -> None:
    if task.cancel_requested_at is not None:
        return
    attempt = task.newest
    assert attempt is not None, "I2: a held task has an attempt"
    task.cancel_requested_at = turn.now.wall
    turn.tell(EventName.TASK_CANCELLING, task, data={"reason": reason} if reason else None)
    withdraw(turn, task, attempt, CancelReason.CANCELLED)


def skip(turn: Turn, command: SkipTask) -> None:
    """Leave a task out; what depends on it follows its own policy."""
    task = find_own(turn, command.user_id, command.task_id, command.known)
    if task is None:
        turn.effects.append(Reply(command.reply_to, not_found(command.task_id)))
        return
    objection = objection_to(task, Status.SKIPPED)
    if objection is not None:
        turn.effects.append(Reply(command.reply_to, objection))
        return
    leave_lane(turn, task)
    trouble = task.trouble = task.trouble or Trouble()
    trouble.blocked_reason = None
    trouble.skipped_reason = command.reason or "skipped by its owner"
    end(turn, task, Status.SKIPPED)
    turn.effects.append(Reply(command.reply_to, Done(task.id)))


def leave_lane(turn: Turn, task: Task) -> None:
    if task.status is Status.QUEUED:
        turn.state.yard.leave(turn.state.users[task.user_id], task)
