"""Commands about schedules. What a schedule is told, it does from the same commit on."""

from taskyard.core.schedule_records import Probe, ScheduleRecord, What
from taskyard.core.told import KEEP, Keep, Told
from taskyard.vocabulary import Level
from taskyard.vocabulary.schedules import CatchUp, SkipReason


class CreateSchedule(Told):
    record: ScheduleRecord
    """Its id is minted outside; when it was made is filled in here."""
    actor: str
    reply_to: int = 0


class ChangeSchedule(Told):
    """A new `every` takes the place of a cron expression, and the other way round."""

    user_id: str
    schedule: str
    """Its id, or its name."""
    actor: str
    name: str | Keep = KEEP
    every: str | Keep = KEEP
    every_ms: int | None = None
    cron: str | Keep = KEEP
    timezone: str | Keep = KEEP
    what: What | None = None
    """None: it stays."""
    enabled: bool | Keep = KEEP
    catch_up: CatchUp | Keep = KEEP
    max_lateness_ms: int | Keep | None = KEEP
    probe: Probe | None = None
    """None: it stays, unless it is dropped."""
    drops_probe: bool = False
    reply_to: int = 0


class DeleteSchedule(Told):
    """What it made goes on; it makes nothing more."""

    user_id: str
    schedule: str
    actor: str
    reply_to: int = 0


class RunSchedule(Told):
    """A person wants a run now, whatever is due when and whatever still runs."""

    user_id: str
    schedule: str
    task_id: str
    ceiling: Level | None = None
    """Of the caller's key."""
    reply_to: int = 0


class AnswerProbe(Told):
    """What came of a request that a probe had made."""

    schedule_id: str
    due_at: int
    objection: SkipReason | None = None
    """None: there is something to do."""
    code: str | None = None
    """What went wrong with the request itself."""
