"""Bodies about schedules."""

import re
from typing import Annotated, Final

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from taskyard.vocabulary import Status
from taskyard.vocabulary.schedules import CatchUp, ScheduleKind, SkipReason
from taskyard.wire.fields import SECONDS_MAX, Instant, Name, Seconds
from taskyard.wire.submission import Submission

URL_CHARS_MAX: Final = 2048
RUNS_SHOWN_MAX: Final = 100

Every = Annotated[str, Meta(max_length=40, description="`30s`, `5m`, `1h`, `1d`, `1w`; `every 5m` is the same as `5m`")]
Lateness = Annotated[float, Meta(ge=0, le=SECONDS_MAX)]
_EVERY: Final = re.compile(r"(?:every\s+)?(\d{1,9})\s*([smhdw])", re.IGNORECASE | re.ASCII)
_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class ProbeBody(Struct, forbid_unknown_fields=True, kw_only=True):
    """What decides whether a due run makes its task: either a task of its own, or a request to an address.

    The task says yes by completing with a result that is not empty (not null, false, 0, "", [] or {}), the address by
    answering with success and such a body.
    """

    task: Submission | None = None
    url: Annotated[str, Meta(min_length=1, max_length=URL_CHARS_MAX)] | None = None
    timeout: Seconds | None = None
    """How long the run waits for it."""


class NewSchedule(Struct, forbid_unknown_fields=True, kw_only=True):
    """Either `every` or `cron`; without `timezone` the zone is what `CRON_TZ=` before the fields names, or UTC.

    The task is a submission without dependencies, keys and times of its own.
    """

    name: Name
    task: Submission
    kind: ScheduleKind | None = None
    every: Every | None = None
    cron: Name | None = None
    timezone: Name | None = None
    enabled: bool = True
    catch_up: CatchUp = CatchUp.ONE
    max_lateness: Lateness | None = None
    probe: ProbeBody | None = None


class ScheduleChange(Struct, forbid_unknown_fields=True, kw_only=True):
    """What is absent stays. A new `every` takes the place of `cron`, and the other way round."""

    name: Name | UnsetType = UNSET
    task: Submission | UnsetType = UNSET
    every: Every | UnsetType = UNSET
    cron: Name | UnsetType = UNSET
    timezone: Name | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    catch_up: CatchUp | UnsetType = UNSET
    max_lateness: Lateness | UnsetType | None = UNSET
    probe: ProbeBody | UnsetType | None = UNSET


class SkipAnswer(Struct, kw_only=True):
    """A due run that made no task, or several in a row."""

    at: Instant
    due_at: Instant
    reason: SkipReason
    code: str | None
    count: int


class RunAnswer(Struct, kw_only=True):
    """What became of a due run: a task, or a skip; skips in a row for the same reason are told as one."""

    at: Instant
    """The last, if there are several."""
    due_at: Instant
    """The first."""
    task_id: str | None
    """None: it was skipped."""
    ref: str | None
    status: Status | None
    """Of the task, as it stands now."""
    reason: SkipReason | None
    code: str | None
    count: int


class ScheduleAnswer(Struct, kw_only=True):
    id: str
    user_id: str
    name: str
    kind: ScheduleKind
    every: str | None
    cron: str | None
    timezone: str
    task: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
    enabled: bool
    catch_up: CatchUp
    max_lateness: float | None
    probe: Annotated[Raw, Meta(extra_json_schema={"type": ["object", "null"]})]
    created_at: Instant
    last_run_at: Instant | None
    next_run_at: Instant | None
    last_outcome: Status | None
    """What became of the last run's task; null while that is unfinished."""
    last_task_id: str | None
    runs: int
    skipped: int
    last_skip: SkipAnswer | None


class Preset(Struct, kw_only=True):
    name: str
    title: str
    every: str | None = None
    cron: str | None = None


PRESETS: Final = (
    Preset(name="every-5-minutes", title="Every 5 minutes", every="5m"),
    Preset(name="hourly", title="Every hour", cron="0 * * * *"),
    Preset(name="daily", title="Daily at midnight", cron="0 0 * * *"),
    Preset(name="weekly", title="Weekly on Monday", cron="0 0 * * 1"),
)


def every_ms_of(text: str) -> int | None:
    """`5m` or `every 5m` in milliseconds; None for what is no interval."""
    found = _EVERY.fullmatch(text.strip())
    if found is None:
        return None
    seconds = int(found[1]) * _UNITS_S[found[2].lower()]
    return seconds * 1000 if 0 < seconds <= SECONDS_MAX else None


def plain_every(text: str) -> str:
    """Without the word: `5m`."""
    found = _EVERY.fullmatch(text.strip())
    assert found is not None, "an interval that was read before"
    return f"{int(found[1])}{found[2].lower()}"


def without_zone(expression: str) -> tuple[str, str | None]:
    """The expression without its `CRON_TZ=…` or `TZ=…`, and the zone that this names."""
    head, _, rest = expression.strip().partition(" ")
    word, is_zone, zone = head.partition("=")
    return (rest.strip(), zone) if is_zone and word.upper() in ("CRON_TZ", "TZ") else (expression, None)
