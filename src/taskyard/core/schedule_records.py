"""What is held and kept of a schedule: what it shall do, and what has become of it so far. No rule lives here.

The two are kept apart, because the first may be large and seldom changes, and the second changes with every run.
"""

from msgspec import Struct

from taskyard.core.task import Kind, Terms
from taskyard.vocabulary import Level, Status
from taskyard.vocabulary.schedules import CatchUp, SkipReason


class Template(Struct, frozen=True, omit_defaults=True):
    """The task that each run makes, as `commands.Draft` wants it; its source names the schedule already."""

    kind: Kind
    terms: Terms
    body: bytes
    queue: str | None = None
    channel: str | None = None
    level: Level | None = None
    value: int | None = None
    correlation_id: str | None = None


class What(Struct, frozen=True, omit_defaults=True):
    """What is to be done."""

    shown: bytes
    """As its owner wrote it down, in JSON."""
    template: Template
    ceiling: Level | None = None
    """Of the key that wrote it down: no run exceeds it."""


class TaskProbe(Struct, frozen=True, tag="task", omit_defaults=True):
    """A task that finds out whether there is something to do: yes if it completes with a result that is not empty."""

    what: What
    timeout_ms: int


class HttpProbe(Struct, frozen=True, tag="http", omit_defaults=True):
    """A request that finds it out: yes if it is answered with success and a body that is not empty."""

    url: str
    timeout_ms: int


Probe = TaskProbe | HttpProbe


class ScheduleRecord(Struct, omit_defaults=True):
    id: str
    user_id: str
    name: str
    what: What
    every: str | None = None
    """Of a heartbeat: how often, as its owner wrote it."""
    every_ms: int | None = None
    cron: str | None = None
    timezone: str = "UTC"
    enabled: bool = True
    catch_up: CatchUp = CatchUp.ONE
    max_lateness_ms: int | None = None
    """None: a run that comes ever so late is worth making."""
    probe: Probe | None = None
    created_at: int = 0
    anchor: int = 0
    """What a heartbeat's runs are counted from."""


class Skip(Struct, frozen=True, omit_defaults=True):
    """A due run that made no task, or several in a row that were passed over for the same reason."""

    at: int
    due_at: int
    """The first, if there are several."""
    reason: SkipReason
    code: str | None = None
    """Intake's, or what went wrong with the probe."""
    count: int = 1


class Occurrence(Struct, frozen=True, omit_defaults=True):
    """What became of a due run: a task, or a skip; or of several in a row that were skipped for the same reason."""

    at: int
    """The last."""
    due_at: int
    """The first."""
    task_id: str | None = None
    """None: it was skipped, and `reason` says why."""
    reason: SkipReason | None = None
    code: str | None = None
    count: int = 1


class Probing(Struct, omit_defaults=True):
    """A due run that waits for its probe's answer."""

    due_at: int
    task_id: str | None = None
    """The task that finds it out, if one does."""
    is_answered: bool = False
    objection: SkipReason | None = None
    """Why the run is not to be made, as the answer says; None: it is."""
    code: str | None = None
    """What went wrong with the probe itself."""


class RunsRecord(Struct, omit_defaults=True):
    through: int
    """Every due time up to this instant is settled, one way or the other. It never goes back: none is settled twice."""
    last_run_at: int | None = None
    last_task_id: str | None = None
    last_outcome: Status | None = None
    """Of the last run's task; None while that is unfinished."""
    made: int = 0
    skipped: int = 0
    last_skip: Skip | None = None
    making_up_until: int = 0
    """Due times up to this one are made up one after the other, past the guard."""
    probing: Probing | None = None
    recent: list[Occurrence] = []
    """What became of the last due runs, oldest first."""
