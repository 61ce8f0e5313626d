"""Tasks that daemons do not survive, and daemons that a task stays away from.

A task whose daemon's process died under it often enough is a suspect: it runs alone, so that it takes nobody with it,
and if its daemon dies once more it is a dead letter. So that a busy fleet does not starve it, one daemon is
emptied for it after a while. A process that died before anybody heard of a start leaves a doubt, which is no death:
most of what was merely offered to it is innocent. It becomes one with the first death that is certain (ADR 26).
Avoidance is softer: after a loss a task prefers other daemons; after an offer that nobody took up it keeps away from
that daemon for a time that doubles, even if there is no other.
"""

from collections.abc import Iterable

from taskyard.core.lanes import key_of
from taskyard.core.lines import Line
from taskyard.core.state import Daemon, Turn
from taskyard.core.task import Avoidance, Task, Trouble, ms_of
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import Status


def note_death(turn: Turn, task: Task) -> bool:
    """A daemon's process died under this task. True if that makes it a poison task."""
    trouble = task.trouble = task.trouble or Trouble()
    trouble.deaths += 1 + trouble.doubted
    trouble.doubted = False
    was_suspect = trouble.suspect
    trouble.suspect = trouble.deaths >= turn.state.settings.suspects.deaths_max
    return was_suspect


def note_doubt(task: Task) -> None:
    """A daemon's process died, and nobody knows whether it had begun this. Doubts do not add up: later tries tell."""
    trouble = task.trouble = task.trouble or Trouble()
    trouble.doubted = True


def watch_suspect(turn: Turn, task: Task) -> None:
    """It waits for an empty daemon; do not let it wait for ever."""
    timers = turn.state.timers
    if not timers.is_set(Clock.MONO, Due.SUSPECT, task.id):
        wait_ms = ms_of(turn.state.settings.suspects.hold_after_s)
        timers.set(Clock.MONO, Due.SUSPECT, task.id, turn.now.mono + wait_ms)


def hold_daemon(turn: Turn, task: Task) -> None:
    """The timer of `watch_suspect`: keep the emptiest daemon that could run it free of anything new."""
    if task.status is not Status.QUEUED:
        return
    user, key = turn.state.users[task.user_id], key_of(task)
    if user.lanes[key].blocker is not None:
        # Not an empty daemon is what it waits for. When it is woken and finds none, it is watched anew.
        return
    lines = [line for line in turn.state.yard.lines_for(user, key) if line.blocker is None]
    servers = [daemon for line in lines for daemon in line.servers]
    if any(d.alone == task.id and d.is_open for d in servers):
        return
    let_go(turn, task)
    free = [d for d in servers if d.is_open and d.alone is None]
    if not free:
        if lines:
            watch_suspect(turn, task)
        return
    daemon = min(free, key=lambda d: (d.active, d.used))
    daemon.alone = task.id
    turn.state.yard.wake_daemon(daemon)


def reconsider(turn: Turn, daemon: Daemon) -> None:
    """A daemon is not what it was, or where: the suspect that it is kept for may need another."""
    if daemon.alone is None or daemon.alone in daemon.holding:
        return
    task = turn.state.tasks[daemon.alone]
    if not any(line.suspect == task.id and line.blocker is None for line in daemon.lines):
        let_go(turn, task)
    # It may be back by then, and empty sooner than any other.
    watch_suspect(turn, task)


def let_go(turn: Turn, task: Task) -> None:
    """The task does not wait for an empty daemon any more: others may use the one kept for it."""
    _stop_keeping(turn, task, turn.state.daemons.values())


def let_go_of_line(turn: Turn, task: Task, line: Line) -> None:
    """Not in this line, that is; elsewhere it may."""
    _stop_keeping(turn, task, line.servers)
    watch_suspect(turn, task)


def _stop_keeping(turn: Turn, task: Task, daemons: Iterable[Daemon]) -> None:
    for daemon in daemons:
        if daemon.alone == task.id:
            daemon.alone = None
            turn.state.yard.wake_daemon(daemon)


def avoid_unstarted(turn: Turn, task: Task, daemon_id: str) -> None:
    """An offer nobody took up: keep away for a second, doubling."""
    numbers = turn.state.settings.suspects
    trouble = task.trouble = task.trouble or Trouble()
    seconds = min(numbers.avoid_first_s * 2 ** (trouble.unstarted - 1), numbers.avoid_max_s)
    _avoid(turn, task, trouble, Avoidance(daemon_id, turn.now.wall + ms_of(seconds), firm=True))


def avoid_lost(turn: Turn, task: Task, daemon_id: str) -> None:
    """It was lost there: better elsewhere, if there is an elsewhere."""
    until = turn.now.wall + ms_of(turn.state.settings.suspects.avoid_lost_s)
    trouble = task.trouble = task.trouble or Trouble()
    _avoid(turn, task, trouble, Avoidance(daemon_id, until, firm=False))


def _avoid(turn: Turn, task: Task, trouble: Trouble, avoidance: Avoidance) -> None:
    """Only while the task is in no lane: what it avoids is part of its lane's key."""
    assert task.status is not Status.QUEUED, "I5: a task's lane is the one its key names"
    others = [a for a in trouble.avoid if a.daemon_id != avoidance.daemon_id and a.until > turn.now.wall]
    trouble.avoid = [*others, avoidance]
    _watch(turn, task, trouble)


def _watch(turn: Turn, task: Task, trouble: Trouble) -> None:
    if trouble.avoid:
        turn.state.timers.set(Clock.WALL, Due.AVOIDANCE, task.id, min(a.until for a in trouble.avoid))


def end_avoidance(turn: Turn, task: Task) -> None:
    """A daemon need not be avoided any longer."""
    trouble = task.trouble
    assert trouble is not None, "I5: only a task in trouble avoids daemons"
    turn.state.ledger.touch(task)
    user, yard = turn.state.users[task.user_id], turn.state.yard
    if task.status is Status.QUEUED:
        yard.leave(user, task)
    trouble.avoid = [a for a in trouble.avoid if a.until > turn.now.wall]
    if task.status is Status.QUEUED:
        yard.enter(user, task)
    _watch(turn, task, trouble)
