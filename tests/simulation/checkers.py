"""What must never be seen, one property and one function each. `MOMENTS` says after what each one is asked.

They trust the disk's batches, the work's own log and the frames that were sent, never the core's word for it. Those
that look into the core are in `state_checkers.py`.
"""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from taskyard.core.changes import Batch
from taskyard.core.effects import Acknowledge, CancelWork, Effect, Execute
from taskyard.core.task import Attempt, Task
from taskyard.store.committer import Release
from taskyard.vocabulary import ENDED, AttemptStatus, DependsPolicy, ErrorCode, Status
from tests.simulation.history import History, Spawn, Violation, expect
from tests.simulation.state_checkers import DECIDED, DRAINED, HELD, LOADED, QUIET, SETTLED

if TYPE_CHECKING:
    from tests.simulation.fleet import GoodDaemon

# Spelled out here and not imported: a mistake in the core's own tables must not excuse itself.
FINAL: Final = (Status.COMPLETED, Status.CANCELLED, Status.STALE)
COUNTED: Final = (AttemptStatus.FAILED, AttemptStatus.TIMEOUT, AttemptStatus.INCOMPLETE)
REPORTED: Final = (*COUNTED, AttemptStatus.SUCCESS, AttemptStatus.RATE_LIMITED, AttemptStatus.CANCELLED)
# Dead letters for which attempts were not counted.
UNCOUNTED_ENDS: Final = (
    ErrorCode.POISON_TASK,
    ErrorCode.NOT_STARTED,
    ErrorCode.DEADLINE_PASSED,
    ErrorCode.DAEMON_NOT_FOUND,
    ErrorCode.INVALID_INPUT,
    ErrorCode.PERMISSION_DENIED,
    ErrorCode.RESOURCE_NOT_FOUND,
)
DEATHS: Final = 4
"""So many of a daemon's processes may die of a task."""
JOURNAL_MS: Final = 70
"""How long an outcome may be unwritten: 50 ms by a clock up to 5 % slow, the tick after that, 6 ms of its disk."""
LOST_CODES: Final = (ErrorCode.DAEMON_UNRESPONSIVE, ErrorCode.DAEMON_DISCONNECTED, ErrorCode.DAEMON_CRASHED)


class _By(msgspec.Struct):
    by: tuple[str, int, str | None]


class _Outcome(msgspec.Struct):
    result: _By | None = None


_outcome = msgspec.json.Decoder(_Outcome)


# --- each row that reaches the disk ------------------------------------------------------------------------


def final_states_never_change(history: History, old: Task | None, task: Task) -> None:
    if old is not None and old.status in FINAL:
        expect(task.status is old.status, f"{task.id} was {old.status} and is now {task.status}")


def attempts_are_only_added(history: History, old: Task | None, task: Task) -> None:
    """Numbers 1, 2, 3 …, each bound to its daemon for good."""
    before, after = (old.attempts if old else None) or [], task.attempts or []
    expect([a.number for a in after] == list(range(1, len(after) + 1)), f"{task.id}: attempt numbers are reused")
    expect(len(after) >= len(before), f"{task.id}: an attempt was forgotten")
    for was, now in zip(before, after, strict=False):
        expect(was.daemon_id == now.daemon_id, f"{task.id}: attempt {was.number} moved to another daemon")


def at_most_one_attempt_is_live(history: History, old: Task | None, task: Task) -> None:
    live = [a.number for a in task.attempts or () if a.status is AttemptStatus.RUNNING]
    allowed = [len(task.attempts or ())] if task.status in HELD else []
    expect(live == allowed, f"{task.id} is {task.status} with live attempts {live}")


def at_most_one_attempt_succeeds(history: History, old: Task | None, task: Task) -> None:
    successes = sum(a.status is AttemptStatus.SUCCESS for a in task.attempts or ())
    expect(successes == (task.status is Status.COMPLETED), f"{task.id} is {task.status} with {successes} successes")


def only_failures_count(history: History, old: Task | None, task: Task) -> None:
    """Given up for its attempts: then exactly so many of this series counted. Lost ones never do."""
    is_new = old is None or old.status is not Status.PERMANENTLY_FAILED
    error = task.error
    if task.status is not Status.PERMANENTLY_FAILED or not is_new or error is None:
        return
    if error.code in UNCOUNTED_ENDS or error.code in LOST_CODES or error.retryable is False:
        return
    counted = sum(a.series == task.series and a.status in COUNTED for a in task.attempts or ())
    most = task.terms.max_attempts
    expect(counted >= most, f"{task.id} was given up after {counted} failures of {most}")


def no_task_is_tried_too_often(history: History, old: Task | None, task: Task) -> None:
    counted = Counter(a.series for a in task.attempts or () if a.status in COUNTED)
    expect(max(counted.values(), default=0) <= task.terms.max_attempts, f"{task.id} was tried too often")


def _crashed(task: Task) -> list[Attempt]:
    """Those whose daemon's process died."""
    lost = [attempt for attempt in task.attempts or () if attempt.status is AttemptStatus.LOST]
    return [attempt for attempt in lost if attempt.error and attempt.error.code == ErrorCode.DAEMON_CRASHED]


def what_daemons_do_not_survive_is_put_aside(history: History, old: Task | None, task: Task) -> None:
    deaths = sum(attempt.started_at is not None and attempt.series == task.series for attempt in _crashed(task))
    expect(deaths <= DEATHS, f"{task.id} is tried again after {deaths} processes died under it")
    is_over = deaths < DEATHS or task.status in ENDED
    expect(is_over, f"{task.id} is {task.status} although {deaths} processes died under it")


def nobody_is_put_aside_for_having_been_offered(history: History, old: Task | None, task: Task) -> None:
    if task.error is None or task.error.code != ErrorCode.POISON_TASK or task.status is not Status.PERMANENTLY_FAILED:
        return
    # Of all series: to be tried at once, as a person may ask while it waits, is a new one and clears no suspicion.
    crashed = _crashed(task)
    lost, begun = len(crashed), sum(attempt.started_at is not None for attempt in crashed)
    expect(lost >= DEATHS and begun > 0, f"{task.id} was put aside for {lost} deaths, {begun} of them under it")


def _newly(old: Task | None, task: Task, status: AttemptStatus) -> list[Attempt]:
    was = {a.number: a.status for a in (old.attempts if old else None) or ()}
    return [a for a in task.attempts or () if a.status is status and was.get(a.number) is not status]


def no_running_work_is_called_lost(history: History, old: Task | None, task: Task) -> None:
    """Not by a closed socket, not by a restart of the hub: only by a lease that really ran out."""
    for attempt in _newly(old, task, AttemptStatus.LOST):
        if (task.id, attempt.number) not in history.running:
            continue
        code = attempt.error.code if attempt.error else None
        heard = max(history.heard_when_cut(attempt.daemon_id), history.loaded_at)
        silent_ms = history.clock.now - heard
        judged_ms = history.state.settings.lease.judged_ms if history.state else 0
        expect(
            code == ErrorCode.DAEMON_UNRESPONSIVE and silent_ms >= judged_ms,
            f"{task.id} attempt {attempt.number} still runs and was called lost ({code}) after {silent_ms} ms",
        )


def finished_work_is_not_called_lost(history: History, old: Task | None, task: Task) -> None:
    """Its daemon is there, has the outcome, and only waits for the line."""
    for attempt in _newly(old, task, AttemptStatus.LOST):
        daemon = history.good.get(attempt.daemon_id)
        code = attempt.error.code if attempt.error else None
        if daemon is not None and daemon.is_alive and code != ErrorCode.DAEMON_UNRESPONSIVE:
            key = (task.id, attempt.number)
            expect(
                key not in daemon.machine.ledger.ended,
                f"{task.id} attempt {attempt.number} has ended on {daemon.name}, and was called lost ({code})",
            )


def no_attempt_times_out_early(history: History, old: Task | None, task: Task) -> None:
    """By the clock that does not jump. A hub that started since has only the other one to go by."""
    if history.loaded_at >= history.jumped_at > 0:
        return
    for attempt in _newly(old, task, AttemptStatus.TIMEOUT):
        spawn = history.spawns.get((task.id, attempt.number))
        if spawn is not None:
            ran_ms = history.clock.now - spawn.at
            expect(
                ran_ms >= attempt.timeout_ms * 0.94,
                f"{task.id} attempt {attempt.number} timed out after {ran_ms} ms of {attempt.timeout_ms}",
            )


def cancelled_means_stopped(history: History, old: Task | None, task: Task) -> None:
    """Work that had begun and was cancelled on its daemon's word has no process any more."""
    for attempt in _newly(old, task, AttemptStatus.CANCELLED):
        key = (task.id, attempt.number)
        is_there = attempt.started_at is not None and key in history.running
        expect(not is_there, f"{task.id} attempt {attempt.number} is cancelled and still runs")


def only_what_was_cancelled_is_cancelled(history: History, old: Task | None, task: Task) -> None:
    """By its owner, or with a task it depends on."""
    if task.status is not Status.CANCELLED or task.id in history.cancels:
        return
    causes = [d.id for d in task.depends or () if d.id in history.durable]
    is_caused = any(history.durable[d].status is Status.CANCELLED for d in causes)
    expect(is_caused, f"{task.id} is cancelled and nobody asked for it")


WRITTEN: Final = (
    final_states_never_change,
    attempts_are_only_added,
    at_most_one_attempt_is_live,
    at_most_one_attempt_succeeds,
    only_failures_count,
    no_task_is_tried_too_often,
    what_daemons_do_not_survive_is_put_aside,
    nobody_is_put_aside_for_having_been_offered,
    no_running_work_is_called_lost,
    finished_work_is_not_called_lost,
    no_attempt_times_out_early,
    cancelled_means_stopped,
    only_what_was_cancelled_is_cancelled,
)


# --- each commit -------------------------------------------------------------------------------------------


def a_task_completes_once(history: History, batch: Batch) -> None:
    for task_id, _ in batch.outcomes:
        expect(history.outcomes[task_id] == 1, f"{task_id}: a second outcome was accepted")
    for event in batch.events:
        if event.task_id is not None:
            expect(history.completions[event.task_id] <= 1, f"{event.task_id} completed twice")


def the_accepted_result_is_its_attempts_own(history: History, batch: Batch) -> None:
    for task_id, content in batch.outcomes:
        result = _outcome.decode(content).result
        task = history.durable[task_id]
        winner = next((a for a in task.attempts or () if a.status is AttemptStatus.SUCCESS), None)
        if result is not None and winner is not None:
            expect(
                result.by == (task_id, winner.number, winner.daemon_id),
                f"{task_id}: attempt {winner.number} of {winner.daemon_id} got the result of {result.by}",
            )


def no_daemon_that_holds_work_is_forgotten(history: History, batch: Batch) -> None:
    for daemon_id in batch.forgotten:
        for task in history.durable.values():
            holds = task.status in HELD and task.newest is not None and task.newest.daemon_id == daemon_id
            expect(not holds, f"{daemon_id} was forgotten and holds {task.id}")


COMMITTED: Final = (
    a_task_completes_once,
    the_accepted_result_is_its_attempts_own,
    no_daemon_that_holds_work_is_forgotten,
)


# --- each release ------------------------------------------------------------------------------------------


def nothing_leaves_before_its_commit(history: History, release: Release) -> None:
    expect(
        release.seq <= history.durable_seq,
        f"effects of commit {release.seq} left while the disk was at {history.durable_seq}",
    )


RELEASED: Final = (nothing_leaves_before_its_commit,)


# --- each message to a daemon ------------------------------------------------------------------------------


def an_attempt_is_on_disk_before_it_is_sent(history: History, session: int, effect: Effect) -> None:
    if isinstance(effect, Execute):
        task = history.durable.get(effect.task_id)
        attempts = (task.attempts if task else None) or []
        is_there = any(a.number == effect.attempt and a.daemon_id == effect.daemon_id for a in attempts)
        expect(is_there, f"{effect.task_id} attempt {effect.attempt} was sent and is not on disk")


def an_attempt_goes_to_one_daemon(history: History, session: int, effect: Effect) -> None:
    if isinstance(effect, Execute):
        key = (effect.task_id, effect.attempt)
        holder = history.assigned.setdefault(key, effect.daemon_id)
        expect(holder == effect.daemon_id, f"{key} was sent to {holder} and to {effect.daemon_id}")


def nothing_starts_before_what_it_waits_for(history: History, session: int, effect: Effect) -> None:
    """A dependency's end is on disk before the dependant is sent out."""
    if not isinstance(effect, Execute) or effect.task_id not in history.durable:
        return
    task = history.durable[effect.task_id]
    for dependency in task.depends or ():
        on_disk = history.durable[dependency.id].status if dependency.id in history.durable else None
        if task.terms.on_depends_fail is DependsPolicy.CONTINUE:
            expect(dependency.outcome is not None, f"{task.id} was sent before {dependency.id} ended")
        else:
            expect(on_disk is Status.COMPLETED, f"{task.id} was sent while {dependency.id} was {on_disk} on disk")


def no_cancel_overtakes_its_execute(history: History, session: int, effect: Effect) -> None:
    if isinstance(effect, Execute):
        line = (session, effect.task_id, effect.attempt)
        expect(line not in history.cancelled_first, f"{line}: its cancel was sent before it")
        history.executed[line] = None
    elif isinstance(effect, CancelWork):
        line = (session, effect.task_id, effect.attempt)
        if line not in history.executed:
            history.cancelled_first[line] = None


def what_is_acknowledged_to_a_daemon_is_kept(history: History, session: int, effect: Effect) -> None:
    """The daemon forgets the outcome now: it is the attempt's end on disk, or kept as late."""
    if not isinstance(effect, Acknowledge):
        return
    key = (effect.task_id, effect.attempt)
    spawn = history.spawns.get(key)
    if spawn is None or spawn.outcome is None:
        return
    attempt = (history.durable[effect.task_id].attempts or [])[effect.attempt - 1]
    if history.speaks.get(session) != attempt.daemon_id:
        return  # a liar may forget whatever it likes
    expect(
        attempt.status in REPORTED or key in history.late,
        f"{key}: its outcome was acknowledged, and on disk it is {attempt.status}",
    )


SENT: Final = (
    an_attempt_is_on_disk_before_it_is_sent,
    an_attempt_goes_to_one_daemon,
    nothing_starts_before_what_it_waits_for,
    no_cancel_overtakes_its_execute,
    what_is_acknowledged_to_a_daemon_is_kept,
)


# --- each start of work ------------------------------------------------------------------------------------


def an_attempt_starts_once(history: History, spawn: Spawn) -> None:
    key = (spawn.task_id, spawn.attempt)
    expect(key not in history.spawns, f"{key} was started twice")


def no_ended_task_is_started(history: History, spawn: Spawn) -> None:
    """What the daemon starts late may have ended meanwhile; what was sent must have been open when it was."""
    expect((spawn.task_id, spawn.attempt) in history.assigned, f"{spawn.task_id} runs and nobody sent it")


def exclusive_work_never_overlaps(history: History, spawn: Spawn) -> None:
    if spawn.exclusive is None:
        return
    for other in history.running.values():
        if other.exclusive == spawn.exclusive and not is_frozen(history, other):
            raise Violation(
                f"{spawn.exclusive}: {spawn.task_id}/{spawn.attempt} on {spawn.daemon} starts while "
                f"{other.task_id}/{other.attempt} runs on {other.daemon} since {history.clock.now - other.at} ms"
            )


def is_frozen(history: History, spawn: Spawn) -> bool:
    return any(d.name == spawn.daemon and d.asleep for d in history.good.values())


def exclusive_work_does_not_wake_beside_another(history: History, daemon: str) -> None:
    """A process that slept past its lease stops such work before anything else."""
    for spawn in history.running.values():
        if spawn.daemon == daemon and spawn.exclusive is not None:
            rivals = [s for s in history.running.values() if s.exclusive == spawn.exclusive and s is not spawn]
            is_alone = all(is_frozen(history, rival) for rival in rivals)
            expect(is_alone, f"{spawn.exclusive}: {spawn.task_id}/{spawn.attempt} on {daemon} goes on beside {rivals}")


SPAWNED: Final = (an_attempt_starts_once, no_ended_task_is_started, exclusive_work_never_overlaps)


# --- each end of a daemon's process ------------------------------------------------------------------------


def what_had_ended_is_in_the_journal(history: History, daemon: "GoodDaemon") -> None:
    """What the hub still waits for, a moment after it ended: a process that dies takes nothing older with it."""
    until = history.clock.now if daemon.awake_until is None else daemon.awake_until
    for key, spawn in history.spawns.items():
        is_its = spawn.daemon == daemon.name and spawn.at >= daemon.born_at
        if not is_its or spawn.ended is None or spawn.outcome is None:
            continue
        attempt = (history.durable[spawn.task_id].attempts or [])[spawn.attempt - 1]
        waited_ms = until - max(spawn.ended, daemon.awake_since)
        expect(
            attempt.status is not AttemptStatus.RUNNING or key in daemon.memory.ended or waited_ms < JOURNAL_MS,
            f"{key} ended on {daemon.name} {waited_ms} ms before that died, and neither disk has it",
        )


MOMENTS: Final[dict[str, tuple[Callable[..., None], ...]]] = {
    "written": WRITTEN,
    "committed": COMMITTED,
    "released": RELEASED,
    "sent": SENT,
    "spawned": SPAWNED,
    "woken": (exclusive_work_does_not_wake_beside_another,),
    "died": (what_had_ended_is_in_the_journal,),
    "decided": DECIDED,
    "loaded": LOADED,
    "settled": SETTLED,
    "quiet": QUIET,
    "drained": DRAINED,
}
