"""The words of schedules: what they go by, and what becomes of a due run."""

from enum import StrEnum


class ScheduleKind(StrEnum):
    """What a schedule goes by: the time since its last run, or the calendar."""

    HEARTBEAT = "heartbeat"
    CRON = "cron"


class CatchUp(StrEnum):
    """What of the runs that nobody was there for is made up: the newest, none, all of them."""

    ONE = "one"
    NONE = "none"
    ALL = "all"


class SkipReason(StrEnum):
    """Why a due run made no task."""

    MISSED = "missed"
    """The hub was away, and its schedule does not make it up."""
    TOO_LATE = "too_late"
    """It came later than its schedule allows."""
    UNFINISHED = "unfinished"
    """The run before it goes on, or waits for its probe."""
    REFUSED = "refused"
    """Intake did not take the task; its code says why."""
    PROBE_SAID_NO = "probe_said_no"
    PROBE_FAILED = "probe_failed"
    PROBE_TIMED_OUT = "probe_timed_out"
    CHANGED = "changed"
    """Its schedule was changed while it waited for its probe."""
