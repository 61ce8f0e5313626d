"""Bringing a task back, and changing one that has not started: what a person may do besides ending it.

A retry starts a new series of attempts and keeps the old ones. A verdict on a dead letter is kept with who gave it
and why.
"""

from typing import assert_never

from taskyard.core import occurrences
from taskyard.core.cancel import find_own, leave_lane, not_found, not_possible
from taskyard.core.changes import Data
from taskyard.core.commands import ChangeTask, RetryTask, ReviewTask
from taskyard.core.dependencies import heirs_of, outcome_of, reopen
from taskyard.core.effects import Done, Refused, Reply
from taskyard.core.endings import end, holder_of, keep_cancel_reason
from taskyard.core.priority import VALUE_OF, inherit, lower_of, set_level, watch_deadline
from taskyard.core.readiness import hold_until, settle, watch_clock
from taskyard.core.state import Turn
from taskyard.core.task import Reviewed, Task, Trouble
from taskyard.core.timers import Clock, Due
from taskyard.core.told import Keep
from taskyard.vocabulary import EventName, Refusal, Status, Verdict

RETRIED = (Status.PERMANENTLY_FAILED, Status.SKIPPED)
"""How a task ended that can be tried again."""
CHANGEABLE = (Status.PENDING, Status.WAITING, Status.BLOCKED, Status.QUEUED)


def retry(turn: Turn, command: RetryTask) -> None:
    """A person wants it tried (again, or now)."""
    task = find_own(turn, command.user_id, command.task_id, command.known)
    refusal = not_found(command.task_id) if task is None else _objection(turn, command, task)
    if task is None or refusal is not None:
        turn.effects.append(Reply(command.reply_to, refusal or not_found(command.task_id)))
        return
    if task.status is Status.PENDING:
        task.series += 1
        task.not_before = None
        settle(turn, task, event=EventName.TASK_RETRYING)
    else:
        revive(turn, command, task, at=None)
    turn.effects.append(Reply(command.reply_to, Done(task.id)))


def objection_to_retry(task: Task) -> Refused | None:
    """Why it cannot be retried from where it stands."""
    is_waiting_to_retry = task.status is Status.PENDING and task.attempts is not None
    if task.status in RETRIED or is_waiting_to_retry:
        return None
    return not_possible(task, "retried")


def objection_to_change(task: Task) -> Refused | None:
    """Why it cannot be changed from where it stands."""
    return None if task.status in CHANGEABLE else not_possible(task, "changed")


def _objection(turn: Turn, command: RetryTask | ReviewTask, task: Task) -> Refused | None:
    refusal = objection_to_retry(task)
    if refusal is not None or task.key is None:
        return refusal
    holder = holder_of(turn.state, command.known, task.user_id, task.key, turn.now.wall)
    if holder is None or holder.id == task.id:
        return None
    return Refused(Refusal.IDEMPOTENCY_KEY_TAKEN, f"Another task has taken its idempotency key {task.key} meanwhile.")


def revive(turn: Turn, command: RetryTask | ReviewTask, task: Task, *, at: int | None) -> None:
    """An ended task is open again, with a new series of attempts; from `at` on, if given."""
    state = turn.state
    state.ledger.touch(task)
    state.intern(task)
    state.tasks[task.id] = task
    if task.key is not None:
        state.keys[task.user_id, task.key] = task.id
    if task.status is Status.SKIPPED:
        _look_again(turn, command, task)
    task.series += 1
    task.error = task.not_before = task.cancel_requested_at = None
    task.shelved = False
    if task.deadline is not None and task.deadline <= turn.now.wall:
        task.deadline = None
    if task.trouble is not None:
        kept = task.trouble
        task.trouble = Trouble(
            preemptions=kept.preemptions, notes=kept.notes, told_sla=kept.told_sla, review=kept.review
        )
    reopen(turn, task)
    if task.schedule_id is not None:
        occurrences.reopen(turn, task, task.schedule_id)
    watch_clock(turn, task)
    if at is not None:
        hold_until(turn, task, at)
    else:
        settle(turn, task, event=EventName.TASK_RETRYING)
    inherit(turn, task)


def _look_again(turn: Turn, command: RetryTask | ReviewTask, task: Task) -> None:
    """While it was out, it did not hear what became of its dependencies."""
    for dependency in task.depends or ():
        found = turn.state.tasks.get(dependency.id) or command.known.tasks.get(dependency.id)
        if found is not None:
            dependency.outcome, dependency.at = outcome_of(found), turn.now.wall


def review(turn: Turn, command: ReviewTask) -> None:
    """A person's verdict on a dead letter."""
    task = find_own(turn, command.user_id, command.task_id, command.known)
    if task is None:
        turn.effects.append(Reply(command.reply_to, not_found(command.task_id)))
        return
    if task.status is not Status.PERMANENTLY_FAILED:
        turn.effects.append(Reply(command.reply_to, not_possible(task, "reviewed: it is no dead letter")))
        return
    refusal = _objection(turn, command, task) if command.verdict in (Verdict.RETRY, Verdict.WAIT) else None
    if refusal is not None:
        turn.effects.append(Reply(command.reply_to, refusal))
        return
    turn.state.tasks[task.id] = task
    turn.state.ledger.touch(task)
    _keep(turn, task, command)
    also: tuple[str, ...] = ()
    said: Data = {"verdict": command.verdict, "reason": command.reason, "by": command.actor}
    turn.tell(EventName.TASK_REVIEWED, task, data=said | ({"to": command.to} if command.to else {}))
    match command.verdict:
        case Verdict.RETRY:
            revive(turn, command, task, at=None)
        case Verdict.WAIT:
            revive(turn, command, task, at=command.until)
        case Verdict.DISCARD:
            also = tuple(heirs_of(turn.state, task.id))
            keep_cancel_reason(task, command.reason)
            end(turn, task, Status.CANCELLED, data={"reason": command.reason})
        case Verdict.ESCALATE:
            pass  # it is said, and the dead letter waits on
        case _:
            assert_never(command.verdict)
    turn.audit(
        actor=command.actor,
        action=f"dead_letter.{command.verdict}",
        subject=task.id,
        old=Status.PERMANENTLY_FAILED,
        new=f"to {command.to}: {command.reason}" if command.to else command.reason,
        until=command.until if command.verdict is Verdict.WAIT else None,
        to=command.to if command.verdict is Verdict.ESCALATE else None,
    )
    turn.effects.append(Reply(command.reply_to, Done(task.id, also)))


def _keep(turn: Turn, task: Task, command: ReviewTask) -> None:
    trouble = task.trouble = task.trouble or Trouble()
    trouble.review = Reviewed(
        command.verdict,
        command.reason,
        command.actor,
        turn.now.wall,
        until=command.until if command.verdict is Verdict.WAIT else None,
        to=command.to if command.verdict is Verdict.ESCALATE else None,
    )


def change(turn: Turn, command: ChangeTask) -> None:
    """Another priority, deadline or time for a task that has not started."""
    task = find_own(turn, command.user_id, command.task_id, command.known)
    refusal = not_found(command.task_id) if task is None else objection_to_change(task)
    if isinstance(command.deadline, int) and command.deadline <= turn.now.wall:
        refusal = refusal or Refused(Refusal.INVALID_INPUT, "The deadline has passed already.", field="deadline")
    if task is None or refusal is not None:
        turn.effects.append(Reply(command.reply_to, refusal or not_found(command.task_id)))
        return
    turn.tell(EventName.TASK_CHANGED, task)
    _change_level(turn, command, task)
    if not isinstance(command.deadline, Keep):
        task.deadline = command.deadline
        turn.state.timers.cancel(Clock.WALL, Due.DEADLINE, task.id)
        turn.state.timers.cancel(Clock.WALL, Due.ESCALATION, task.id)
        watch_clock(turn, task)
    if task.status is Status.QUEUED:
        watch_deadline(turn, task)
    if not isinstance(command.scheduled_for, Keep):
        _change_time(turn, task, command.scheduled_for)
    turn.effects.append(Reply(command.reply_to, Done(task.id)))


def _change_level(turn: Turn, command: ChangeTask, task: Task) -> None:
    if isinstance(command.level, Keep):
        return
    level = lower_of(lower_of(command.level, command.ceiling), task.ceiling)
    value = command.value if command.value is not None and level is command.level else VALUE_OF[level]
    set_level(turn, task, level, value)
    task.asked = None
    inherit(turn, task)


def _change_time(turn: Turn, task: Task, at: int | None) -> None:
    """A task that waits for a dependency remembers it; a ready one goes back to pending."""
    is_ahead = at is not None and at > turn.now.wall
    task.not_before = at if is_ahead else None
    if task.status is Status.QUEUED and at is not None and is_ahead:
        leave_lane(turn, task)
        hold_until(turn, task, at)
    elif task.status is Status.PENDING:
        watch_clock(turn, task)
        settle(turn, task)
