"""Attempts that end without their daemon saying how: lost, never taken up, or handed back.

None of these is a failure of the task: they count against no limit of attempts. Losing is always somebody's
observation: a lease that ran out, an inventory that does not list the attempt, a process that is a new one. A
closed socket is none of these.
"""

from taskyard.core.attempts import cancelled, close, give_up, release, withdraw
from taskyard.core.endings import end
from taskyard.core.readiness import enqueue, name_of
from taskyard.core.state import Turn
from taskyard.core.suspects import avoid_lost, avoid_unstarted, note_death, note_doubt
from taskyard.core.task import Attempt, Failure, Task, Trouble
from taskyard.vocabulary import AttemptStatus, CancelReason, ErrorCode, EventName, LostPolicy, Status


def lose(turn: Turn, task: Task, attempt: Attempt, code: ErrorCode, message: str) -> None:
    """The attempt is gone; the task is tried again at once, unless its owner wanted otherwise."""
    if _was_going(task, attempt, code):
        preempted(turn, task, attempt)
        return
    was_begun = attempt.accepted or attempt.started_at is not None
    error = Failure(code, message)
    close(turn, attempt, AttemptStatus.LOST, error)
    release(turn, task)
    if task.cancel_requested_at is not None:
        end(turn, task, Status.CANCELLED)
        return
    if task.terms.on_lost is LostPolicy.FAIL:
        give_up(turn, task, error)
        return
    if code is ErrorCode.DAEMON_CRASHED and not _died_under_it(task, attempt):
        # Either nobody had begun it, or it killed its daemon before that could say so. The first must cost it
        # nothing, and the second must end: it is offered less and less often, and not for ever.
        note_doubt(task)
        if _is_never_taken_up(turn, task, attempt, message):
            return
    elif code is ErrorCode.DAEMON_CRASHED and note_death(turn, task):
        give_up(
            turn,
            task,
            Failure(ErrorCode.POISON_TASK, "Every daemon that ran it died, the last one running it alone."),
        )
        return
    elif was_begun:
        avoid_lost(turn, task, attempt.daemon_id)
    enqueue(turn, task, event=EventName.TASK_LOST, data={"code": code, "daemon_id": attempt.daemon_id})


def _died_under_it(task: Task, attempt: Attempt) -> bool:
    """Work that had not begun did not kill its daemon; but a suspect that was taken up was there alone."""
    is_suspect = task.trouble is not None and task.trouble.suspect
    return attempt.started_at is not None or (attempt.accepted and is_suspect)


def _was_going(task: Task, attempt: Attempt, code: ErrorCode) -> bool:
    """It was told to make room, and nothing says that it did not: only its daemon did not come to confirm it."""
    is_told = attempt.yields_to is not None and task.cancel_requested_at is None
    return is_told and code is not ErrorCode.DAEMON_CRASHED and task.terms.on_lost is not LostPolicy.FAIL


def preempted(turn: Turn, task: Task, attempt: Attempt) -> None:
    """It made room for a critical task, as it was told: back to the front of its queue, and no attempt is used up."""
    assert attempt.yields_to is not None, "I4: only who was told makes room"
    by = name_of(turn, attempt.yields_to)
    close(turn, attempt, AttemptStatus.PREEMPTED)
    release(turn, task)
    trouble = task.trouble = task.trouble or Trouble()
    trouble.preemptions += 1
    trouble.preempted_by = by
    enqueue(turn, task, event=EventName.TASK_PREEMPTED, data={"by": by, "daemon_id": attempt.daemon_id})


def not_taken_up(turn: Turn, task: Task, attempt: Attempt, message: str, *, tell_daemon: bool) -> None:
    """Rejected, not accepted in time, or not started in time: back to the queue, away from that daemon for a while."""
    if task.cancel_requested_at is not None:
        cancelled(turn, task, attempt)
        return
    error = Failure(ErrorCode.NOT_STARTED, message)
    if tell_daemon:
        withdraw(turn, task, attempt, CancelReason.WITHDRAWN)
    close(turn, attempt, AttemptStatus.REJECTED, error)
    release(turn, task, lingers=tell_daemon)
    if not _is_never_taken_up(turn, task, attempt, message):
        enqueue(turn, task, event=EventName.TASK_REJECTED, data={"reason": message, "daemon_id": attempt.daemon_id})


def _is_never_taken_up(turn: Turn, task: Task, attempt: Attempt, message: str) -> bool:
    """One more offer in a row came to nothing: away from that daemon for a while, or a dead letter by now."""
    trouble = task.trouble = task.trouble or Trouble()
    trouble.unstarted += 1
    tries = trouble.unstarted
    if tries < turn.state.settings.suspects.unstarted_max:
        avoid_unstarted(turn, task, attempt.daemon_id)
        return False
    told = f"No daemon took it up in {tries} offers; the last: {message}"
    give_up(turn, task, Failure(ErrorCode.NOT_STARTED, told))
    return True


def hand_back(turn: Turn, task: Task, attempt: Attempt) -> None:
    """A daemon that leaves gives back what it will not finish: no attempt is used up."""
    if task.cancel_requested_at is not None:
        cancelled(turn, task, attempt)
        return
    close(turn, attempt, AttemptStatus.DRAINED)
    release(turn, task)
    enqueue(turn, task, data={"because": "drained", "daemon_id": attempt.daemon_id})
