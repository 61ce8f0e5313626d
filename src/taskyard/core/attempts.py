"""Attempts: who may work on a task, and whose word about it counts.

An attempt is granted to one daemon, confirmed by it (accepted, started), and ends once. The hub never learns that a
daemon has died, only that it was silent too long or came back without what it held; so every attempt has a number,
and only the newest number's word counts. A result is taken from the newest attempt while the task is open, also
when that attempt was already called lost or timed out but nothing newer was sent out. Every other result is
acknowledged, kept as late, and changes nothing.

A slot is held from the grant until the attempt's end; for an attempt the hub gave up while its daemon may still work
on it, until the daemon says it stopped (`Daemon.lingering`). `release` is the only place a slot is given back.

Rule: no other module compares attempt numbers. If you need to, you want `current` or `newest_of`.
"""

from taskyard.core.aftermath import ended, granted, started
from taskyard.core.cooling import cool_down
from taskyard.core.counts import count, leave_place, take_place, wake_room
from taskyard.core.effects import CancelWork, Execute
from taskyard.core.endings import end
from taskyard.core.fairness import take_stock
from taskyard.core.lanes import Lane
from taskyard.core.lifecycle import move
from taskyard.core.plans import allowance_of
from taskyard.core.readiness import enqueue, hold_until
from taskyard.core.retry import END_OF, classify, decide, timeout_ms
from taskyard.core.state import Daemon, Turn
from taskyard.core.suspects import let_go
from taskyard.core.task import Attempt, Failure, Note, Task, Trouble, Usage, ms_of
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import (
    HELD,
    AttemptStatus,
    CancelReason,
    Category,
    ErrorCode,
    EventName,
    Level,
    Status,
)

# Python 3.11 looks up a member of an enum by a call. What every attempt passes through is named here once.
SCHEDULED, RUNNING, LIVE = Status.SCHEDULED, Status.RUNNING, AttemptStatus.RUNNING
MONO, ATTEMPT = Clock.MONO, Due.ATTEMPT


def grant(
    turn: Turn,
    lane: Lane,
    task: Task,
    daemon: Daemon,
    *,
    level: Level,
    in_place: str | None = None,
    beyond: bool = False,
) -> None:
    """Give a lane's task to the daemon: its next attempt, a slot, and a clock for the daemon's answer.

    `in_place`: of this waiting parent; `beyond`: beside it, and no slot is taken.
    """
    state, now = turn.state, turn.now
    before = task.newest
    number, record = before.number + 1 if before else 1, daemon.record
    # By place, and one by one: naming so many fields at once takes a record twice as long to make.
    attempt = Attempt(number, daemon.id, record.name, record.boot_id, now.wall, task.series)
    attempt.timeout_ms = timeout_ms(task, allowance_of(state, lane.user).duration_ms)
    attempt.level = level
    if in_place is not None:
        attempt.in_place, attempt.beyond = in_place, beyond
    state.yard.shorten(lane)
    task.attempts = [*(task.attempts or ()), attempt]
    if task.trouble is not None:
        task.trouble.waiting_for_daemon = None
    move(turn, task, SCHEDULED)
    assert task.id not in daemon.holding, "I2: a task is held by one daemon at most"
    take_slot(turn, task, daemon)
    granted(turn, task, attempt, daemon)
    state.grants += 1
    daemon.used = state.grants
    take_stock(lane.user, served=state.grants)
    state.timers.set(MONO, ATTEMPT, task.id, now.mono + ms_of(state.settings.lease.accept_s))
    turn.effects.append(Execute(daemon.session, daemon.id, task.id, attempt.number, attempt.timeout_ms))


def take_slot(turn: Turn, task: Task, daemon: Daemon) -> None:
    """The live attempt is counted everywhere it counts."""
    state = turn.state
    attempt = task.newest
    assert attempt is not None, "I2: a held task has an attempt"
    daemon.holding[task.id] = task
    user = state.users[task.user_id]
    user.live[task.id] = task
    take_stock(user)
    count(state, task, attempt, daemon, 1)
    take_place(state, task, attempt, daemon)
    began_at = turn.now.wall if attempt.started_at is None else attempt.started_at
    state.begun[task.id] = turn.now.mono - max(turn.now.wall - began_at, 0)
    if task.terms.exclusive is not None:
        state.exclusive[task.user_id, task.terms.exclusive] = task.id
    if task.kind.needs.cpu_intensive:
        daemon.cpu_intensive += 1
    if task.trouble is not None and task.trouble.suspect:
        let_go(turn, task)
        daemon.alone = task.id


def release(turn: Turn, task: Task, *, lingers: bool = False) -> None:
    """Give the slot back, once. `lingers`: the daemon may still be at work, so its own slot stays taken."""
    state = turn.state
    attempt = task.newest
    assert attempt is not None, "I2: a held task has an attempt"
    daemon, user = state.daemons[attempt.daemon_id], state.users[task.user_id]
    del daemon.holding[task.id], user.live[task.id]
    take_stock(user)
    count(state, task, attempt, daemon, -1)
    if state.standing:
        leave_place(state, task, attempt, daemon)
    state.waits.pop(task.id, None)
    ended(turn, task, attempt, daemon)
    del state.begun[task.id]
    wake_room(state, task, daemon)
    state.timers.cancel(MONO, ATTEMPT, task.id)
    if task.terms.exclusive is not None:
        del state.exclusive[user.id, task.terms.exclusive]
    if task.kind.needs.cpu_intensive:
        daemon.cpu_intensive -= 1
    if daemon.alone == task.id:
        daemon.alone = None
    if lingers and daemon.session:
        daemon.lingering[task.id, attempt.number] = None
    if state.log_bytes:
        state.log_bytes.pop((task.id, attempt.number), None)
    state.yard.refresh(user)
    state.yard.wake_daemon(daemon)


def current(turn: Turn, task_id: str, number: int, daemon_id: str | None) -> tuple[Task, Attempt] | None:
    """The task and its live attempt, if this is it. `daemon_id` None: a token vouches for it."""
    task = turn.state.tasks.get(task_id)
    attempt = newest_of(task, number, daemon_id)
    if task is None or attempt is None or task.status not in HELD:
        return None
    return task, attempt


def newest_of(task: Task | None, number: int, daemon_id: str | None) -> Attempt | None:
    """The task's newest attempt, if it is this one."""
    attempt = task.newest if task is not None else None
    if attempt is None or attempt.number != number or daemon_id not in (None, attempt.daemon_id):
        return None
    return attempt


def accept(attempt: Attempt) -> None:
    """The daemon has it on disk. Soft: after a restart the clock for it begins anew."""
    attempt.accepted = True


def start(turn: Turn, task: Task, attempt: Attempt) -> None:
    """The daemon says the work began (or its outcome says so)."""
    attempt.accepted = True
    if task.status is not SCHEDULED:
        return
    if attempt.started_at is None:
        attempt.started_at = turn.now.wall
        turn.state.begun[task.id] = turn.now.mono
        if attempt.timeout_ms < ms_of(turn.state.settings.lease.start_s):
            # Longer ones are found out by the clock of the grant, which is due before them.
            turn.state.timers.set(MONO, ATTEMPT, task.id, turn.now.mono + attempt.timeout_ms)
    if task.trouble is not None:
        task.trouble.unstarted = 0
    move(turn, task, RUNNING)
    task.started_at = attempt.started_at
    started(turn, task, attempt, turn.state.daemons[attempt.daemon_id])


def close(
    turn: Turn,
    attempt: Attempt,
    status: AttemptStatus,
    error: Failure | None = None,
    usage: Usage | None = None,
) -> None:
    """An attempt ends once."""
    assert attempt.status is LIVE, "I4: an attempt ends once"
    attempt.status, attempt.ended_at, attempt.error = status, turn.now.wall, error
    attempt.usage = usage or attempt.usage


def fail(
    turn: Turn,
    task: Task,
    attempt: Attempt,
    error: Failure,
    *,
    said_ms: int | None = None,
    usage: Usage | None = None,
) -> None:
    """The work says no: try again or give up."""
    start(turn, task, attempt)
    category = classify(error)
    close(turn, attempt, END_OF[category], error, usage)
    release(turn, task)
    if category is Category.RATE_LIMITED:
        trouble = task.trouble = task.trouble or Trouble()
        trouble.rate_limits += 1
    if category is Category.INCOMPLETE:
        trouble = task.trouble = task.trouble or Trouble()
        trouble.notes = [*trouble.notes, Note("incomplete", error.message, turn.now.wall)]
    follow(turn, task, error, category, said_ms=said_ms)


def time_allowed_ms(turn: Turn, attempt: Attempt) -> int:
    """How long an attempt may take to its next step: to be accepted, to start, to end."""
    lease = turn.state.settings.lease
    if attempt.started_at is not None:
        return attempt.timeout_ms
    return ms_of(lease.start_s if attempt.accepted else lease.accept_s)


def is_overdue(turn: Turn, task: Task, attempt: Attempt) -> bool:
    return turn.now.mono >= turn.state.begun[task.id] + time_allowed_ms(turn, attempt)


def watch_attempt(turn: Turn, task: Task, *, not_before: int = 0) -> None:
    """(Re)start the clock of a held task: for its acceptance, then its start, then its end."""
    attempt = task.newest
    assert attempt is not None, "I2: a held task has an attempt"
    due = turn.state.begun[task.id] + time_allowed_ms(turn, attempt)
    turn.state.timers.set(MONO, ATTEMPT, task.id, max(due, not_before))


def time_out(turn: Turn, task: Task, attempt: Attempt, *, has_stopped: bool = False) -> None:
    """The attempt ran longer than it may. Its daemon is told to kill it; its slot there stays taken meanwhile."""
    seconds = attempt.timeout_ms / 1000
    error = Failure(ErrorCode.EXECUTION_TIMEOUT, f"It ran longer than its {seconds:g} s.")
    close(turn, attempt, AttemptStatus.TIMEOUT, error)
    if not has_stopped:
        withdraw(turn, task, attempt, CancelReason.TIMEOUT)
    release(turn, task, lingers=not has_stopped)
    follow(turn, task, error, Category.TIMEOUT, said_ms=None)


def follow(turn: Turn, task: Task, error: Failure, category: Category, *, said_ms: int | None) -> None:
    """The attempt is over and its slot free: what becomes of the task."""
    if category is Category.TIMEOUT:
        trouble = task.trouble = task.trouble or Trouble()
        trouble.timeout_factor *= turn.state.settings.retry.timeout_factor
    numbers, dice = turn.state.settings.retry, turn.dice
    decision = decide(task, error, category, now_ms=turn.now.wall, said_ms=said_ms, numbers=numbers, dice=dice)
    task.error = decision.error
    if category is Category.RATE_LIMITED and decision.due is not None:
        cool_down(turn, task, decision.due)
    if category is Category.RATE_LIMITED and decision.at is not None:
        at = decision.at + _aside_ms(turn, task)
        hold_until(turn, task, at, event=EventName.TASK_RETRYING, data={"code": error.code})
        return
    bad = Status.TIMEOUT if category is Category.TIMEOUT else Status.FAILED
    move(turn, task, bad, data={"code": error.code, "will_retry": decision.at is not None})
    if decision.at is None:
        end(turn, task, Status.PERMANENTLY_FAILED, data={"code": decision.error.code})
    elif decision.at > turn.now.wall:
        hold_until(turn, task, decision.at, event=EventName.TASK_RETRYING)
    else:
        enqueue(turn, task, event=EventName.TASK_RETRYING)


def _aside_ms(turn: Turn, task: Task) -> int:
    """One that is refused whenever it is asked must not be the first to be asked each time: others wait behind it."""
    is_refused_again = task.trouble is not None and task.trouble.rate_limits > 1
    return ms_of(turn.state.settings.cooling.aside_s) if is_refused_again else 0


def give_up(turn: Turn, task: Task, error: Failure) -> None:
    """A dead letter, whatever its attempts."""
    task.error = error
    move(turn, task, Status.FAILED, data={"code": error.code, "will_retry": False})
    end(turn, task, Status.PERMANENTLY_FAILED, data={"code": error.code})


def cancelled(turn: Turn, task: Task, attempt: Attempt) -> None:
    """A cancel that was asked for is now true."""
    close(turn, attempt, AttemptStatus.CANCELLED)
    release(turn, task)
    end(turn, task, Status.CANCELLED)


def withdraw(turn: Turn, task: Task, attempt: Attempt, reason: CancelReason) -> None:
    """Tell the daemon to stop, if it is there to hear it; if not, its inventory will bring it up."""
    session = turn.state.daemons[attempt.daemon_id].session
    if session:
        grace_ms = ms_of(turn.state.settings.lease.cancel_grace_s)
        turn.effects.append(CancelWork(session, task.id, attempt.number, reason, grace_ms))
