"""Tasks as Arvis clients see them: jobs of four statuses, at `/api/queue`."""

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, Struct

from taskyard.wire.fields import Instant


class JobStatus(StrEnum):
    """What is cancelled or skipped is no job any more."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


class JobAnswer(Struct, kw_only=True):
    """A task in the words of Arvis clients."""

    id: str
    ref: str
    agent: str
    """`metadata.agent` of the task; its queue if there is none."""
    type: str
    status: JobStatus
    priority: Annotated[int, Meta(ge=1, le=10)]
    attempts: int
    """Those of the newest series."""
    max_attempts: int
    error: str | None
    retry_after: Instant | None
    """A pending job does not start before."""
    created_at: Instant
    started_at: Instant | None
    completed_at: Instant | None


class JobChange(Struct, forbid_unknown_fields=True):
    """No body means the same."""

    action: Literal["retry"] = "retry"
