"""Whether an open task is ready, and if not, what it waits for: its dependencies, then its time.

`settle` puts a task where it belongs: blocked or skipped by a dependency that ended badly, waiting for one that
has not ended, pending until its time, or queued. `enqueue` is the one way into a lane; what can make a ready
task pointless (its deadline has passed, the daemon it names is unknown) is found out there, once.
"""

from taskyard.core.ageing import forget_age, watch_age
from taskyard.core.changes import Data
from taskyard.core.endings import announce, end
from taskyard.core.lifecycle import begin, move
from taskyard.core.priority import tell_unplaceable, watch_critical, watch_deadline
from taskyard.core.state import Turn
from taskyard.core.suspects import let_go
from taskyard.core.targets import is_called
from taskyard.core.task import Dependency, Failure, Task, Trouble
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import ENDED, DependsPolicy, ErrorCode, EventName, Status

QUEUED = Status.QUEUED


def failed_dependency(task: Task) -> Dependency | None:
    """The first that ended badly, where that matters to this task."""
    if task.terms.on_depends_fail is DependsPolicy.CONTINUE:
        return None
    for dependency in task.depends or ():
        if dependency.outcome is not None and dependency.outcome is not Status.COMPLETED:
            return dependency
    return None


def belongs(turn: Turn, task: Task) -> Status:
    """The status of an open task that no daemon holds."""
    if task.depends is not None and failed_dependency(task) is not None:
        # One that its owner brings back is not left out a second time for the same reason.
        was_brought_back = task.status in (Status.SKIPPED, Status.BLOCKED)
        is_left_out = task.terms.on_depends_fail is DependsPolicy.SKIP and not was_brought_back
        return Status.SKIPPED if is_left_out else Status.BLOCKED
    if task.depends is not None and any(d.outcome is None for d in task.depends):
        return Status.WAITING
    if task.not_before is not None and task.not_before > turn.now.wall:
        return Status.PENDING
    return QUEUED


def admit(turn: Turn, task: Task, body: bytes) -> None:
    """A new task takes its first place."""
    status = belongs(turn, task)
    _give_reason(turn, task, status)
    begin(turn, task, status, body)
    watch_clock(turn, task)
    if status is QUEUED:
        _become_ready(turn, task)
    elif status is Status.SKIPPED:
        end(turn, task, status)
    elif status is Status.BLOCKED:
        announce(turn, task.id, status)


def settle(turn: Turn, task: Task, *, event: EventName | None = None) -> None:
    """What a task waits for changed: move it to where it now belongs, if that is elsewhere.

    A blocked task is a bad end to those who wait for it, until it is blocked no longer.
    """
    status, was_blocked = belongs(turn, task), task.status is Status.BLOCKED
    if status is task.status:
        return
    _give_reason(turn, task, status)
    if status is Status.QUEUED:
        enqueue(turn, task, event=event)
    elif status is Status.SKIPPED:
        end(turn, task, status)
    else:
        move(turn, task, status, event=event)
        watch_clock(turn, task)
    if status is Status.BLOCKED:
        announce(turn, task.id, status)
    elif was_blocked and task.status not in ENDED:
        announce(turn, task.id, None)


def enqueue(turn: Turn, task: Task, *, event: EventName | None = None, data: Data | None = None) -> None:
    """Ready, or ready again."""
    forget_age(task)
    move(turn, task, Status.QUEUED, event=event, data=data)
    task.not_before = None
    _become_ready(turn, task)


def hold_until(turn: Turn, task: Task, at: int, *, event: EventName | None = None, data: Data | None = None) -> None:
    """Pending until an instant."""
    task.not_before = at
    if task.trouble is not None and task.trouble.suspect:
        let_go(turn, task)
    move(turn, task, Status.PENDING, event=event, data=data)
    watch_clock(turn, task)


def come_due(turn: Turn, task: Task) -> None:
    """The timer of `hold_until`."""
    if task.status is Status.PENDING:
        settle(turn, task)


def watch_clock(turn: Turn, task: Task) -> None:
    """Set the timers an open task needs, whatever it waits for."""
    timers = turn.state.timers
    if task.not_before is not None and task.status is Status.PENDING:
        timers.set(Clock.WALL, Due.BEGIN, task.id, task.not_before)
    if task.deadline is not None:
        timers.set(Clock.WALL, Due.DEADLINE, task.id, task.deadline)
    if task.sla is not None and not (task.trouble is not None and task.trouble.told_sla):
        timers.set(Clock.WALL, Due.SLA, task.id, task.sla)


def pass_deadline(turn: Turn, task: Task) -> None:
    """A task that no daemon holds is over at its deadline; one that runs is left to finish."""
    if task.status in (Status.WAITING, Status.BLOCKED):
        end(turn, task, Status.STALE)
    elif task.status in (Status.PENDING, Status.QUEUED):
        if task.status is Status.QUEUED:
            turn.state.yard.leave(turn.state.users[task.user_id], task)
        _expire(turn, task)


def _expire(turn: Turn, task: Task) -> None:
    if any(a.started_at is not None for a in task.attempts or ()):
        task.error = Failure(ErrorCode.DEADLINE_PASSED, "Its deadline passed before its next try could begin.")
        end(turn, task, Status.PERMANENTLY_FAILED)
    else:
        end(turn, task, Status.STALE)


def _become_ready(turn: Turn, task: Task) -> None:
    """It is queued: into its lane, unless that is pointless."""
    if task.deadline is not None and task.deadline <= turn.now.wall:
        _expire(turn, task)
        return
    if task.deadline is not None:
        # Its timer may have passed while it ran, and the wall clock gone back since.
        turn.state.timers.set(Clock.WALL, Due.DEADLINE, task.id, task.deadline)
    target = task.kind.needs.target
    if target is not None and not _has_target(turn, task, target):
        return
    turn.state.yard.enter(turn.state.users[task.user_id], task)
    watch_age(turn, task)
    watch_critical(turn, task)
    tell_unplaceable(turn, task)
    watch_deadline(turn, task)


def _has_target(turn: Turn, task: Task, target: str) -> bool:
    """An unknown target fails the task; a known one that is away holds it, and the user is told once."""
    named = [d for d in turn.state.daemons.values() if is_called(d, target, task.user_id)]
    if not named:
        task.error = Failure(ErrorCode.DAEMON_NOT_FOUND, f"There is no daemon {target}; connect it or name another.")
        end(turn, task, Status.PERMANENTLY_FAILED)
        return False
    if all(d.session == 0 for d in named):
        tell_target_away(turn, task, target)
    return True


def tell_target_away(turn: Turn, task: Task, target: str) -> None:
    trouble = task.trouble = task.trouble or Trouble()
    if trouble.waiting_for_daemon is None:
        trouble.waiting_for_daemon = target
        named = (d.record.name for d in turn.state.daemons.values() if is_called(d, target, task.user_id))
        message = f"waiting for {next(named, target)} to come online"
        said: Data = {"reason": "DAEMON_OFFLINE", "daemon": target, "message": message}
        turn.tell(EventName.TASK_WAITING_FOR_DAEMON, task, data=said)


def _give_reason(turn: Turn, task: Task, status: Status) -> None:
    """Say by what a task is blocked or skipped; take the reason away when it no longer is."""
    trouble = task.trouble
    if trouble is not None:
        trouble.blocked_reason = trouble.skipped_reason = None
    failed = None if task.depends is None else failed_dependency(task)
    if failed is None:
        return
    trouble = task.trouble = trouble or Trouble()
    reason = ended_as(turn, failed)
    if status is Status.BLOCKED:
        trouble.blocked_reason = reason
    else:
        trouble.skipped_reason = reason


def ended_as(turn: Turn, dependency: Dependency) -> str:
    """What became of one that a task depends on: why it does not run."""
    return f"{name_of(turn, dependency.id)} ended as {dependency.outcome}"


def name_of(turn: Turn, task_id: str) -> str:
    task = turn.state.tasks.get(task_id)
    return task_id if task is None else task.ref
