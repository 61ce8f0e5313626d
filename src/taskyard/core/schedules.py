"""Schedules: what their owners say of them. What becomes of a due run is decided in `due_runs.py`.

Every change holds from its own commit on. New times begin now: what the old ones had due is neither made up nor
repeated. One that was disabled goes on in its old rhythm when it is enabled again, from then on.
"""

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec.json import Decoder

from taskyard.core.cron import zone_of
from taskyard.core.cron_fields import fault_of
from taskyard.core.due_runs import abandon_probe, make, watch
from taskyard.core.effects import Done, Refused, Reply
from taskyard.core.occurrences import keep_runs
from taskyard.core.queues import unroutable
from taskyard.core.schedule_commands import ChangeSchedule, CreateSchedule, DeleteSchedule, RunSchedule
from taskyard.core.schedule_records import HttpProbe, RunsRecord, ScheduleRecord, TaskProbe
from taskyard.core.state import State, Turn
from taskyard.core.task import ms_of
from taskyard.core.timers import Clock, Due
from taskyard.core.told import Keep
from taskyard.vocabulary import Keeps, Refusal
from taskyard.vocabulary.schedules import CatchUp, SkipReason

NO_USER: Final = Refused(Refusal.USER_NOT_FOUND, "There is no such user.")
_record: Final = Decoder(ScheduleRecord)
_runs: Final = Decoder(RunsRecord)


# What may be written down.

Check = Callable[[State, ScheduleRecord], Refused | None]


def name_is_free(state: State, record: ScheduleRecord) -> Refused | None:
    """Names stand for schedules wherever ids do, so none may be called like the id of another either."""
    holder = state.schedule_names.get((record.user_id, record.name), record.name)
    found = state.schedules.get(holder)
    if found is None or found.id == record.id or found.user_id != record.user_id:
        return None
    return Refused(Refusal.NAME_TAKEN, f"You have a schedule {record.name} already; choose another name.", field="name")


def there_is_room(state: State, record: ScheduleRecord) -> Refused | None:
    most = state.settings.schedules.per_user_max
    if record.id in state.schedules or sum(user_id == record.user_id for user_id, _ in state.schedule_names) < most:
        return None
    return Refused(Refusal.TOO_MANY_SCHEDULES, f"You have {most} schedules, which is the most; delete one first.")


def goes_by_one_thing(_state: State, record: ScheduleRecord) -> Refused | None:
    if (record.every_ms is None) != (record.cron is None):
        return None
    return _bad("every", "A schedule has either `every` or `cron`.")


def interval_is_long_enough(state: State, record: ScheduleRecord) -> Refused | None:
    shortest_s = state.settings.schedules.interval_min_s
    if record.every_ms is None or record.every_ms >= ms_of(shortest_s):
        return None
    return _bad("every", f"The shortest interval is {shortest_s:g} s.")


def expression_is_right(_state: State, record: ScheduleRecord) -> Refused | None:
    fault = None if record.cron is None else fault_of(record.cron)
    return None if fault is None else _bad("cron", fault)


def zone_exists(_state: State, record: ScheduleRecord) -> Refused | None:
    if zone_of(record.timezone) is not None:
        return None
    return _bad("timezone", f"There is no time zone {record.timezone}; write it as in Europe/Paris or UTC.")


def probe_is_in_bounds(state: State, record: ScheduleRecord) -> Refused | None:
    if record.probe is None:
        return None
    most_s = state.settings.schedules.probe_max_s
    if record.probe.timeout_ms > ms_of(most_s):
        return _bad("probe.timeout", f"A run waits for its probe for at most {most_s:g} s.")
    if record.catch_up is CatchUp.ALL:
        return _bad("catch_up", "A schedule with a probe makes up one run at most: set catch_up to one or none.")
    return None


def tasks_are_routed(state: State, record: ScheduleRecord) -> Refused | None:
    """What stays as it was written down is not looked at again: a queue that went away keeps nobody from pausing."""
    old, probe = state.schedules.get(record.id), record.probe
    whats = [] if old is not None and old.what is record.what else [("task", record.what.template)]
    if isinstance(probe, TaskProbe) and (old is None or old.probe is not probe):
        whats.append(("probe.task", probe.what.template))
    for place, template in whats:
        refused = unroutable(state, queue=template.queue, model=template.kind.needs.model)
        if refused is not None:
            return msgspec.structs.replace(refused, field=f"{place}.{refused.field}")
    return None


CHECKS: Final[tuple[Check, ...]] = (
    name_is_free,
    there_is_room,
    goes_by_one_thing,
    interval_is_long_enough,
    expression_is_right,
    zone_exists,
    probe_is_in_bounds,
    tasks_are_routed,
)


def _bad(field: str, detail: str) -> Refused:
    return Refused(Refusal.INVALID_INPUT, detail, field=field)


def _objection(state: State, record: ScheduleRecord) -> Refused | None:
    for check in CHECKS:
        refused = check(state, record)
        if refused is not None:
            return refused
    return None


# What owners say.


def find(state: State, user_id: str, schedule: str) -> ScheduleRecord | None:
    """A user's schedule, by id or name; another's looks like none."""
    record = state.schedules.get(state.schedule_names.get((user_id, schedule), schedule))
    return record if record is not None and record.user_id == user_id else None


def not_found(schedule: str) -> Refused:
    return Refused(Refusal.SCHEDULE_NOT_FOUND, f"There is no schedule {schedule} of yours.")


def create(turn: Turn, command: CreateSchedule) -> None:
    state, record, now_ms = turn.state, command.record, turn.now.wall
    refused = NO_USER if record.user_id not in state.users else _objection(state, record)
    if refused is not None:
        turn.effects.append(Reply(command.reply_to, refused))
        return
    record.created_at = record.anchor = now_ms
    runs = state.schedule_runs[record.id] = RunsRecord(now_ms)
    _put(turn, record)
    keep_runs(turn, record.id, runs)
    watch(state, record)
    turn.audit(actor=command.actor, action="schedule.create", subject=record.id, new=record.name)
    turn.effects.append(Reply(command.reply_to, Done()))


def change(turn: Turn, command: ChangeSchedule) -> None:
    state, now_ms = turn.state, turn.now.wall
    old = find(state, command.user_id, command.schedule)
    if old is None:
        turn.effects.append(Reply(command.reply_to, not_found(command.schedule)))
        return
    new = _changed(old, command)
    refused = _objection(state, new)
    if refused is not None:
        turn.effects.append(Reply(command.reply_to, refused))
        return
    has_new_times = (new.every_ms, new.cron, new.timezone) != (old.every_ms, old.cron, old.timezone)
    if has_new_times or not new.enabled or new.probe != old.probe:
        abandon_probe(turn, old, SkipReason.CHANGED)
    if has_new_times:
        new.anchor = now_ms
    if has_new_times or (new.enabled and not old.enabled):
        _begin_anew(turn, new)
    del state.schedule_names[old.user_id, old.name]
    _put(turn, new)
    watch(state, new)
    turn.audit(actor=command.actor, action="schedule.change", subject=new.id, old=old.name, new=new.name)
    turn.effects.append(Reply(command.reply_to, Done()))


def _changed(old: ScheduleRecord, command: ChangeSchedule) -> ScheduleRecord:
    new = msgspec.structs.replace(old)
    for field in ("name", "timezone", "enabled", "catch_up", "max_lateness_ms"):
        value = getattr(command, field)
        if not isinstance(value, Keep):
            setattr(new, field, value)
    new.what = command.what or old.what
    new.probe = command.probe or (None if command.drops_probe else old.probe)
    if not isinstance(command.every, Keep):
        new.every, new.every_ms, new.cron = command.every, command.every_ms, None
    if not isinstance(command.cron, Keep):
        new.cron = command.cron
        if isinstance(command.every, Keep):
            new.every = new.every_ms = None
    return new


def _begin_anew(turn: Turn, record: ScheduleRecord) -> None:
    """What came due before now is settled: it was not to be made."""
    runs = turn.state.schedule_runs[record.id]
    runs.through = max(runs.through, turn.now.wall)
    keep_runs(turn, record.id, runs)


def delete(turn: Turn, command: DeleteSchedule) -> None:
    state = turn.state
    record = find(state, command.user_id, command.schedule)
    if record is None:
        turn.effects.append(Reply(command.reply_to, not_found(command.schedule)))
        return
    abandon_probe(turn, record, SkipReason.CHANGED)
    state.timers.cancel(Clock.WALL, Due.SCHEDULE, record.id)
    del state.schedules[record.id], state.schedule_names[record.user_id, record.name], state.schedule_runs[record.id]
    state.unfinished.pop(record.id, None)
    state.ledger.kept[Keeps.SCHEDULE, record.id] = None
    state.ledger.kept[Keeps.SCHEDULE_RUNS, record.id] = None
    turn.audit(actor=command.actor, action="schedule.delete", subject=record.id, old=record.name)
    turn.effects.append(Reply(command.reply_to, Done()))


def run_now(turn: Turn, command: RunSchedule) -> None:
    record = find(turn.state, command.user_id, command.schedule)
    if record is None:
        turn.effects.append(Reply(command.reply_to, not_found(command.schedule)))
        return
    refused = make(turn, record, command.task_id, due_at=turn.now.wall, ceiling=command.ceiling)
    turn.effects.append(Reply(command.reply_to, refused or Done(command.task_id)))


def _put(turn: Turn, record: ScheduleRecord) -> None:
    turn.state.schedules[record.id] = record
    turn.state.schedule_names[record.user_id, record.name] = record.id
    turn.state.ledger.kept[Keeps.SCHEDULE, record.id] = record


# What a start finds.


def remember(state: State, _name: str, record: bytes) -> None:
    schedule = _record.decode(record)
    state.schedules[schedule.id] = schedule
    state.schedule_names[schedule.user_id, schedule.name] = schedule.id


def remember_runs(state: State, name: str, record: bytes) -> None:
    state.schedule_runs[name] = _runs.decode(record)


def take_up(turn: Turn) -> None:
    """Timers for what was read. A run that waited for its probe gives it its time anew."""
    state = turn.state
    for record in state.schedules.values():
        watch(state, record)
        probing, probe = state.schedule_runs[record.id].probing, record.probe
        if probing is None or probe is None:
            continue
        if probing.is_answered:
            state.probed.append(record.id)
            continue
        state.timers.set(Clock.MONO, Due.SCHEDULE_PROBE, record.id, turn.now.mono + probe.timeout_ms)
        if isinstance(probe, HttpProbe):
            state.timers.set(Clock.MONO, Due.SCHEDULE_ASK, record.id, turn.now.mono)
