"""What happened since: the answer of `GET /report`."""

from typing import Final

from msgspec import Struct

from taskyard.vocabulary import ResultStatus
from taskyard.wire.fields import Instant

REPORT_S: Final = 12 * 3600
"""What a report is about unless it is told: a night."""


class DoneAnswer(Struct, kw_only=True):
    """A task that completed, and what came of it."""

    ref: str
    id: str
    title: str
    type: str
    summary: str | None
    result_status: ResultStatus | None
    files_changed: list[str]
    completed_at: Instant
    took_s: float | None
    """From its last start to its end."""


class FailedAnswer(Struct, kw_only=True):
    """Tasks that failed for good in the same way."""

    fingerprint: str
    code: str
    message: str
    tasks: int
    refs: list[str]
    """The newest of them."""
    same_daemon: str | None
    last_at: Instant


class WaitingAnswer(Struct, kw_only=True):
    """Tasks that wait for the same."""

    reason: str
    would_help: str | None
    tasks: int
    refs: list[str]


class NeedAnswer(Struct, kw_only=True):
    """What goes on only if a person acts, and how."""

    what: str
    do: str


class ReportAnswer(Struct, kw_only=True):
    since: Instant
    until: Instant
    user: str
    done: list[DoneAnswer]
    """The newest of them."""
    done_total: int
    failed: list[FailedAnswer]
    failed_total: int
    cancelled: int
    skipped: int
    stale: int
    running: int
    waiting: list[WaitingAnswer]
    waiting_total: int
    hours: float
    """Of agents' time, in this period."""
    month_hours: float
    month_hours_limit: float | None
    needs_person: list[NeedAnswer]
    truncated: bool
    """There was more than is looked at: the oldest tasks are not counted."""
