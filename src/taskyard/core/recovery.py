"""From the store's rows back to the state: what a start, and a failed commit, rebuild.

Rows hold what happened; places in lanes, timers, slots and indexes follow from them. Clocks for acceptance and
start begin anew and every daemon gets a full lease to come back, so that a restart of the hub restarts no running work.
What is soft and therefore lost: load and memory figures, lingering slots, daemons kept free for a suspect, whose turn
it was (`served`), how long tasks took lately, and which attempts were accepted but not started.
"""

from collections.abc import Callable, Iterable
from typing import Final

from taskyard.core import (
    breakers,
    cooling,
    hooks,
    occurrences,
    preemption,
    pressure,
    queues,
    rates,
    schedules,
    templates,
    usage,
)
from taskyard.core.ageing import watch_age
from taskyard.core.attempts import take_slot, watch_attempt
from taskyard.core.changes import DaemonRecord, Kept, KeyRecord, UserRecord
from taskyard.core.dependencies import listen
from taskyard.core.lifecycle import UNHELD
from taskyard.core.notifications import remember as remember_notification
from taskyard.core.notifications import remember_delivery
from taskyard.core.priority import watch_critical, watch_deadline
from taskyard.core.readiness import watch_clock
from taskyard.core.state import Daemon, Now, State, Turn, User
from taskyard.core.targets import note_target
from taskyard.core.task import Task
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import HELD, Keeps, Status


def restore(
    state: State,
    now: Now,
    *,
    users: Iterable[UserRecord],
    numbers: dict[str, int],
    keys: Iterable[KeyRecord],
    daemons: Iterable[DaemonRecord],
    tasks: Iterable[Task],
    log_bytes: dict[tuple[str, int], int],
    kept: Iterable[Kept] = (),
) -> None:
    """Fill an empty state from what the store holds."""
    for user in users:
        state.users[user.id] = User(user, numbers.get(user.id, 0))
        state.names[user.name] = user.id
    state.api_keys = {key.id: key for key in keys}
    for record in daemons:
        daemon = state.daemons[record.id] = Daemon(record, now.mono)
        daemon.heard_mono = now.mono - max(now.wall - record.last_seen_at, 0)
        daemon.judged_ms = state.settings.lease.judged_ms
        state.yard.enlist(daemon, ())
        state.timers.set(Clock.MONO, Due.LEASE, record.id, now.mono + daemon.judged_ms)
    turn = Turn(state, now, _NoDice())
    for each in kept:
        assert each.record is not None, "I7: what is kept has a record"
        REMEMBER[each.kind](state, each.name, each.record)
    for task in tasks:
        _restore_task(turn, task)
    cooling.take_up(turn)
    schedules.take_up(turn)
    state.log_bytes = dict(log_bytes)


REMEMBER: Final[dict[Keeps, Callable[[State, str, bytes], None]]] = {
    Keeps.BREAKER: breakers.remember,
    Keeps.BUCKET: rates.remember,
    Keeps.COOLING: cooling.remember,
    Keeps.NOTIFICATION: remember_notification,
    Keeps.DELIVERY: remember_delivery,
    Keeps.HOOK: hooks.remember,
    Keeps.HOOK_DELIVERIES: hooks.remember_deliveries,
    Keeps.PRESSURE: pressure.remember,
    Keeps.QUEUE: queues.remember,
    Keeps.SCHEDULE: schedules.remember,
    Keeps.SCHEDULE_RUNS: schedules.remember_runs,
    Keeps.TEMPLATE: templates.remember,
    Keeps.USAGE: usage.remember,
}
"""How each policy takes up what it kept."""


class _NoDice:
    """Nothing is left to chance while rows are read."""

    def random(self) -> float:
        raise AssertionError("I7: recovery draws no dice")


def _restore_task(turn: Turn, task: Task) -> None:
    state = turn.state
    state.intern(task)
    state.tasks[task.id] = task
    if task.key is not None:
        state.keys[task.user_id, task.key] = task.id
    listen(state, task)
    note_target(state, task)
    watch_clock(turn, task)
    if task.schedule_id is not None:
        occurrences.listen(state, task, task.schedule_id)
    user = state.users[task.user_id]
    user.pending += task.status in UNHELD
    if task.status in HELD:
        _restore_held(turn, task)
    elif task.status is Status.QUEUED:
        state.yard.enter(user, task)
        watch_age(turn, task)
        watch_critical(turn, task)
        watch_deadline(turn, task)
    if task.trouble is not None and task.trouble.avoid:
        due = min(a.until for a in task.trouble.avoid)
        state.timers.set(Clock.WALL, Due.AVOIDANCE, task.id, due)


def _restore_held(turn: Turn, task: Task) -> None:
    """Its daemon may be running it: it has a lease's time to come back and say so."""
    attempt = task.newest
    assert attempt is not None, "I2: a held task has an attempt"
    take_slot(turn, task, turn.state.daemons[attempt.daemon_id])
    preemption.remember(turn.state, task, attempt)
    watch_attempt(turn, task)
