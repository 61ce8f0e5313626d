"""What must be so in the core's memory, recomputed from scratch; one property and one function each.

Invariants cost as much as a dozen steps, so they are looked at every few turns; nothing heals itself, and what is wrong
stays wrong until it is looked at.
"""

from typing import Final

from taskyard.core.state import State, Turn
from taskyard.core.task import Task
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import Status
from tests.simulation.crowd_judges import nobody_sleeps_who_could_start
from tests.simulation.history import History, expect
from tests.support.invariants import check_invariants

HELD: Final = (Status.SCHEDULED, Status.RUNNING)
OUT: Final = (Status.COMPLETED, Status.CANCELLED, Status.STALE, Status.SKIPPED, Status.PERMANENTLY_FAILED)
INVARIANTS_EVERY: Final = 8


def slots_and_lanes_are_what_they_are_derived_from(history: History, state: State) -> None:
    history.turns += 1
    if history.turns % INVARIANTS_EVERY == 0:
        check_invariants(state)


def no_daemon_is_given_more_than_its_slots(history: History, state: State) -> None:
    for daemon in state.daemons.values():
        if daemon.id in history.good:
            held, slots = len(daemon.holding) - daemon.beyond, daemon.record.slots
            expect(held <= slots, f"{daemon.id} holds {held} tasks in {slots} slots")


def every_wait_has_its_timer(history: History, state: State) -> None:
    """Whatever waits for a time will be woken: retries, accepted work, leases. Also after a restart."""
    timers = state.timers
    for task in state.tasks.values():
        if task.status is Status.PENDING:
            expect(timers.is_set(Clock.WALL, Due.BEGIN, task.id), f"{task.id} is pending and nothing will wake it")
        elif task.status in HELD and _is_heard_of(state, task):
            expect(timers.is_set(Clock.MONO, Due.ATTEMPT, task.id), f"{task.id} is held and nobody watches it")
    for daemon in state.daemons.values():
        if daemon.holding:
            expect(timers.is_set(Clock.MONO, Due.LEASE, daemon.id), f"{daemon.id} holds tasks without a lease")


def _is_heard_of(state: State, task: Task) -> bool:
    """Its daemon is there and was not asked to stop it: otherwise only the lease is watched."""
    attempt = task.newest
    daemon = state.daemons[attempt.daemon_id] if attempt is not None else None
    return daemon is not None and daemon.session != 0 and task.cancel_requested_at is None


def timers_and_shares_are_whole(history: History, state: State) -> None:
    if history.turns % INVARIANTS_EVERY == 1:
        every_wait_has_its_timer(history, state)
        no_daemon_is_given_more_than_its_slots(history, state)


def no_acknowledged_task_is_lost(history: History, state: State) -> None:
    for task_id in history.acked:
        task = history.durable.get(task_id)
        expect(task is not None, f"{task_id} was acknowledged and is gone")
        if task is not None and task.status not in OUT:
            expect(task_id in state.tasks, f"{task_id} is {task.status} on disk and was not loaded")


def nobody_waits_for_what_has_ended(history: History, state: State) -> None:
    """Asked when nothing is under way: every dependency without an outcome is still open."""
    for task in state.tasks.values():
        for dependency in task.depends or () if task.status in (Status.WAITING, Status.BLOCKED) else ():
            on_disk = history.durable[dependency.id].status
            is_open = dependency.outcome is not None or on_disk not in OUT
            expect(is_open, f"{task.id} is {task.status} and never heard that {dependency.id} is {on_disk}")


def a_key_names_one_task(history: History, state: State) -> None:
    """Of the tasks that are alive, completed or dead letters; archived ones have given it up."""
    holders: dict[tuple[str, str], str] = {}
    for task in state.tasks.values():
        if task.key is not None and task.status not in OUT:
            holder = holders.setdefault((task.user_id, task.key), task.id)
            expect(holder == task.id, f"{task.key} of {task.user_id} names {holder} and {task.id}")


def what_was_loaded_is_whole(history: History, state: State) -> None:
    check_invariants(state)


def every_acknowledged_cancel_came_true(history: History, state: State) -> None:
    """Asked when everything has drained."""
    for task_id, is_acknowledged in history.cancels.items():
        status = history.durable[task_id].status
        expect(not is_acknowledged or status is Status.CANCELLED, f"{task_id} was to be cancelled and is {status}")


def no_task_waits_for_nothing(history: History, turn: Turn) -> None:
    """Asked when everything that is due has happened: no rule keeps a task from a daemon that is free."""
    if history.turns % INVARIANTS_EVERY == 2:
        nobody_sleeps_who_could_start(turn)


SETTLED: Final = (no_task_waits_for_nothing,)
DECIDED: Final = (slots_and_lanes_are_what_they_are_derived_from, timers_and_shares_are_whole)
LOADED: Final = (
    no_acknowledged_task_is_lost,
    every_wait_has_its_timer,
    a_key_names_one_task,
    what_was_loaded_is_whole,
)
QUIET: Final = (nobody_waits_for_what_has_ended, a_key_names_one_task)
DRAINED: Final = (no_acknowledged_task_is_lost, every_acknowledged_cancel_came_true)
