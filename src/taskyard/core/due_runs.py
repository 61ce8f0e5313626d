"""What becomes of a due run: a task, a skip with its reason, or first a probe.

Each schedule has one timer, at its next due time. What is due is settled in the commit that moves `through` past it,
together with the task that it made: so no fault makes a run twice, and none passes over one without a word. A calendar
that is put back repeats nothing, since `through` never goes back. What came due while the hub was away, or while the
calendar was put forward, is settled by the schedule's own policy: the newest is made up, or none, or all.

A run's id is made of its schedule's and its due time, so that the same run is the same task whoever makes it.
"""

from hashlib import blake2b
from typing import Final

from taskyard.core.cancel import call_off
from taskyard.core.changes import Data
from taskyard.core.commands import Draft, SubmitTasks
from taskyard.core.cron import Cron, Heartbeat, Timing, zone_of
from taskyard.core.effects import AskProbe, Refused
from taskyard.core.intake import take
from taskyard.core.occurrences import keep_runs, remember
from taskyard.core.priority import lower_of
from taskyard.core.schedule_commands import AnswerProbe
from taskyard.core.schedule_records import (
    HttpProbe,
    Occurrence,
    Probing,
    RunsRecord,
    ScheduleRecord,
    Skip,
    TaskProbe,
    What,
)
from taskyard.core.state import State, Turn
from taskyard.core.task import ms_of
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import ENDED, EventName, Level, Status
from taskyard.vocabulary.schedules import CatchUp, SkipReason

MADE_AT_ONCE_MAX: Final = 10
# Of one schedule's missed runs; then others have their turn. A tick lets a thousand timers act.
TIMED_OUT: Final = "Its schedule has waited for it long enough."


def timing_of(record: ScheduleRecord) -> Timing:
    if record.every_ms is not None:
        return Heartbeat(record.every_ms, record.anchor)
    zone = zone_of(record.timezone)
    assert record.cron is not None, "I9: a schedule has an interval or an expression"
    assert zone is not None, "I9: a schedule's zone was looked up when it was made"
    return Cron(record.cron, zone)


def watch(state: State, record: ScheduleRecord) -> None:
    """Its timer follows from what is settled."""
    due = next_run_of(state, record)
    if due is None:
        state.timers.cancel(Clock.WALL, Due.SCHEDULE, record.id)
    else:
        state.timers.set(Clock.WALL, Due.SCHEDULE, record.id, due)


def next_run_of(state: State, record: ScheduleRecord) -> int | None:
    """None: it is not enabled, or its days are over."""
    return timing_of(record).next_after(state.schedule_runs[record.id].through) if record.enabled else None


def come_due(turn: Turn, schedule_id: str) -> None:
    state, now_ms = turn.state, turn.now.wall
    record, runs = state.schedules[schedule_id], state.schedule_runs[schedule_id]
    makes_up_all, timing = record.catch_up is CatchUp.ALL, timing_of(record)
    most = state.settings.schedules.catch_up_max if makes_up_all else 1
    due, passed_over = timing.newest(runs.through, now_ms, most)
    if passed_over:
        first = timing.next_after(runs.through)
        assert first is not None, "what was passed over was due"
        _skip(turn, record, runs, Skip(now_ms, first, SkipReason.MISSED, count=passed_over))
    is_late = now_ms - due[0] > _late_after_ms(state)
    if passed_over or len(due) > 1 or is_late:
        runs.making_up_until = due[-1]
    for due_at in due[:MADE_AT_ONCE_MAX]:
        runs.through = due_at
        _settle(turn, record, runs, due_at, is_guarded=not (makes_up_all and due_at <= runs.making_up_until))
    keep_runs(turn, schedule_id, runs)
    watch(state, record)


def _settle(turn: Turn, record: ScheduleRecord, runs: RunsRecord, due_at: int, *, is_guarded: bool) -> None:
    late_ms = turn.now.wall - due_at
    if record.max_lateness_ms is not None and late_ms > record.max_lateness_ms:
        _skip(turn, record, runs, Skip(turn.now.wall, due_at, SkipReason.TOO_LATE))
    elif record.catch_up is CatchUp.NONE and late_ms > _late_after_ms(turn.state):
        _skip(turn, record, runs, Skip(turn.now.wall, due_at, SkipReason.MISSED))
    elif is_guarded and is_busy(turn.state, record.id):
        _skip(turn, record, runs, Skip(turn.now.wall, due_at, SkipReason.UNFINISHED))
    elif record.probe is not None:
        _ask(turn, record, runs, record.probe, due_at)
    else:
        _make(turn, record, runs, due_at)


def _late_after_ms(state: State) -> int:
    return ms_of(state.settings.schedules.late_after_s)


def is_busy(state: State, schedule_id: str) -> bool:
    """The flood guard: something that it made is unfinished. What is blocked waits for a person, not for its turn."""
    if state.schedule_runs[schedule_id].probing is not None:
        return True
    return any(state.tasks[i].status is not Status.BLOCKED for i in state.unfinished.get(schedule_id, ()))


def _make(turn: Turn, record: ScheduleRecord, runs: RunsRecord, due_at: int) -> None:
    refused = make(turn, record, run_id(record.id, due_at), due_at=due_at)
    if refused is not None:
        _skip(turn, record, runs, Skip(turn.now.wall, due_at, SkipReason.REFUSED, refused.code))


def make(
    turn: Turn, record: ScheduleRecord, task_id: str, *, due_at: int, ceiling: Level | None = None
) -> Refused | None:
    """The task of a run, or intake's refusal."""
    refused = _take(turn, record, record.what, task_id, ceiling)
    if refused is None:
        remember(turn.state.schedule_runs[record.id], Occurrence(turn.now.wall, due_at, task_id))
        said: Data = {"task": turn.state.tasks[task_id].ref, "task_id": task_id}
        turn.announce(EventName.SCHEDULE_RAN, record.user_id, _facts(record, due_at) | said)
    return refused


def _take(turn: Turn, record: ScheduleRecord, what: What, task_id: str, ceiling: Level | None = None) -> Refused | None:
    template = what.template
    draft = Draft(
        id=task_id,
        kind=template.kind,
        terms=template.terms,
        body=template.body,
        queue=template.queue,
        channel=template.channel,
        level=template.level,
        value=template.value,
        correlation_id=template.correlation_id,
        schedule_id=record.id,
    )
    lowest = ceiling if what.ceiling is None else lower_of(what.ceiling, ceiling)
    answer = take(turn, SubmitTasks(record.user_id, [draft], ceiling=lowest))
    return answer if isinstance(answer, Refused) else None


def _skip(turn: Turn, record: ScheduleRecord, runs: RunsRecord, skip: Skip) -> None:
    runs.skipped += skip.count
    runs.last_skip = skip
    remember(runs, Occurrence(skip.at, skip.due_at, None, skip.reason, skip.code, skip.count))
    said: Data = {"reason": skip.reason, "code": skip.code, "count": skip.count}
    turn.announce(EventName.SCHEDULE_SKIPPED, record.user_id, _facts(record, skip.due_at) | said)


def _facts(record: ScheduleRecord, due_at: int) -> Data:
    return {"schedule_id": record.id, "name": record.name, "due_at": due_at}


def run_id(schedule_id: str, due_at: int, purpose: str = "run") -> str:
    """A UUIDv7 of its due time; what else would be drawn is a digest of whose it is and what for."""
    digest = blake2b(f"{schedule_id}/{due_at}/{purpose}".encode(), digest_size=10).digest()
    drawn = int.from_bytes(digest)
    end = f"{1 << 63 | drawn & (1 << 62) - 1:016x}"
    return f"{due_at >> 16:08x}-{due_at & 0xFFFF:04x}-7{drawn >> 68:03x}-{end[:4]}-{end[4:]}"


# Probes: whether there is something to do at all.


def _ask(turn: Turn, record: ScheduleRecord, runs: RunsRecord, probe: TaskProbe | HttpProbe, due_at: int) -> None:
    if isinstance(probe, HttpProbe):
        runs.probing = Probing(due_at)
        turn.effects.append(AskProbe(record.id, due_at, probe.url, probe.timeout_ms))
    else:
        task_id = run_id(record.id, due_at, "probe")
        runs.probing = Probing(due_at, task_id)
        refused = _take(turn, record, probe.what, task_id)
        if refused is not None:
            runs.probing = None
            _skip(turn, record, runs, Skip(turn.now.wall, due_at, SkipReason.REFUSED, refused.code))
            return
    turn.state.timers.set(Clock.MONO, Due.SCHEDULE_PROBE, record.id, turn.now.mono + probe.timeout_ms)


def ask_again(turn: Turn, schedule_id: str) -> None:
    """A hub that has started does not know whether the request was made: it makes it."""
    record, probing = turn.state.schedules[schedule_id], turn.state.schedule_runs[schedule_id].probing
    assert probing is not None, "I9: who asks again has asked"
    assert isinstance(record.probe, HttpProbe), "I9: a task that probes goes on by itself"
    turn.effects.append(AskProbe(schedule_id, probing.due_at, record.probe.url, record.probe.timeout_ms))


def answer_probe(turn: Turn, command: AnswerProbe) -> None:
    """One that nobody waits for any more says nothing."""
    runs = turn.state.schedule_runs.get(command.schedule_id)
    probing = None if runs is None else runs.probing
    if probing is not None and probing.task_id is None and probing.due_at == command.due_at:
        probing.is_answered, probing.objection, probing.code = True, command.objection, command.code
        _conclude(turn, command.schedule_id)


def hear_probes(turn: Turn) -> None:
    """Tasks that probed have ended."""
    probed = turn.state.probed
    while probed:
        _conclude(turn, probed.popleft())


def _conclude(turn: Turn, schedule_id: str) -> None:
    record, runs = turn.state.schedules.get(schedule_id), turn.state.schedule_runs.get(schedule_id)
    if record is None or runs is None or runs.probing is None or not runs.probing.is_answered:
        return
    due_at, objection, code = runs.probing.due_at, runs.probing.objection, runs.probing.code
    forget_probe(turn.state, record)
    if objection is None and is_busy(turn.state, schedule_id):
        # A person had it run meanwhile.
        objection = SkipReason.UNFINISHED
    if objection is None:
        _make(turn, record, runs, due_at)
    else:
        _skip(turn, record, runs, Skip(turn.now.wall, due_at, objection, code))
    keep_runs(turn, schedule_id, runs)


def give_up_probe(turn: Turn, schedule_id: str) -> None:
    """It has had its time."""
    abandon_probe(turn, turn.state.schedules[schedule_id], SkipReason.PROBE_TIMED_OUT)


def abandon_probe(turn: Turn, record: ScheduleRecord, reason: SkipReason) -> None:
    """The run that waits for it is not made. Whatever finds it out is called off."""
    runs = turn.state.schedule_runs[record.id]
    if runs.probing is None:
        return
    due_at, task = runs.probing.due_at, turn.state.tasks.get(runs.probing.task_id or "")
    forget_probe(turn.state, record)
    if task is not None and task.status not in ENDED:
        call_off(turn, task, TIMED_OUT)
    _skip(turn, record, runs, Skip(turn.now.wall, due_at, reason))
    keep_runs(turn, record.id, runs)


def forget_probe(state: State, record: ScheduleRecord) -> None:
    state.schedule_runs[record.id].probing = None
    state.timers.cancel(Clock.MONO, Due.SCHEDULE_PROBE, record.id)
    state.timers.cancel(Clock.MONO, Due.SCHEDULE_ASK, record.id)
