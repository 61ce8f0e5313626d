"""A yard as rows that every engine understands: what one dumps, another restores.

Nothing of an engine is in them: no place where a small body lies, no partition, no escaped name. Checksums are not
carried either. Whoever dumps has verified them, and whoever restores makes them anew by the same rule, which is here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol

from msgspec import Struct

from taskyard.core.task import Task
from taskyard.store.port import Identity, StoreBroken
from taskyard.store.records import Columns, checksum, columns_of, verified

Value = str | int | bytes | None
Row = tuple[Value, ...]


class Kind(Struct, frozen=True):
    """What is kept of one sort. Engines name the columns alike; a checksum stands behind them."""

    name: str
    """In the plural, as people hear of them."""
    columns: Mapping[str, type]
    facts: tuple[str, ...] = ()
    """The columns that the checksum covers besides the content."""

    @property
    def content(self) -> str | None:
        return next((name for name, kind in self.columns.items() if kind is bytes), None)


CHECKPOINTS: Final = Kind("checkpoints", {"id": str, "content": bytes})
LATE_RESULTS: Final = Kind(
    "late results", {"task_id": str, "attempt": int, "at": int, "content": bytes}, facts=("attempt", "at")
)
LOGS: Final = Kind(
    "pieces of logs",
    {"task_id": str, "attempt": int, "n": int, "at": int, "text": bytes},
    facts=("attempt", "n", "at"),
)
COMMITS: Final = Kind(
    "commits with their events",
    {"seq": int, "epoch": int, "batch_id": str, "at": int, "events": bytes},
    facts=("seq", "epoch"),
)
NUMBERS: Final = Kind("numberings", {"user_id": str, "number": int}, facts=("user_id", "number"))
USERS: Final = Kind("users", {"id": str, "record": bytes})
KEYS: Final = Kind("keys", {"id": str, "record": bytes})
DAEMONS: Final = Kind("daemons", {"id": str, "record": bytes})
KEPT: Final = Kind("records of policies", {"kind": str, "name": str, "record": bytes})
AUDIT: Final = Kind("audit entries", {"n": int, "subject": str, "record": bytes}, facts=("n",))
REQUESTS: Final = Kind("answers to requests", {"name": str, "at": int, "answer": bytes}, facts=("at",))

FIGURES: Final = Kind("samples of figures", {"step": int, "at": int, "record": bytes}, facts=("step", "at"))


class HeldTask(NamedTuple):
    """A task wherever it lies, with its body and its outcome."""

    place: int
    """0 hot, 1 history, 2 archive."""
    columns: Columns
    record: bytes
    completed_at: int | None
    """None: it is hot."""
    key: str | None
    body: bytes
    outcome: bytes | None

    @property
    def id(self) -> str:
        return self.columns[0]


def checksum_of(kind: Kind) -> Callable[[Row], int]:
    """How the checksum of a row of this kind is made."""
    names = list(kind.columns)
    at = None if kind.content is None else names.index(kind.content)
    facts = [names.index(name) for name in kind.facts]

    def of(row: Row) -> int:
        content = b"" if at is None else row[at]
        assert isinstance(content, bytes)
        return checksum(content, *(row[each] for each in facts))

    return of


def believed(kind: Kind, rows: Iterable[tuple[Any, ...]]) -> Iterator[Row]:
    """Rows without the checksum that each ends with. `StoreBroken` if one is not what was written."""
    of = checksum_of(kind)
    for *values, crc in rows:
        row = tuple(values)
        if of(row) != crc:
            raise StoreBroken(f"one of the {kind.name} ({row[0]!r}) is not what was written: its checksum differs")
        yield row


def held(task: Task, place: int, record: bytes, completed_at: int | None, *contents: object) -> HeldTask:
    """A task that was read and agrees with its record. Its contents are body and outcome, each with its checksum."""
    body, body_crc, outcome, outcome_crc = contents
    if body is None:
        raise StoreBroken(f"task {task.id} has lost its body")
    return HeldTask(
        place=place,
        columns=columns_of(task),
        record=record,
        completed_at=completed_at,
        key=task.key,
        body=verified(body, body_crc, of=f"the body of task {task.id}"),
        outcome=None if outcome is None else verified(outcome, outcome_crc, of=f"the outcome of task {task.id}"),
    )


class Source(Protocol):
    """A yard at rest, which stays so until it is closed."""

    @property
    def identity(self) -> Identity: ...

    @property
    def total(self) -> int:
        """How many there are, tasks and everything else."""

    def tasks(self) -> Iterator[HeldTask]:
        """Every one, read as it is asked for."""

    def rows(self) -> Iterator[tuple[Kind, Row]]:
        """Everything else, kind by kind, read as it is asked for."""


class Target(Source, Protocol):
    """An empty yard that is filled. Until `commit`, nobody else sees any of it."""

    def begin(self, identity: Identity) -> None: ...

    def take_tasks(self, tasks: list[HeldTask]) -> None: ...

    def take(self, kind: Kind, rows: list[Row]) -> None: ...

    def commit(self) -> None: ...
