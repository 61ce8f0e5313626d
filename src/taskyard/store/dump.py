"""A yard as rows that every engine and the file form understand: what one dumps, another restores.

Nothing of an engine is in them: no place where a small body lies, no partition, no escaped name, and no column that
only repeats what a task's record says. Checksums are not carried either. Whoever dumps has verified them, and whoever
restores makes them anew by the same rule, which is here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct

from taskyard.core.task import Task
from taskyard.store.port import Identity, RecordDamaged, StoreBroken
from taskyard.store.records import TASK, checksum, decode_events, decode_record, verified

Value = str | int | bytes | None
Row = tuple[Value, ...]


class Kind(Struct, frozen=True):
    """One sort of rows. Engines name the columns alike; a checksum stands behind them."""

    name: str
    """Part of the file format: a new or changed kind raises the version in `jsonl.py`."""
    columns: Mapping[str, type]
    key_columns: int = 1
    """How many of the columns, from the first, make the key. Rows are dumped in ascending order of it."""
    facts: tuple[str, ...] = ()
    """The columns that the checksum covers besides the content."""
    nullable: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name as people read it."""
        return self.name.replace("_", " ")

    @property
    def content(self) -> str | None:
        return next((name for name, kind in self.columns.items() if kind is bytes), None)


_ENDED: Final = {"id": str, "completed_at": int, "record": bytes, "body": bytes, "outcome": bytes}

ACTIVE_TASKS: Final = Kind(
    "active_tasks", {"id": str, "record": bytes, "body": bytes, "outcome": bytes}, nullable=("outcome",)
)
ENDED_TASKS: Final = Kind("ended_tasks", _ENDED, nullable=("outcome",))
ARCHIVED_TASKS: Final = Kind("archived_tasks", _ENDED, nullable=("outcome",))
CHECKPOINTS: Final = Kind("checkpoints", {"id": str, "content": bytes})
LATE_RESULTS: Final = Kind(
    "late_results",
    {"task_id": str, "attempt": int, "at": int, "content": bytes},
    key_columns=2,
    facts=("attempt", "at"),
)
LOGS: Final = Kind(
    "logs",
    {"task_id": str, "attempt": int, "n": int, "at": int, "text": bytes},
    key_columns=3,
    facts=("attempt", "n", "at"),
)
COMMITS: Final = Kind(
    "commits", {"seq": int, "epoch": int, "batch_id": str, "at": int, "events": bytes}, facts=("seq", "epoch")
)
NUMBERS: Final = Kind("task_numbers", {"user_id": str, "number": int}, facts=("user_id", "number"))
USERS: Final = Kind("users", {"id": str, "record": bytes})
KEYS: Final = Kind("keys", {"id": str, "record": bytes})
DAEMONS: Final = Kind("daemons", {"id": str, "record": bytes})
KEPT: Final = Kind("policy_records", {"kind": str, "name": str, "record": bytes}, key_columns=2)
AUDIT: Final = Kind("audit_entries", {"n": int, "subject": str, "record": bytes}, facts=("n",))
REQUESTS: Final = Kind("request_answers", {"name": str, "at": int, "answer": bytes}, facts=("at",))
FIGURES: Final = Kind("figures", {"step": int, "at": int, "record": bytes}, key_columns=2, facts=("step", "at"))
TAKEOVERS: Final = Kind("takeovers", {"epoch": int, "id": str, "seq": int}, facts=("epoch", "id", "seq"))

TASKS: Final = (ACTIVE_TASKS, ENDED_TASKS, ARCHIVED_TASKS)
KINDS: Final = (
    *TASKS,
    *(CHECKPOINTS, LATE_RESULTS, LOGS, COMMITS, NUMBERS, USERS, KEYS, DAEMONS, KEPT, AUDIT, REQUESTS, FIGURES),
    TAKEOVERS,
)
"""All of them, in the order in which every source gives them."""


class Summary(Struct, frozen=True):
    """What a yard is and how much of it there is."""

    identity: Identity
    batch_id: str | None
    """Of the last commit; None: there is none."""
    counts: dict[str, int]
    """Rows by the name of their kind, those of every kind."""

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def summary_of(identity: Identity, batch_id: str | None, counts: Iterable[int]) -> Summary:
    """With the counts in the order of `KINDS`."""
    by_name = dict(zip((kind.name for kind in KINDS), counts, strict=True))
    return Summary(identity=identity, batch_id=batch_id, counts=by_name)


def checksum_of(kind: Kind) -> Callable[[Row], int | None]:
    """How the checksum of a row of this kind is made."""
    names = list(kind.columns)
    at = None if kind.content is None else names.index(kind.content)
    facts = [names.index(name) for name in kind.facts]

    def of(row: Row) -> int | None:
        """None: there is nothing to make one of; the row is damaged."""
        content = b"" if at is None else row[at]
        return checksum(content, *(row[each] for each in facts)) if isinstance(content, bytes) else None

    return of


Believe = Callable[[tuple[Any, ...]], Row]
"""A row as it is read, and without the checksums in it. `RecordDamaged` if it is not what was written."""


def believer_of(kind: Kind) -> Believe:
    of = checksum_of(kind)

    def believe(found: tuple[Any, ...]) -> Row:
        *values, crc = found
        row = tuple(values)
        if of(row) != crc:
            raise RecordDamaged(f"one of the {kind.label} ({row[0]!r}) is not what was written: its checksum differs")
        return row

    return believe


def damage_in(kind: Kind, rows: Iterable[tuple[Any, ...]], believe: Believe) -> Iterator[RecordDamaged]:
    """What is damaged among these rows; also what has its checksum and cannot be read all the same."""
    read = _READ.get(kind.name)
    for row in rows:
        try:
            believed = believe(row)
            if read is not None:
                read(kind, believed)
        except RecordDamaged as damaged:
            yield damaged


def _read_json(kind: Kind, row: Row) -> None:
    for content in row:
        if isinstance(content, bytes):
            decode_record(_JSON, content, of=f"one of the {kind.label} ({row[0]!r})")


def _read_events(_kind: Kind, row: Row) -> None:
    seq, *_, events = row
    assert isinstance(seq, int)
    assert isinstance(events, bytes)
    decode_events(events, seq=seq)


def _read_text(kind: Kind, row: Row) -> None:
    *_, text = row
    assert isinstance(text, bytes)
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise RecordDamaged(f"one of the {kind.label} ({row[0]!r}) cannot be read: {error}") from error


# Well-formed is enough: an earlier version stored text that is not UTF-8 where it looked at none of it.
_JSON: Final = msgspec.json.Decoder(msgspec.Raw)
_READ: Final[Mapping[str, Callable[[Kind, Row], None]]] = {
    **{kind.name: _read_json for kind in (*TASKS, CHECKPOINTS, LATE_RESULTS, USERS, KEYS, DAEMONS, AUDIT)},
    COMMITS.name: _read_events,
    LOGS.name: _read_text,
}


def task_row(kind: Kind, task: Task, record: bytes, completed_at: int | None, *contents: object) -> Row:
    """The row of a task that was read and agrees with its record. Its contents are body and outcome, each with its
    checksum."""
    body, body_crc, outcome, outcome_crc = contents
    if body is None:
        raise RecordDamaged(f"task {task.id} has lost its body", task_id=task.id)
    ended = () if kind is ACTIVE_TASKS else (completed_at,)
    return (
        task.id,
        *ended,
        record,
        verified(body, body_crc, of=f"the body of task {task.id}"),
        None if outcome is None else verified(outcome, outcome_crc, of=f"the outcome of task {task.id}"),
    )


class RestoredTask(Struct):
    """A task as it is restored."""

    task: Task
    record: bytes
    body: bytes
    outcome: bytes | None
    completed_at: int | None
    """None: it is active."""


def restored(kind: Kind, row: tuple[Any, ...]) -> RestoredTask:
    """`StoreBroken` if the row's record is not of this task."""
    id_, *ended, record, body, outcome = row
    task = decode_record(TASK, record, of=f"task {id_}")
    if task.id != id_:
        raise StoreBroken(f"the row of task {id_} has the record of {task.id}")
    return RestoredTask(task, record, body, outcome, ended[0] if ended else None)


class Source(Protocol):
    """A yard at rest, which stays so until it is closed."""

    @property
    def summary(self) -> Summary: ...

    def rows(self) -> Iterator[tuple[Kind, Row]]:
        """All of it in the order of `KINDS`, each kind in the order of its key, read as it is asked for."""


class Target(Source, Protocol):
    """An empty yard that is filled. Until `commit`, nobody else sees any of it."""

    def begin(self, summary: Summary) -> None:
        """What is going to come."""

    def take(self, kind: Kind, rows: list[Row]) -> None: ...

    def keep_secret(self, secret: bytes) -> None:
        """What the yard signs with; after everything else."""

    def commit(self) -> None: ...
