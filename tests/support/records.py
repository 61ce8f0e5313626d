"""Builders of stored things, each with every field that a test does not care about filled in.

Ids and instants come from a counter: two runs of one test build the same bytes.
"""

from collections.abc import Iterable
from itertools import count
from typing import Any, Self

import msgspec

from taskyard.core.changes import Batch, Event, TaskRow
from taskyard.core.task import Attempt, Kind, Needs, Task, Terms
from taskyard.store.port import Identity, Store
from taskyard.vocabulary import EventName, Level, SourceType, Status

NOW = 1_750_000_000_000
USER = "u_ada"

_numbers = count(1)


def an_id(number: int) -> str:
    """Ordered by number, and of the length of a UUID."""
    return f"01970000-0000-7000-8000-{number:012d}"


def a_task(
    *,
    number: int | None = None,
    user_id: str = USER,
    status: Status = Status.QUEUED,
    queue: str = "default",
    type: str = "general",
    source: SourceType = SourceType.USER,
    level: Level = Level.NORMAL,
    **fields: Any,
) -> Task:
    number = next(_numbers) if number is None else number
    fields.setdefault("id", an_id(number))
    fields.setdefault("created_at", NOW + number)
    fields.setdefault("terms", Terms())
    return Task(
        user_id=user_id,
        number=number,
        status=status,
        level=level,
        kind=Kind(needs=Needs(type=type), queue=queue, source=source),
        **fields,
    )


def ended(task: Task, status: Status = Status.COMPLETED, *, at: int = NOW) -> Task:
    """The same task, later."""
    return msgspec.structs.replace(task, status=status, completed_at=at)


def assigned(task: Task, *, at: int = NOW) -> Task:
    attempt = Attempt(number=1, daemon_id="d_1", daemon_name="mac-1", boot_id="b_1", assigned_at=at)
    return msgspec.structs.replace(
        task, status=Status.SCHEDULED, scheduled_at=at, attempts=[*(task.attempts or []), attempt]
    )


def a_row(task: Task) -> TaskRow:
    return TaskRow(task=task, record=msgspec.json.encode(task))


def rows(tasks: Iterable[Task]) -> list[TaskRow]:
    return [a_row(task) for task in tasks]


def a_body(task: Task, *, title: str | None = None, text: str = "do it") -> tuple[str, bytes]:
    return task.id, msgspec.json.encode({"title": title, "input": text})


def an_event(task: Task, name: EventName = EventName.TASK_CREATED, *, at: int = NOW) -> Event:
    return Event(name=name, at=at, user_id=task.user_id, task_id=task.id, number=task.number, now=task.status)


def a_batch(
    identity: Identity,
    *,
    created: Iterable[Task] = (),
    changed: Iterable[Task] = (),
    ended: Iterable[Task] = (),
    revived: Iterable[Task] = (),
    amended: Iterable[Task] = (),
    at: int = NOW,
    **fields: Any,
) -> Batch:
    """The next batch after `identity`; created tasks get a plain body unless the test brings bodies."""
    created = list(created)
    fields.setdefault("bodies", [a_body(task) for task in created])
    return Batch(
        seq=identity.seq + 1,
        epoch=identity.epoch,
        batch_id=f"b{identity.epoch}-{identity.seq + 1}",
        at=at,
        created=rows(created),
        changed=rows(changed),
        ended=rows(ended),
        revived=rows(revived),
        amended=rows(amended),
        **fields,
    )


class Yard:
    """A store and where its log ends, so that a test can write one batch after another."""

    def __init__(self, store: Store, identity: Identity | None = None) -> None:
        self.store = store
        self.identity = store.open() if identity is None else identity
        self.began = self.identity.seq
        """Where the log ended then: an engine may have noted the opening itself, and the first commit follows it."""
        self.reader = store.reader()

    @classmethod
    def of(cls, store: Store) -> Self:
        """Of a store that is open."""
        return cls(store, store.load().identity)

    def write(self, **changes: Any) -> Batch:
        batch = a_batch(self.identity, **changes)
        self.store.write(batch)
        self.identity = msgspec.structs.replace(self.identity, seq=batch.seq, batch_id=batch.batch_id)
        return batch

    def has(self, *tasks: Task, **changes: Any) -> Batch:
        """These tasks, hot or ended as their status says, in one commit."""
        gone = [task for task in tasks if task.completed_at is not None]
        fresh = [task for task in tasks if task.completed_at is None]
        changes.setdefault("bodies", [a_body(task) for task in tasks])
        return self.write(created=fresh, ended=gone, **changes)
