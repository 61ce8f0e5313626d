"""Mistakes that the simulator must notice. Each one plants exactly the bug that its name says, and takes it out again.

A simulator that finds nothing has either nothing to find or no eyes. These are its eye test: the list is the contract,
and a mutant that survives means that a checker is missing.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from unittest.mock import patch

from msgspec.structs import replace

from taskyard.core import (
    attempts,
    cancel,
    daemons,
    endings,
    forgetting,
    hub,
    lifecycle,
    losses,
    notifications,
    occurrences,
    outcomes,
    recovery,
    retry,
)
from taskyard.core.changes import Batch
from taskyard.core.commands import CompleteTask, HearEnded
from taskyard.core.daemon_commands import JoinDaemon, LeaveDaemon
from taskyard.core.effects import Done, Effect, Execute
from taskyard.core.hub import Core
from taskyard.core.state import Daemon, Now, State, Turn
from taskyard.core.task import Attempt, Task
from taskyard.core.timers import Clock, Due
from taskyard.daemon import ledger
from taskyard.hub import revisit
from taskyard.store.committer import Release
from taskyard.store.memory import engine
from taskyard.store.memory.disk import Disk, write_batch
from taskyard.vocabulary import COUNTED, HOOK_KEY_PREFIX, AttemptStatus, ErrorCode, Status
from tests.simulation.sessions import Session, Sessions
from tests.simulation.shell import Hub

Mutant = Callable[[], Any]


@contextmanager
def everywhere(original: Callable[..., Any], mutated: Callable[..., Any]) -> Iterator[None]:
    """A function is imported by name into several rooms of the core: put the mutant into each."""
    rooms = [module for name, module in list(sys.modules.items()) if name.startswith("taskyard.core.")]
    with ExitStack() as stack:
        for room in rooms:
            for name, value in list(vars(room).items()):
                if value is original:
                    stack.enter_context(patch.object(room, name, mutated))
        yield


# --- the order that matters --------------------------------------------------------------------------------


def acknowledge_before_commit() -> Any:
    begin = Hub._begin_write

    def eager(self: Hub, batch: Batch) -> None:
        begin(self, batch)
        release = self.committer._in_flight
        assert release is not None
        self.committer._in_flight = Release(seq=release.seq, batch=batch, effects=[])
        self._release(release)

    return patch.object(Hub, "_begin_write", eager)


def release_effects_of_a_failed_commit() -> Any:
    def careless(self: Hub, effects: list[Effect]) -> None:
        seq = self.committer.durable_seq
        self._release(Release(seq=seq, batch=Batch(seq, 0, "", 0), effects=effects))

    return patch.object(Hub, "_drop", careless)


def send_before_the_body_is_loaded() -> Any:
    """What is ready leaves at once; a `task.execute` whose body is still being read is overtaken."""
    flush = Sessions.flush

    def impatient(self: Sessions, session: Session) -> None:
        waiting = [item for item in session.line if not item.is_ready]
        ready = [item for item in session.line if item.is_ready]
        session.line.clear()
        session.line.extend(ready)
        flush(self, session)
        session.line.extend(waiting)

    return patch.object(Sessions, "flush", impatient)


def start_before_the_dependencys_commit() -> Any:
    pump = Hub._pump

    def hasty(self: Hub) -> None:
        tasks = self.core.state.tasks
        early = [e for e in self._effects if isinstance(e, Execute) and e.task_id in tasks and tasks[e.task_id].depends]
        self._effects = [e for e in self._effects if e not in early]
        seq = self.committer.durable_seq
        self._release(Release(seq=seq, batch=Batch(seq, 0, "", 0), effects=list(early)))
        pump(self)

    return patch.object(Hub, "_pump", hasty)


# --- whose word counts -------------------------------------------------------------------------------------


def skip_the_attempt_check_on_results() -> Any:
    def believing(task: Task | None, number: int, daemon_id: str | None) -> Attempt | None:
        return task.newest if task is not None else None

    return everywhere(attempts.newest_of, believing)


def accept_a_result_twice() -> Any:
    complete = outcomes.complete

    def forgetful(turn: Turn, command: CompleteTask) -> None:
        task = turn.state.tasks.get(command.task_id) or command.known.tasks.get(command.task_id)
        attempt = attempts.newest_of(task, command.attempt, command.daemon_id)
        if task is None or attempt is None or attempt.status is not AttemptStatus.SUCCESS:
            complete(turn, command)
            return
        turn.state.tasks[task.id] = task
        outcomes._reclaim(turn, command, task, attempt)
        outcomes.answer_outcome(turn, command, Done(task.id))

    return patch.dict(hub.ON_COMMAND, {CompleteTask: forgetful})


def reuse_an_attempt_number() -> Any:
    def reusing(*, number: int, **fields: Any) -> Attempt:
        return Attempt(number=max(1, number - 1), **fields)

    return patch.object(attempts, "Attempt", reusing)


def let_a_final_state_change() -> Any:
    return patch.dict(lifecycle.TRANSITIONS, {Status.COMPLETED: (Status.CANCELLED,)})


# --- slots -------------------------------------------------------------------------------------------------


def free_a_slot_at_cancel_request() -> Any:
    ask = cancel._ask_to_stop

    def hurried(turn: Turn, task: Task, reason: str | None) -> None:
        ask(turn, task, reason)
        attempt = task.newest
        assert attempt is not None
        attempts.cancelled(turn, task, attempt)

    return patch.object(cancel, "_ask_to_stop", hurried)


def free_a_slot_twice() -> Any:
    release = attempts.release

    def generous(turn: Turn, task: Task, *, lingers: bool = False) -> None:
        attempt = task.newest
        assert attempt is not None
        release(turn, task, lingers=lingers)
        holding = turn.state.daemons[attempt.daemon_id].holding
        if holding:
            holding.pop(next(iter(holding)))

    return everywhere(release, generous)


def keep_a_lost_attempts_slot() -> Any:
    release = attempts.release

    def clinging(turn: Turn, task: Task, *, lingers: bool = False) -> None:
        attempt = task.newest
        assert attempt is not None
        release(turn, task, lingers=lingers)
        if attempt.status is AttemptStatus.LOST:
            turn.state.daemons[attempt.daemon_id].holding[task.id] = task

    return patch.object(losses, "release", clinging)


# --- silence -----------------------------------------------------------------------------------------------


def forget_the_lease_when_the_hub_restarts() -> Any:
    restore = recovery.restore

    def strict(state: State, now: Now, **rows: Any) -> None:
        restore(state, now, **rows)
        for daemon in state.daemons.values():
            daemon.seen_mono = now.mono - state.settings.lease.judged_ms
            state.timers.set(Clock.MONO, Due.LEASE, daemon.id, now.mono)

    return patch.object(revisit, "restore", strict)


def treat_silence_as_death_though_it_is_listed() -> Any:
    lose_unlisted = daemons._lose_unlisted

    def deaf(turn: Turn, daemon: Daemon, command: JoinDaemon) -> None:
        lose_unlisted(turn, daemon, replace(command, inventory=()))

    return patch.object(daemons, "_lose_unlisted", deaf)


def requeue_on_disconnect() -> Any:
    leave = daemons.leave

    def nervous(turn: Turn, command: LeaveDaemon) -> None:
        daemon = turn.state.daemons.get(command.daemon_id)
        is_its = daemon is not None and daemon.session == command.session
        leave(turn, command)
        for task, attempt in daemons._held(daemon) if daemon is not None and is_its else ():
            losses.lose(turn, task, attempt, ErrorCode.DAEMON_DISCONNECTED, "Its daemon left.")

    return patch.dict(hub.ON_COMMAND, {LeaveDaemon: nervous})


def count_a_lost_attempt() -> Any:
    return patch.object(retry, "COUNTED", COUNTED | {AttemptStatus.LOST})


# --- what a restart must not forget ------------------------------------------------------------------------


def lose_a_retry_timer_over_restart() -> Any:
    def careless(turn: Turn, task: Task) -> None:
        """Whatever it waited for."""

    return patch.object(recovery, "watch_clock", careless)


def lose_the_idempotency_key_over_restart() -> Any:
    restore_task = recovery._restore_task

    def careless(turn: Turn, task: Task) -> None:
        restore_task(turn, task)
        if task.key is not None:
            turn.state.keys.pop((task.user_id, task.key))

    return patch.object(recovery, "_restore_task", careless)


def drop_a_dependant_of_an_archived_task() -> Any:
    def short_sighted(self: Disk) -> Any:
        return self.hot, self.history, {}

    return patch.object(Disk, "places", short_sighted)


# --- more than the list asks for ---------------------------------------------------------------------------


def forget_what_a_look_up_still_needs() -> Any:
    forget = Core.forget

    def forgetful(self: Core, *, through_seq: int) -> None:
        forget(self, through_seq=self.state.ledger.seq - 1)

    return patch.object(Core, "forget", forgetful)


def free_an_exclusive_key_while_its_work_is_stopping() -> Any:
    def hurried(turn: Turn, task: Task) -> None:
        attempt = task.newest
        assert attempt is not None
        if attempt.started_at is not None and attempts.is_overdue(turn, task, attempt):
            attempts.time_out(turn, task, attempt)
        else:
            daemons.judge_attempt(turn, task)

    return patch.dict(hub.ON_TASK_TIMER, {Due.ATTEMPT: hurried})


def forget_ends_that_a_crash_kept_unheard() -> Any:
    return patch.dict(hub.ON_COMMAND, {HearEnded: lambda turn, command: None})


def never_write_what_stays_unconfirmed() -> Any:
    return patch.object(ledger, "JOURNAL_AFTER_MS", 1 << 40)


def free_the_key_of_a_delivery_that_was_cancelled() -> Any:
    keeps_key = endings.keeps_key

    def forgetful(task: Task, now_ms: int) -> bool:
        is_delivery = (task.key or "").startswith(HOOK_KEY_PREFIX)
        return task.status in endings.KEEPS_KEY if is_delivery else keeps_key(task, now_ms)

    return everywhere(keeps_key, forgetful)


def free_the_key_of_a_task_that_was_cancelled() -> Any:
    keeps_key = endings.keeps_key

    def hurried(task: Task, now_ms: int) -> bool:
        is_delivery = (task.key or "").startswith(HOOK_KEY_PREFIX)
        is_over = task.status in endings.KEEPS_KEY_FOR_A_DAY and not is_delivery
        return not is_over and keeps_key(task, now_ms)

    return everywhere(keeps_key, hurried)


def forget_the_outbox() -> Any:
    return patch.object(notifications, "gather", lambda state, at: None)


def forget_what_schedules_settled() -> Any:
    return everywhere(occurrences.keep_runs, lambda turn, schedule_id, runs: None)


def forget_a_daemon_that_holds_work() -> Any:
    return everywhere(forgetting.in_use_because, lambda state, daemon: None)


def keep_the_row_of_a_daemon_that_is_forgotten() -> Any:
    def careless(disk: Disk, batch: Batch) -> None:
        write_batch(disk, replace(batch, forgotten=[]))

    return patch.object(engine, "write_batch", careless)


MUTANTS: Final[tuple[Mutant, ...]] = (
    acknowledge_before_commit,
    release_effects_of_a_failed_commit,
    skip_the_attempt_check_on_results,
    accept_a_result_twice,
    free_a_slot_at_cancel_request,
    free_a_slot_twice,
    forget_the_lease_when_the_hub_restarts,
    treat_silence_as_death_though_it_is_listed,
    requeue_on_disconnect,
    keep_a_lost_attempts_slot,
    lose_a_retry_timer_over_restart,
    reuse_an_attempt_number,
    let_a_final_state_change,
    drop_a_dependant_of_an_archived_task,
    lose_the_idempotency_key_over_restart,
    send_before_the_body_is_loaded,
    start_before_the_dependencys_commit,
    count_a_lost_attempt,
)
MORE: Final[tuple[Mutant, ...]] = (
    forget_what_a_look_up_still_needs,
    free_an_exclusive_key_while_its_work_is_stopping,
    forget_ends_that_a_crash_kept_unheard,
    never_write_what_stays_unconfirmed,
    forget_the_outbox,
    free_the_key_of_a_delivery_that_was_cancelled,
    free_the_key_of_a_task_that_was_cancelled,
    forget_what_schedules_settled,
    forget_a_daemon_that_holds_work,
    keep_the_row_of_a_daemon_that_is_forgotten,
)
