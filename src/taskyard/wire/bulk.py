"""`POST /api/v1/tasks/bulk`: the same for many tasks, and what became of each."""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from taskyard.vocabulary import Level, Status
from taskyard.wire.fields import REASON_CHARS_MAX, Name
from taskyard.wire.submission import Priority

BULK_TASKS_MAX: Final = 500
BULK_ALSO_MAX: Final = 1000

BulkAction = Literal["cancel", "retry", "skip", "reprioritise"]


class BulkAct(Struct, forbid_unknown_fields=True, kw_only=True):
    """Tasks are named by id or ref. `preview` changes nothing."""

    action: BulkAction
    ids: Annotated[list[Name], Meta(min_length=1, max_length=BULK_TASKS_MAX)]
    priority: Priority | None = None
    """What `reprioritise` needs."""
    reason: Annotated[str, Meta(max_length=REASON_CHARS_MAX)] | None = None
    """Of `cancel` and `skip`."""
    preview: bool = False


class BulkResult(Struct, kw_only=True):
    """What became of one task; with `preview`, what would."""

    id: str
    """As it was named."""
    task_id: str | None
    ref: str | None
    ok: bool
    status: Status | None
    """As it stands now; None: there is no such task."""
    priority: Level | None
    """Likewise: a key, a plan, a deadline or what waits for it may keep it from the level that was asked for."""
    code: str | None = None
    detail: str | None = None


class BulkCounts(Struct):
    ok: int
    refused: int
    also: int


class BulkAnswer(Struct, kw_only=True):
    preview: bool
    results: list[BulkResult]
    """In the order in which they were named, each once."""
    also: list[str]
    """Others that were cancelled because they depend on these; of very many, the nearest thousand."""
    counts: BulkCounts
