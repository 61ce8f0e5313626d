"""What daemons say about attempts: accepted, started, progress, results. The hub believes the newest attempt only.

A result finds its task in one of three ways. Live: the attempt is the task's newest and holds its slot. Reclaimed: it
was given up (lost, timed out, not taken up in time), but the task is open and nothing newer was sent out, so the
finished work is taken after all. Late: anything else; the result is kept on its attempt, the daemon may forget it,
and nothing changes.
"""

from msgspec.json import Encoder

from taskyard.core.attempts import accept as accept_attempt
from taskyard.core.attempts import cancelled, close, current, fail, is_overdue, newest_of, release, time_out
from taskyard.core.attempts import start as start_attempt
from taskyard.core.changes import LateResult, LogChunk
from taskyard.core.claims import heard
from taskyard.core.commands import BeatTask, CompleteTask, FailTask, ReportProgress, SaveCheckpoint
from taskyard.core.daemon_commands import AcceptTask, ConfirmCancel, RejectTask, StartTask
from taskyard.core.effects import Acknowledge, Done, Progressed, Refused, Reply
from taskyard.core.endings import end
from taskyard.core.estimates import note_duration
from taskyard.core.losses import hand_back, lose, not_taken_up, preempted
from taskyard.core.state import Daemon, Turn
from taskyard.core.targets import serves
from taskyard.core.task import Attempt, Failure, Task
from taskyard.vocabulary import HELD, AttemptStatus, ErrorCode, Refusal, ResultStatus, Status

_encode = Encoder().encode
# Python 3.11 looks up a member of an enum by a call. What every result passes through is named here once.
LIVE, SUCCESS, COMPLETED, FAILED = (
    AttemptStatus.RUNNING,
    AttemptStatus.SUCCESS,
    Status.COMPLETED,
    ResultStatus.FAILED,
)
# Ends that the hub or the daemon declared before the work was done, as it turns out.
_RECLAIMABLE = (
    AttemptStatus.LOST,
    AttemptStatus.TIMEOUT,
    AttemptStatus.REJECTED,
    AttemptStatus.DRAINED,
    AttemptStatus.PREEMPTED,
)
_REPORTED = (
    AttemptStatus.SUCCESS,
    AttemptStatus.FAILED,
    AttemptStatus.INCOMPLETE,
    AttemptStatus.RATE_LIMITED,
)
GAP = "\n[log cut: this attempt has said more than is kept]\n"

OVER = (
    "This attempt is over: its task has ended, was cancelled, took too long or was given to somebody else. "
    "Stop working on it."
)
NOT_STARTED = "The daemon accepted it but did not start it in time."


def accept(turn: Turn, command: AcceptTask) -> None:
    found = current(turn, command.task_id, command.attempt, command.daemon_id)
    if found is not None:
        accept_attempt(found[1])


def start(turn: Turn, command: StartTask) -> None:
    found = current(turn, command.task_id, command.attempt, command.daemon_id)
    if found is not None:
        start_attempt(turn, *found)


def reject(turn: Turn, command: RejectTask) -> None:
    stop_lingering(turn, command.daemon_id, command.task_id, command.attempt)
    found = current(turn, command.task_id, command.attempt, command.daemon_id)
    if found is None:
        return
    if command.drained:
        hand_back(turn, *found)
    else:
        not_taken_up(turn, *found, f"The daemon rejected it: {command.reason}", tell_daemon=False)


def complete(turn: Turn, command: CompleteTask) -> None:
    stop_lingering(turn, command.daemon_id, command.task_id, command.attempt)
    task = turn.state.tasks.get(command.task_id)
    attempt = newest_of(task, command.attempt, command.daemon_id)
    if task is not None and attempt is not None and _is_live(task, attempt):
        _complete_live(turn, command, task, attempt)
        answer_outcome(turn, command, Done(task.id))
    elif task is not None and attempt is not None and _is_reclaimable(turn, task, attempt) and _is_good(command, task):
        _reclaim(turn, command, task, attempt)
        answer_outcome(turn, command, Done(task.id))
    else:
        keep_late(turn, command, command.outcome or b"{}")


def fail_task(turn: Turn, command: FailTask) -> None:
    stop_lingering(turn, command.daemon_id, command.task_id, command.attempt)
    found = current(turn, command.task_id, command.attempt, command.daemon_id)
    said = b'{"error":' + _encode(command.error) + b"}"
    if found is None:
        keep_late(turn, command, said)
        return
    task, attempt = found
    if task.cancel_requested_at is not None or attempt.yields_to is not None:
        _stop(turn, task, attempt, said)
    else:
        fail(turn, task, attempt, command.error, said_ms=command.retry_after_ms, usage=command.usage)
    answer_outcome(turn, command, Done(task.id))


def confirm_cancel(turn: Turn, command: ConfirmCancel) -> None:
    """The daemon stopped it: as asked, or on its own account, which loses it."""
    stop_lingering(turn, command.daemon_id, command.task_id, command.attempt)
    found = current(turn, command.task_id, command.attempt, command.daemon_id)
    if found is not None:
        task, attempt = found
        if task.cancel_requested_at is not None:
            cancelled(turn, task, attempt)
        elif attempt.yields_to is not None:
            preempted(turn, task, attempt)
        elif is_overdue(turn, task, attempt) and attempt.started_at is not None:
            time_out(turn, task, attempt, has_stopped=True)
        elif is_overdue(turn, task, attempt):
            not_taken_up(turn, task, attempt, NOT_STARTED, tell_daemon=False)
        else:
            message = f"The daemon stopped it by itself: {command.reason or 'no reason given'}"
            lose(turn, task, attempt, ErrorCode.DAEMON_DISCONNECTED, message)
    turn.effects.append(Acknowledge(command.session, command.task_id, command.attempt))


def progress(turn: Turn, command: ReportProgress) -> None:
    found = current(turn, command.task_id, command.attempt, command.daemon_id)
    if found is None or (command.daemon_id is None and not heard(turn, *found)):
        refuse_stale(turn, command.reply_to)
        return
    task, attempt = found
    log = _keep_log(turn, task, attempt, command.log) if command.log else None
    turn.effects.append(
        Progressed(task.id, task.user_id, task.number, attempt.number, command.percent, command.message, log)
    )
    _reply(turn, command.reply_to, task)


def checkpoint(turn: Turn, command: SaveCheckpoint) -> None:
    found = current(turn, command.task_id, command.attempt, command.daemon_id)
    if found is None or (command.daemon_id is None and not heard(turn, *found)):
        refuse_stale(turn, command.reply_to)
        return
    task = found[0]
    turn.state.ledger.touch(task)
    task.checkpoint = True
    turn.state.ledger.checkpoints[task.id] = command.data
    _reply(turn, command.reply_to, task)


def beat_task(turn: Turn, command: BeatTask) -> None:
    found = current(turn, command.task_id, command.attempt, None)
    if found is None or not heard(turn, *found):
        refuse_stale(turn, command.reply_to)
    else:
        _reply(turn, command.reply_to, found[0])


def keep_late(turn: Turn, command: CompleteTask | FailTask, body: bytes) -> None:
    """Nobody waits for this result any more: keep it on its attempt, unless it is one we have.

    One that says the opposite of what its attempt said first is another: to call that known would throw it away.
    """
    task = turn.state.tasks.get(command.task_id) or command.known.tasks.get(command.task_id)
    attempt = next((a for a in (task.attempts if task else None) or () if a.number == command.attempt), None)
    if attempt is None or command.daemon_id not in (None, attempt.daemon_id):
        answer_outcome(turn, command, Refused(Refusal.STALE_ATTEMPT, "There is no such attempt."))
    elif task is not None and was_reported(attempt) and _is_good(command, task) is (attempt.status is SUCCESS):
        answer_outcome(turn, command, Done(command.task_id))
    else:
        turn.state.ledger.late.append(LateResult(command.task_id, command.attempt, turn.now.wall, body))
        detail = "This attempt is no longer the task's current one; what it reports is kept as late."
        answer_outcome(turn, command, Refused(Refusal.STALE_ATTEMPT, detail, kept=True))


def answer_outcome(turn: Turn, command: CompleteTask | FailTask, answer: Done | Refused) -> None:
    """Either way the daemon may forget it; a person's call gets the answer."""
    if command.session:
        turn.effects.append(Acknowledge(command.session, command.task_id, command.attempt))
    if command.reply_to:
        turn.effects.append(Reply(command.reply_to, answer))


def refuse_stale(turn: Turn, reply_to: int) -> None:
    if reply_to:
        turn.effects.append(Reply(reply_to, Refused(Refusal.STALE_ATTEMPT, OVER)))


def stop_lingering(turn: Turn, daemon_id: str | None, task_id: str, attempt: int) -> None:
    """The daemon spoke of an attempt the hub had given up: its slot is free now."""
    daemon: Daemon | None = turn.state.daemons.get(daemon_id or "")
    if daemon is not None and (task_id, attempt) in daemon.lingering:
        del daemon.lingering[task_id, attempt]
        turn.state.yard.wake_daemon(daemon)


def was_reported(attempt: Attempt) -> bool:
    """Its daemon's own word on how it ended is on disk."""
    return attempt.status in _REPORTED


def _is_live(task: Task, attempt: Attempt) -> bool:
    return attempt.status is LIVE and task.status in HELD


def _is_reclaimable(turn: Turn, task: Task, attempt: Attempt) -> bool:
    # The id of a daemon that was forgotten may be another user's by now.
    daemon = turn.state.daemons.get(attempt.daemon_id)
    is_theirs = daemon is None or serves(daemon, task.user_id)
    return is_theirs and attempt.status in _RECLAIMABLE and task.status in (Status.QUEUED, Status.PENDING)


def _is_good(command: CompleteTask | FailTask, task: Task) -> bool:
    if isinstance(command, FailTask):
        return False
    return command.result_status is not FAILED and (command.has_report or not task.terms.decision_report)


def _complete_live(turn: Turn, command: CompleteTask, task: Task, attempt: Attempt) -> None:
    if task.cancel_requested_at is not None or (attempt.yields_to is not None and not _is_good(command, task)):
        _stop(turn, task, attempt, command.outcome or b"{}")
    elif command.result_status is FAILED:
        message = command.summary or "The agent reported that it failed."
        fail(turn, task, attempt, Failure(ErrorCode.AGENT_REPORTED_FAILURE, message), usage=command.usage)
    elif not _is_good(command, task):
        message = "It was completed without the decision report that is required; add one."
        fail(turn, task, attempt, Failure(ErrorCode.DECISION_REPORT_MISSING, message), usage=command.usage)
    else:
        start_attempt(turn, task, attempt)
        close(turn, attempt, SUCCESS, usage=command.usage)
        took_ms = turn.now.mono - turn.state.begun[task.id]
        note_duration(turn.state.users[task.user_id], task.kind.needs.type, took_ms)
        release(turn, task)
        _finish(turn, command, task)


def _stop(turn: Turn, task: Task, attempt: Attempt, said: bytes) -> None:
    """It was told to stop, and did: what it says in parting is kept as late."""
    turn.state.ledger.late.append(LateResult(task.id, attempt.number, turn.now.wall, said))
    if task.cancel_requested_at is not None:
        cancelled(turn, task, attempt)
    else:
        preempted(turn, task, attempt)


def _reclaim(turn: Turn, command: CompleteTask, task: Task, attempt: Attempt) -> None:
    """Finished work is not thrown away: it was only given up, and nobody else was asked."""
    if task.status is Status.QUEUED:
        turn.state.yard.leave(turn.state.users[task.user_id], task)
    turn.state.ledger.touch(task)
    attempt.status, attempt.ended_at, attempt.error = AttemptStatus.SUCCESS, turn.now.wall, None
    attempt.usage = command.usage
    _finish(turn, command, task)


def _finish(turn: Turn, command: CompleteTask, task: Task) -> None:
    task.error = None
    task.summary, task.result_status = command.summary, command.result_status
    if command.outcome is not None:
        turn.state.ledger.outcomes[task.id] = command.outcome
    end(turn, task, COMPLETED)


def _keep_log(turn: Turn, task: Task, attempt: Attempt, text: str) -> str | None:
    """Append to the attempt's log, up to its limit; the cut is marked once."""
    state, name = turn.state, (task.id, attempt.number)
    kept, most = state.log_bytes.get(name, 0), state.settings.limits.size.log
    if kept > most:
        return None
    kept += len(text.encode())
    if kept > most:
        text = GAP
    state.log_bytes[name] = kept
    state.ledger.logs.append(LogChunk(task.id, attempt.number, turn.now.wall, text))
    return text


def _reply(turn: Turn, reply_to: int, task: Task) -> None:
    if reply_to:
        turn.effects.append(Reply(reply_to, Done(task.id)))
