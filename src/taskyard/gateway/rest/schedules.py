"""Schedules: a task each time the clock or the calendar says so."""

from itertools import islice
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta, Raw, UnsetType

from taskyard.core.cron import Cron, Heartbeat, Timing, zone_of
from taskyard.core.cron_fields import fault_of
from taskyard.core.schedule_commands import ChangeSchedule, CreateSchedule, DeleteSchedule, RunSchedule
from taskyard.core.schedule_records import HttpProbe, Occurrence, Probe, ScheduleRecord, TaskProbe, Template, What
from taskyard.core.task import Task, ms_of
from taskyard.core.told import KEEP
from taskyard.gateway.call import Call, Empty, OfUser, Reply, RequestRefused, refuse_fields
from taskyard.gateway.destinations import BadDestination, objection_to, read_allowed, read_destination
from taskyard.gateway.names import check_name
from taskyard.gateway.present import task_answer
from taskyard.gateway.priority_scale import put_on_scale
from taskyard.gateway.rest.filling import filled
from taskyard.gateway.rest.tasks import ask, whole
from taskyard.gateway.sizes import oversize_of
from taskyard.gateway.translate import draft_of
from taskyard.gateway.views import ScheduleView
from taskyard.vocabulary import Refusal, SourceType
from taskyard.vocabulary.schedules import ScheduleKind
from taskyard.wire.fields import FIELD_BYTES_MAX, NULL, Name, instant_of, instant_or_none
from taskyard.wire.problems import FieldError
from taskyard.wire.schedules import (
    PRESETS,
    RUNS_SHOWN_MAX,
    Every,
    NewSchedule,
    ProbeBody,
    RunAnswer,
    ScheduleAnswer,
    ScheduleChange,
    SkipAnswer,
    every_ms_of,
    plain_every,
    without_zone,
)
from taskyard.wire.submission import Source, Submission, faults_of
from taskyard.wire.tasks import OkAnswer

Q = TypeVar("Q")

NOT_OF_A_TEMPLATE: Final = (
    "deadline",
    "sla",
    "scheduled_for",
    "depends_on",
    "parent_task_id",
    "idempotency_key",
    "dedupe",
)
"""What belongs to one task and not to each of many."""
RESERVED: Final = ("presets", "preview")
"""What stands where a schedule's name could."""
UTC_ZONE: Final = "UTC"
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_SAYS_NOTHING: Final = (NULL, b"[]")


class NextQuery(OfUser, forbid_unknown_fields=True, kw_only=True):
    count: Annotated[int, Meta(ge=1, le=RUNS_SHOWN_MAX)] = 5


class PreviewQuery(OfUser, forbid_unknown_fields=True, kw_only=True):
    every: Every | None = None
    cron: Name | None = None
    timezone: Name | None = None
    count: Annotated[int, Meta(ge=1, le=RUNS_SHOWN_MAX)] = 5


async def list_schedules(call: Call[OfUser], _body: Empty) -> Reply:
    return Reply([_answer(view) for view in await call.hub.schedules(call.users(call.query.user))])


async def presets(_call: Call[OfUser], _body: Empty) -> Reply:
    return Reply(list(PRESETS))


async def show(call: Call[OfUser], _body: Empty) -> Reply:
    return Reply(_answer(await _view(call, call.user_id(call.query.user), call.id)))


async def create(call: Call[OfUser], body: NewSchedule) -> Reply:
    user_id, schedule_id = call.user_id(call.query.user), call.hub.mint()
    check_name(body.name, RESERVED)
    every_ms = None if body.every is None else _every_ms(body.every)
    kind = ScheduleKind.CRON if body.every is None else ScheduleKind.HEARTBEAT
    if body.kind not in (None, kind):
        raise _invalid("kind", f"A schedule of kind {body.kind} has `{'every' if body.every is None else 'cron'}`.")
    cron, zone = _fields_and_zone(body.cron, body.timezone)
    record = ScheduleRecord(
        id=schedule_id,
        user_id=user_id,
        name=body.name,
        what=await _what(call, user_id, schedule_id, body.task, "task"),
        every=None if body.every is None else plain_every(body.every),
        every_ms=every_ms,
        cron=cron,
        timezone=zone or UTC_ZONE,
        enabled=body.enabled,
        catch_up=body.catch_up,
        max_lateness_ms=None if body.max_lateness is None else ms_of(body.max_lateness),
        probe=await _probe(call, user_id, schedule_id, body.probe),
    )
    await ask(call, CreateSchedule(record, call.principal.actor))
    return Reply(_answer(await _view(call, user_id, schedule_id)), status=201)


async def change(call: Call[OfUser], body: ScheduleChange) -> Reply:
    user_id = call.user_id(call.query.user)
    schedule_id = (await _view(call, user_id, call.id)).id
    command = ChangeSchedule(user_id, schedule_id, call.principal.actor)
    for name in ("name", "cron", "timezone", "enabled", "catch_up"):
        value = getattr(body, name)
        setattr(command, name, KEEP if isinstance(value, UnsetType) else value)
    if not isinstance(body.name, UnsetType):
        check_name(body.name, RESERVED)
    if not isinstance(body.cron, UnsetType):
        named = None if isinstance(body.timezone, UnsetType) else body.timezone
        fields, zone = _fields_and_zone(body.cron, named)
        command.cron = KEEP if fields is None else fields
        command.timezone = KEEP if zone is None else zone
    if not isinstance(body.every, UnsetType):
        command.every, command.every_ms = plain_every(body.every), _every_ms(body.every)
    if not isinstance(body.max_lateness, UnsetType):
        command.max_lateness_ms = None if body.max_lateness is None else ms_of(body.max_lateness)
    if not isinstance(body.task, UnsetType):
        command.what = await _what(call, user_id, schedule_id, body.task, "task")
    if not isinstance(body.probe, UnsetType):
        command.probe = await _probe(call, user_id, schedule_id, body.probe)
        command.drops_probe = body.probe is None
    await ask(call, command)
    return Reply(_answer(await _view(call, user_id, schedule_id)))


async def delete(call: Call[OfUser], _body: Empty) -> Reply:
    await ask(call, DeleteSchedule(call.user_id(call.query.user), call.id, call.principal.actor))
    return Reply(OkAnswer())


async def run(call: Call[OfUser], _body: Empty) -> Reply:
    user_id, principal = call.user_id(call.query.user), call.principal
    _check_source(call)
    command = RunSchedule(user_id, call.id, call.hub.mint(), principal.max_priority)
    done, written = await ask(call, command)
    assert done.task_id is not None, "a run is answered with its task"
    stored = written.get(done.task_id)
    shown = await whole(call, user_id, done.task_id) if stored is None else Reply(task_answer(stored))
    return Reply(shown.value, status=201)


async def runs(call: Call[OfUser], _body: Empty) -> Reply:
    """The newest first, as many as are remembered."""
    view = await _view(call, call.user_id(call.query.user), call.id)
    made = tuple(one.task_id for one in view.recent if one.task_id is not None)
    known = await call.hub.read(lambda reader: reader.known(user_id=view.user_id, ids=made, refs=(), keys=()))
    return Reply([_run(one, known.tasks.get(one.task_id or "")) for one in reversed(view.recent)])


def _run(one: Occurrence, task: Task | None) -> RunAnswer:
    return RunAnswer(
        at=instant_of(one.at),
        due_at=instant_of(one.due_at),
        task_id=one.task_id,
        ref=None if task is None else task.ref,
        status=None if task is None else task.status,
        reason=one.reason,
        code=one.code,
        count=one.count,
    )


async def next_runs(call: Call[NextQuery], _body: Empty) -> Reply:
    view = await _view(call, call.user_id(call.query.user), call.id)
    after = max(view.through, call.hub.now_ms())
    return Reply([instant_of(at) for at in islice(_timing(view).after(after), call.query.count)])


async def preview(call: Call[PreviewQuery], _body: Empty) -> Reply:
    """When a schedule would run that is not written down yet."""
    query, now_ms = call.query, call.hub.now_ms()
    if (query.every is None) == (query.cron is None):
        raise _invalid("every", "Say either `every` or `cron`.")
    cron, name = _fields_and_zone(query.cron, query.timezone)
    zone = zone_of(name or UTC_ZONE)
    if zone is None:
        raise _invalid("timezone", f"There is no time zone {name}; write it as in Europe/Paris or UTC.")
    fault = None if cron is None else fault_of(cron)
    if fault is not None:
        raise _invalid("cron", fault)
    timing = Heartbeat(_every_ms(query.every), now_ms) if query.every is not None else Cron(cron or "", zone)
    return Reply([instant_of(at) for at in islice(timing.after(now_ms), query.count)])


# From what was sent.


def _fields_and_zone(cron: str | None, timezone: str | None) -> tuple[str | None, str | None]:
    """The expression without its `CRON_TZ=`, which names the zone where nothing else does; None: no zone is named."""
    if cron is None:
        return None, timezone
    fields, named = without_zone(cron)
    if named is not None and timezone not in (None, named):
        raise _invalid("timezone", f"`timezone` says {timezone} and `CRON_TZ` {named}: leave one of them out.")
    return fields, named if timezone is None else timezone


def _every_ms(text: str) -> int:
    found = every_ms_of(text)
    if found is None:
        raise _invalid("every", "Write an interval as 30s, 5m, 1h, 1d or 1w, of a year at most.")
    return found


async def _what(call: Call[OfUser], user_id: str, schedule_id: str, task: Submission, place: str) -> What:
    """The task that each run makes: looked at now as far as that is possible, so that no run has to fail for it.

    A template is filled now too: what becomes of it later changes no schedule.
    """
    _check_source(call)
    task = await filled(call, user_id, task, Submission, at=place) or task
    said = {name: raw for name, raw in _decode(_encode(task)).items() if bytes(raw) not in _SAYS_NOTHING}
    del said["on_depends_fail"]
    faults = [FieldError(name, "belongs to one task, not to each run of a schedule") for name in NOT_OF_A_TEMPLATE]
    found = [fault for fault in faults if fault.path in said]
    source = task.source or Source(SourceType.SCHEDULE)
    if task.source is not None and task.source.type is not SourceType.SCHEDULE:
        found.append(FieldError("source.type", "is schedule"))
    found += faults_of(task)
    if found:
        raise refuse_fields(found, below=place)
    shown = _encode(said)
    if len(shown) > FIELD_BYTES_MAX:
        # Of its fields some may be larger in a task that is handed in alone: naming their limits too would contradict.
        large = [FieldError("", f"of a schedule has at most {FIELD_BYTES_MAX:,} bytes of JSON in all")]
    else:
        large = list(oversize_of(task, call.door.size))
    if large:
        raise refuse_fields(large, Refusal.TOO_LARGE, below=place)
    task.source = Source(SourceType.SCHEDULE, schedule_id, source.channel)
    put_on_scale(task, call.principal.priority_scale)
    draft = draft_of(task, id="", user_id=user_id, settings=call.hub.settings)
    template = Template(
        draft.kind,
        draft.terms,
        draft.body,
        queue=draft.queue,
        channel=draft.channel,
        level=draft.level,
        value=draft.value,
        correlation_id=draft.correlation_id,
    )
    return What(shown, template, call.principal.max_priority)


async def _probe(call: Call[OfUser], user_id: str, schedule_id: str, probe: ProbeBody | None) -> Probe | None:
    if probe is None:
        return None
    timeout_s = call.hub.settings.schedules.probe_s if probe.timeout is None else probe.timeout
    if probe.task is not None and probe.url is None:
        what = await _what(call, user_id, schedule_id, probe.task, "probe.task")
        return TaskProbe(what, ms_of(timeout_s))
    if probe.url is None or probe.task is not None:
        raise _invalid("probe", "A probe has either a `task` or a `url`.")
    numbers = call.hub.settings.notifications
    try:
        objection = objection_to(read_destination(probe.url), read_allowed(numbers.allow, numbers.ports))
    except BadDestination as bad:
        objection = str(bad)
    if objection is not None:
        raise _invalid("probe.url", objection)
    return HttpProbe(probe.url, ms_of(timeout_s))


def _check_source(call: Call[OfUser]) -> None:
    """A key that is bound to other sources makes no tasks of this one, now or later."""
    sources = call.principal.sources
    if sources is not None and SourceType.SCHEDULE not in sources:
        raise RequestRefused(Refusal.FORBIDDEN, "This key may not submit as schedule.")


def _invalid(path: str, message: str) -> RequestRefused:
    return RequestRefused(Refusal.INVALID_INPUT, message, errors=(FieldError(path, message),))


# To what is shown.


async def _view(call: Call[Q], user_id: str, schedule: str) -> ScheduleView:
    found = await call.hub.schedule(user_id, schedule)
    if found is None:
        raise RequestRefused(Refusal.SCHEDULE_NOT_FOUND, f"There is no schedule {schedule} of yours.")
    return found


def _timing(view: ScheduleView) -> Timing:
    if view.every_ms is not None:
        return Heartbeat(view.every_ms, view.anchor)
    zone = zone_of(view.timezone)
    assert zone is not None, "a schedule's zone was looked up when it was made"
    return Cron(view.cron or "", zone)


def _answer(view: ScheduleView) -> ScheduleAnswer:
    skip = view.last_skip
    return ScheduleAnswer(
        id=view.id,
        user_id=view.user_id,
        name=view.name,
        kind=ScheduleKind.CRON if view.cron is not None else ScheduleKind.HEARTBEAT,
        every=view.every,
        cron=view.cron,
        timezone=view.timezone,
        task=Raw(view.task),
        enabled=view.enabled,
        catch_up=view.catch_up,
        max_lateness=None if view.max_lateness_ms is None else view.max_lateness_ms / 1000,
        probe=_probe_shown(view),
        created_at=instant_of(view.created_at),
        last_run_at=instant_or_none(view.last_run_at),
        next_run_at=instant_or_none(view.next_run_at),
        last_outcome=view.last_outcome,
        last_task_id=view.last_task_id,
        runs=view.runs,
        skipped=view.skipped,
        last_skip=None
        if skip is None
        else SkipAnswer(
            at=instant_of(skip.at),
            due_at=instant_of(skip.due_at),
            reason=skip.reason,
            code=skip.code,
            count=skip.count,
        ),
    )


def _probe_shown(view: ScheduleView) -> Raw:
    probe = view.probe
    if probe is None:
        return Raw(NULL)
    said: dict[str, object] = {"timeout": probe.timeout_ms / 1000}
    if isinstance(probe, HttpProbe):
        return Raw(_encode({"url": probe.url, **said}))
    return Raw(_encode({"task": Raw(probe.what.shown), **said}))
