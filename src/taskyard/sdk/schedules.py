"""Schedules, as both clients have them: what is asked, what comes back, and the calls."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from taskyard.sdk.answers import Acknowledged, TaskRecord
from taskyard.sdk.request import AsyncCalls, Calls, Request, get, given, segment, send


class SkipRecord(Struct, kw_only=True):
    """A due run that made no task, or several in a row."""

    at: datetime
    due_at: datetime
    reason: str
    code: str | None = None
    count: int = 1


class RunRecord(Struct, kw_only=True):
    """What became of a due run: a task, or a skip for some reason."""

    at: datetime
    due_at: datetime
    task_id: str | None = None
    ref: str | None = None
    status: str | None = None
    reason: str | None = None
    code: str | None = None
    count: int = 1


class ScheduleRecord(Struct, kw_only=True):
    id: str
    user_id: str = ""
    name: str
    kind: str = ""
    every: str | None = None
    cron: str | None = None
    timezone: str = "UTC"
    task: dict[str, Any] = {}
    enabled: bool = True
    catch_up: str = "one"
    max_lateness: float | None = None
    probe: dict[str, Any] | None = None
    created_at: datetime | None = None
    last_run_at: datetime | None = None
    next_run_at: datetime | None = None
    last_outcome: str | None = None
    """What became of the last run's task; None while that is unfinished."""
    last_task_id: str | None = None
    runs: int = 0
    skipped: int = 0
    last_skip: SkipRecord | None = None


class PresetRecord(Struct, kw_only=True, omit_defaults=True):
    name: str
    title: str = ""
    every: str | None = None
    cron: str | None = None


# Requests.


def list_schedules() -> Request[list[ScheduleRecord]]:
    return get("/schedules", list[ScheduleRecord])


def list_presets() -> Request[list[PresetRecord]]:
    return get("/schedules/presets", list[PresetRecord])


def get_schedule(schedule: str) -> Request[ScheduleRecord]:
    return get(_path(schedule), ScheduleRecord)


def add_schedule(name: str, task: Mapping[str, Any], options: Mapping[str, Any]) -> Request[ScheduleRecord]:
    """Not repeated: the name would be taken by what the first try made."""
    body = {"name": name, "task": task, **given(**options)}
    return send("POST", "/schedules", ScheduleRecord, body, idempotent=False)


def change_schedule(schedule: str, changes: Mapping[str, Any]) -> Request[ScheduleRecord]:
    """Here None has a meaning: a `probe` or a `max_lateness` of null is removed."""
    return send("PATCH", _path(schedule), ScheduleRecord, changes, idempotent=True)


def delete_schedule(schedule: str) -> Request[Acknowledged]:
    """Not repeated: one that is gone is not found a second time."""
    return send("DELETE", _path(schedule), Acknowledged, None, idempotent=False)


def run_schedule(schedule: str) -> Request[TaskRecord]:
    """Not repeated: it would run twice."""
    return send("POST", f"{_path(schedule)}/run", TaskRecord, None, idempotent=False)


def get_next_runs(schedule: str, count: int) -> Request[list[datetime]]:
    return get(f"{_path(schedule)}/next", list[datetime], count=count)


def list_runs(schedule: str) -> Request[list[RunRecord]]:
    return get(f"{_path(schedule)}/runs", list[RunRecord])


def preview_schedule(every: str | None, cron: str | None, timezone: str | None, count: int) -> Request[list[datetime]]:
    return get("/schedules/preview", list[datetime], every=every, cron=cron, timezone=timezone, count=count)


def _path(schedule: str) -> str:
    return f"/schedules/{segment(schedule)}"


# The calls of each client.


class ScheduleCalls:
    """A schedule is named by its id or by its name."""

    def schedules(self: Calls) -> list[ScheduleRecord]:
        """One's schedules, newest first."""
        return self.call(list_schedules())

    def schedule_presets(self: Calls) -> list[PresetRecord]:
        return self.call(list_presets())

    def schedule(self: Calls, schedule: str) -> ScheduleRecord:
        return self.call(get_schedule(schedule))

    def add_schedule(self: Calls, name: str, task: Mapping[str, Any], **options: Any) -> ScheduleRecord:
        """`every` or `cron`; also `timezone`, `enabled`, `catch_up`, `max_lateness`, `probe`."""
        return self.call(add_schedule(name, task, options))

    def change_schedule(self: Calls, schedule: str, **changes: Any) -> ScheduleRecord:
        """Holds at once. A new `every` takes the place of `cron`, and the other way round."""
        return self.call(change_schedule(schedule, changes))

    def delete_schedule(self: Calls, schedule: str) -> Acknowledged:
        return self.call(delete_schedule(schedule))

    def run_schedule(self: Calls, schedule: str) -> TaskRecord:
        """Now, whatever is due when; the task that this makes."""
        return self.call(run_schedule(schedule))

    def next_runs(self: Calls, schedule: str, *, count: int = 5) -> list[datetime]:
        return self.call(get_next_runs(schedule, count))

    def schedule_runs(self: Calls, schedule: str) -> list[RunRecord]:
        """What became of its last due runs, newest first."""
        return self.call(list_runs(schedule))

    def preview_schedule(
        self: Calls, *, every: str | None = None, cron: str | None = None, timezone: str | None = None, count: int = 5
    ) -> list[datetime]:
        """When a schedule would run that is not written down yet."""
        return self.call(preview_schedule(every, cron, timezone, count))


class AsyncScheduleCalls:
    """As `ScheduleCalls`."""

    async def schedules(self: AsyncCalls) -> list[ScheduleRecord]:
        return await self.call(list_schedules())

    async def schedule_presets(self: AsyncCalls) -> list[PresetRecord]:
        return await self.call(list_presets())

    async def schedule(self: AsyncCalls, schedule: str) -> ScheduleRecord:
        return await self.call(get_schedule(schedule))

    async def add_schedule(self: AsyncCalls, name: str, task: Mapping[str, Any], **options: Any) -> ScheduleRecord:
        return await self.call(add_schedule(name, task, options))

    async def change_schedule(self: AsyncCalls, schedule: str, **changes: Any) -> ScheduleRecord:
        return await self.call(change_schedule(schedule, changes))

    async def delete_schedule(self: AsyncCalls, schedule: str) -> Acknowledged:
        return await self.call(delete_schedule(schedule))

    async def run_schedule(self: AsyncCalls, schedule: str) -> TaskRecord:
        return await self.call(run_schedule(schedule))

    async def next_runs(self: AsyncCalls, schedule: str, *, count: int = 5) -> list[datetime]:
        return await self.call(get_next_runs(schedule, count))

    async def schedule_runs(self: AsyncCalls, schedule: str) -> list[RunRecord]:
        return await self.call(list_runs(schedule))

    async def preview_schedule(
        self: AsyncCalls,
        *,
        every: str | None = None,
        cron: str | None = None,
        timezone: str | None = None,
        count: int = 5,
    ) -> list[datetime]:
        return await self.call(preview_schedule(every, cron, timezone, count))
