"""What a returning daemon shall do with each attempt on its list: go on, stop, send the result, or forget it.

The list tells what is so, and the hub decides what of it still counts. What the hub gave up unheard is taken back while
nothing newer was sent out: the work is there, and beginning it anew would do it twice.
"""

from taskyard.core.attempts import accept, newest_of, start, take_slot, time_allowed_ms, watch_attempt
from taskyard.core.daemon_commands import Held
from taskyard.core.in_place import keep_place
from taskyard.core.lifecycle import move
from taskyard.core.outcomes import was_reported
from taskyard.core.state import Daemon, Turn
from taskyard.core.targets import serves
from taskyard.core.task import Attempt, Task, ms_of
from taskyard.vocabulary import AttemptStatus, InventoryState, InventoryVerdict, Status

ADOPTABLE = (AttemptStatus.LOST, AttemptStatus.REJECTED)
# Ends the hub declared without the daemon: it may turn out to be at work all the same.


def judge(turn: Turn, daemon: Daemon, held: Held) -> InventoryVerdict:
    """What a returning daemon shall do with an attempt it lists."""
    task = turn.state.tasks.get(held.task_id)
    if held.state is InventoryState.ENDED:
        return _judge_ended(turn, daemon, task, held.attempt)
    attempt = newest_of(task, held.attempt, daemon.id)
    if task is not None and attempt is not None and _goes_on(turn, daemon, task, attempt):
        if held.state is InventoryState.RUNNING or attempt.started_at is not None:
            # What has begun once does not unbegin, whatever the list says.
            start(turn, task, attempt)
        return InventoryVerdict.CONTINUE
    if attempt is None or attempt.status is not AttemptStatus.RUNNING:
        daemon.lingering[held.task_id, held.attempt] = None
    return InventoryVerdict.ABORT


def _judge_ended(turn: Turn, daemon: Daemon, task: Task | None, number: int) -> InventoryVerdict:
    """Its result is on the way: until it is here, nobody is to begin anew what is already done."""
    attempts = (task.attempts if task is not None else None) or ()
    known = next((attempt for attempt in attempts if attempt.number == number), None)
    if known is not None and was_reported(known):
        return InventoryVerdict.FORGET
    attempt = newest_of(task, number, daemon.id)
    if task is not None and attempt is not None and attempt.status is AttemptStatus.RUNNING:
        # It may have ended in time, while its daemon was away: it is not called too slow before its result can be here.
        watch_attempt(turn, task, not_before=turn.now.mono + ms_of(turn.state.settings.lease.accept_s))
    is_awaited = attempt is not None and _has_time(turn, daemon, attempt)
    if task is not None and attempt is not None and is_awaited and _goes_on(turn, daemon, task, attempt):
        start(turn, task, attempt)
    return InventoryVerdict.SEND_RESULT


def _has_time(turn: Turn, daemon: Daemon, attempt: Attempt) -> bool:
    """Room to hold it until its result comes, and it would not be called too slow before that."""
    began_at = turn.now.wall if attempt.started_at is None else attempt.started_at
    is_late = turn.now.wall - began_at >= time_allowed_ms(turn, attempt)
    return attempt.status in ADOPTABLE and not is_late and daemon.occupied < daemon.record.slots


def _goes_on(turn: Turn, daemon: Daemon, task: Task, attempt: Attempt) -> bool:
    """It is still the one, or was only given up unheard and nothing newer was sent out: then it is taken back."""
    if task.cancel_requested_at is not None:
        return False
    if attempt.status is AttemptStatus.RUNNING:
        return True
    exclusive = task.terms.exclusive
    is_free = exclusive is None or (task.user_id, exclusive) not in turn.state.exclusive
    if attempt.status not in ADOPTABLE or task.status is not Status.QUEUED or not is_free:
        return False
    if not serves(daemon, task.user_id):
        # Another user's daemon, which took the id of one that was forgotten.
        return False
    turn.state.yard.leave(turn.state.users[task.user_id], task)
    attempt.status, attempt.ended_at, attempt.error = AttemptStatus.RUNNING, None, None
    attempt.yields_to = None
    # Its owner may have begun a new series meanwhile: this is its first try.
    attempt.series = task.series
    move(turn, task, Status.SCHEDULED, data={"adopted": True})
    keep_place(turn.state, task, attempt)
    take_slot(turn, task, daemon)
    hold_on(turn, task, attempt, daemon.record.boot_id)
    return True


def hold_on(turn: Turn, task: Task, attempt: Attempt, boot_id: str) -> None:
    """The daemon has it: what it has not begun, it gets a new while to begin."""
    accept(attempt)
    if attempt.boot_id != boot_id:
        turn.state.ledger.touch(task)
        attempt.boot_id = boot_id
    if attempt.started_at is None:
        turn.state.begun[task.id] = turn.now.mono
    watch_attempt(turn, task)
