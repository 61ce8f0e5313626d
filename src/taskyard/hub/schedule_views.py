"""What people see of schedules."""

from msgspec.structs import replace

from taskyard.core.due_runs import next_run_of
from taskyard.core.schedule_records import ScheduleRecord
from taskyard.core.schedules import find
from taskyard.core.state import State
from taskyard.gateway.views import ScheduleView


def schedule_views(state: State, user_id: str | None) -> list[ScheduleView]:
    """The newest first; None: everybody's."""
    found = [record for record in state.schedules.values() if user_id in (None, record.user_id)]
    return [_view(state, record) for record in sorted(found, key=lambda record: record.id, reverse=True)]


def schedule_view(state: State, user_id: str, schedule: str) -> ScheduleView | None:
    record = find(state, user_id, schedule)
    return None if record is None else replace(_view(state, record), recent=[*state.schedule_runs[record.id].recent])


def _view(state: State, record: ScheduleRecord) -> ScheduleView:
    runs = state.schedule_runs[record.id]
    return ScheduleView(
        id=record.id,
        user_id=record.user_id,
        name=record.name,
        every=record.every,
        every_ms=record.every_ms,
        cron=record.cron,
        timezone=record.timezone,
        task=record.what.shown,
        enabled=record.enabled,
        catch_up=record.catch_up,
        max_lateness_ms=record.max_lateness_ms,
        probe=record.probe,
        created_at=record.created_at,
        anchor=record.anchor,
        through=runs.through,
        next_run_at=next_run_of(state, record),
        last_run_at=runs.last_run_at,
        last_task_id=runs.last_task_id,
        last_outcome=runs.last_outcome,
        runs=runs.made,
        skipped=runs.skipped,
        last_skip=runs.last_skip,
    )
