"""Cooling down: what follows for a whole queue when its provider refuses one of its tasks for coming too often.

Per queue and pool. Until the instant at which the refused task itself is tried again, nothing else of the queue starts
there: its other tasks are held, not burnt. When the time is over exactly one task goes first, the probe. It passes when
it ends without another refusal, or has run for a while; then the queue is as it was. Refused again, it cools again. A
probe that shows nothing (cancelled, lost, rejected, handed back, preempted) makes way for another.
"""

from typing import Final

from msgspec.json import Decoder

from taskyard.core.changes import CoolingRecord
from taskyard.core.effects import SlowDown
from taskyard.core.queues import queue_of
from taskyard.core.state import Daemon, State, Turn
from taskyard.core.task import Attempt, Task, ms_of
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import AttemptStatus, EventName, Keeps

PASSED: Final = frozenset(
    {AttemptStatus.SUCCESS, AttemptStatus.FAILED, AttemptStatus.TIMEOUT, AttemptStatus.INCOMPLETE}
)
"""Ends of a probe that ran and was not refused."""
TOLD_AGAIN_MS: Final = 1000
# Refusals come in bunches, each with an instant a little later: only one that changes something is told.

_record: Final = Decoder(CoolingRecord)


def remember(state: State, name: str, record: bytes) -> None:
    """What was kept of a queue that cools down."""
    cooling = _record.decode(record)
    state.cooling[cooling.queue, cooling.pool] = cooling


def take_up(turn: Turn) -> None:
    """After a start, once it is known what is held: a probe goes on, or makes way."""
    for record in turn.state.cooling.values():
        if record.probe is not None and record.probe in turn.state.begun:
            turn.state.probes[record.probe] = record.queue, record.pool
            _watch(turn, turn.state.tasks[record.probe])
        else:
            record.probe = None


def cool_down(turn: Turn, task: Task, until: int) -> None:
    """The provider refused the task's newest attempt, which has ended: the queue rests until then."""
    state, attempt = turn.state, task.newest
    assert attempt is not None, "I2: a held task has an attempt"
    daemon = state.daemons[attempt.daemon_id]
    assert daemon.pool is not None, "I2: what is held is held in a pool"
    queue, pool = task.kind.queue, daemon.pool.id
    record = state.cooling.get((queue, pool))
    is_news = record is None or until > max(record.until, turn.now.wall) + TOLD_AGAIN_MS
    if record is None:
        record = state.cooling[queue, pool] = CoolingRecord(queue, pool, until)
    record.until = max(record.until, until)
    if record.probe is not None:
        # It began before this refusal, and can show nothing about the time after it.
        _let_go(turn, record, record.probe)
    _keep(turn, record)
    if is_news:
        _tell(turn, record, daemon)


def _tell(turn: Turn, record: CoolingRecord, refused: Daemon) -> None:
    """Whoever watches, and the other daemons that serve the queue here."""
    owner = record.pool or None
    turn.announce(EventName.QUEUE_COOLING, owner, {"queue": record.queue, "until": record.until})
    wait_ms = max(record.until - turn.now.wall, 0)
    for daemon in turn.state.yard.pools[record.pool].daemons.values():
        if daemon is not refused and daemon.session and serves(turn.state, daemon, record.queue):
            turn.effects.append(SlowDown(daemon.session, record.queue, wait_ms))


def serves(state: State, daemon: Daemon, queue: str) -> bool:
    """Whether a daemon of the pool may be given tasks of this queue."""
    config = queue_of(state, queue)
    models = () if config is None else config.models
    return not daemon.record.models or not models or any(model in daemon.record.models for model in models)


def begin_probe(turn: Turn, task: Task, attempt: Attempt, daemon: Daemon) -> None:
    """An attempt was granted: the first of its queue after the rest is the probe."""
    if not turn.state.cooling:
        return
    assert daemon.pool is not None, "I2: what is held is held in a pool"
    record = turn.state.cooling.get((task.kind.queue, daemon.pool.id))
    if record is None or record.probe is not None or turn.now.wall < record.until:
        return
    record.probe = task.id
    turn.state.probes[task.id] = record.queue, record.pool
    _keep(turn, record)
    _watch(turn, task)


def _watch(turn: Turn, task: Task) -> None:
    """Look again when it will have run long enough, should it run from now on, or has run since it began."""
    attempt = task.newest
    has_started = attempt is not None and attempt.started_at is not None
    began = turn.state.begun[task.id] if has_started else turn.now.mono
    turn.state.timers.set(Clock.MONO, Due.PROBE, task.id, began + ms_of(turn.state.settings.cooling.probe_s))


def judge_probe(turn: Turn, task: Task) -> None:
    """The probe's timer: it may have begun later than it was granted."""
    attempt = task.newest
    has_started = attempt is not None and attempt.started_at is not None
    long_enough = turn.state.begun[task.id] + ms_of(turn.state.settings.cooling.probe_s) <= turn.now.mono
    if has_started and long_enough:
        _pass(turn, turn.state.cooling[turn.state.probes[task.id]], task.id)
    else:
        _watch(turn, task)


def end_probe(turn: Turn, task: Task, attempt: Attempt, daemon: Daemon) -> None:
    """An attempt has ended: if it was the probe, the queue is as it was, or another goes first."""
    if task.id not in turn.state.probes:
        return
    record = turn.state.cooling[turn.state.probes[task.id]]
    if attempt.status in PASSED:
        _pass(turn, record, task.id)
    else:
        _let_go(turn, record, task.id)
        _keep(turn, record)


def _pass(turn: Turn, record: CoolingRecord, probe: str) -> None:
    _let_go(turn, record, probe)
    state = turn.state
    del state.cooling[record.queue, record.pool]
    state.ledger.kept[Keeps.COOLING, _name(record)] = None
    turn.announce(EventName.QUEUE_RESUMED, record.pool or None, {"queue": record.queue, "after": "cooling"})


def _let_go(turn: Turn, record: CoolingRecord, probe: str) -> None:
    """It is the probe no longer; whoever waited for it is looked at again."""
    record.probe = None
    del turn.state.probes[probe]
    turn.state.timers.cancel(Clock.MONO, Due.PROBE, probe)
    turn.state.yard.wake(("queue", record.queue, record.pool))


def _keep(turn: Turn, record: CoolingRecord) -> None:
    turn.state.ledger.kept[Keeps.COOLING, _name(record)] = record


def _name(record: CoolingRecord) -> str:
    """Pools are named after users, whose ids have no colon."""
    return f"{record.pool}:{record.queue}"
