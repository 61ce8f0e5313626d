"""Damaged tasks of the past. A list shows them as far as their rows are known, beside those that are whole.

A list that failed for one damaged row could never be read past it, and one without the row would hide that it is there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from taskyard.core.task import Kind, Needs, Task, Terms
from taskyard.store.paging import ARCHIVE, HOT, cursor_of
from taskyard.store.port import RecordDamaged, StoredTask, TaskFilter
from taskyard.store.records import encode, task_named
from taskyard.vocabulary import Level, SourceType, Status

Row = tuple[Any, ...]
"""Of `anywhere`: place, the columns of `columns_of`, record, crc."""
W = TypeVar("W", Status, Level, SourceType)

TITLE: Final = "(damaged: it cannot be read)"
LOOKED_AT_ONCE: Final = 500
AT_MAX: Final = 253_402_300_799_999
# The last millisecond that a calendar of four digits has.


def with_damaged(
    rows: Sequence[Row],
    *,
    read: Callable[[list[Row]], list[StoredTask]],
    task_of: Callable[[Row], Task],
) -> list[StoredTask]:
    """What is read of these rows. Of a hot one the damage is raised: a hub must not go on with it."""
    try:
        return read(list(rows))
    except RecordDamaged:
        return [_one(row, read, task_of) for row in rows]


@contextmanager
def naming(task: Task) -> Iterator[None]:
    """Say of damage in the log of commits which task it was read for."""
    try:
        yield
    except RecordDamaged as damaged:
        raise RecordDamaged(f"what happened to {task_named(task.id, task.number)}: {damaged}") from damaged


def refuse_other_keys(holders: Mapping[str, str], found: Mapping[str, Task]) -> None:
    """`holders` are the tasks' ids by the keys in their rows, `found` these tasks: a row may be damaged."""
    for key, task_id in holders.items():
        if task_id not in found or found[task_id].key != key:
            raise RecordDamaged(f"the idempotency key of task {task_id} is not that of its record", task_id=task_id)


def _one(row: Row, read: Callable[[list[Row]], list[StoredTask]], task_of: Callable[[Row], Task]) -> StoredTask:
    try:
        [stored] = read([row])
    except RecordDamaged as damaged:
        if row[0] == HOT:
            raise
        task = _by_columns(row)
        with suppress(RecordDamaged):
            task = task_of(row)
        body = encode({"type": task.kind.needs.type, "input": "", "title": TITLE})
        return StoredTask(task=task, body=body, archived=row[0] == ARCHIVE, damaged=str(damaged))
    return stored


def _by_columns(row: Row) -> Task:
    """What the columns say; in the place of a word that is none, the most usual one."""
    id_, user_id, number, status, level, queue, type_, source, correlation_id, parent_id = row[1:11]
    return Task(
        id=id_,
        user_id=user_id,
        number=number,
        status=_word(status, Status.COMPLETED),
        level=_word(level, Level.NORMAL),
        kind=Kind(needs=Needs(type=type_), queue=queue, source=_word(source, SourceType.USER)),
        terms=Terms(),
        created_at=_minted_at(id_),
        correlation_id=correlation_id,
        parent_id=parent_id,
    )


def _word(said: str, usual: W) -> W:
    return next((word for word in type(usual) if word == said), usual)


def _minted_at(id_: str) -> int:
    """When an id was made, which a UUIDv7 begins with; 0 if it does not say."""
    try:
        at = int(id_.replace("-", "")[:12], 16)
    except ValueError:
        return 0
    return at if at <= AT_MAX else 0


def found_by_searching(query: TaskFilter, tasks: Callable[[TaskFilter], list[StoredTask]]) -> RecordDamaged:
    """The database could not search for what `query` asks, because a record is not JSON: which one it is."""
    try:
        for _ in _pages(replace(query, text=None, schedule_id=None, limit=LOOKED_AT_ONCE, shows_damaged=False), tasks):
            pass
    except RecordDamaged as damaged:
        return damaged
    return RecordDamaged("a record among those that were searched is not JSON")


def _pages(query: TaskFilter, tasks: Callable[[TaskFilter], list[StoredTask]]) -> Iterator[list[StoredTask]]:
    page = tasks(query)
    yield page
    while len(page) == query.limit:
        query = replace(query, before=cursor_of(page[-1], user_id=query.user_id))
        page = tasks(query)
        yield page
