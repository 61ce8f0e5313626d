"""Records as bytes, the same for every engine: JSON for what people may want to read in the database,
MessagePack for the events of a commit, which are many and small.

A CRC-32 travels with every stored value. Databases notice a broken page structure, not a flipped bit
inside a value; a hub must not act on either.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, Final, TypeVar
from zlib import crc32

import msgspec

from taskyard.core.changes import AuditRecord, DaemonRecord, Event, KeyRecord, TaskRow, UserRecord
from taskyard.core.eras import Takeover
from taskyard.core.task import Task
from taskyard.store.port import RecordDamaged
from taskyard.vocabulary import ref_of

T = TypeVar("T")

_json: Final = msgspec.json.Encoder()
_msgpack: Final = msgspec.msgpack.Encoder()

TASK: Final = msgspec.json.Decoder(Task)
USER: Final = msgspec.json.Decoder(UserRecord)
KEY: Final = msgspec.json.Decoder(KeyRecord)
DAEMON: Final = msgspec.json.Decoder(DaemonRecord)
AUDIT: Final = msgspec.json.Decoder(AuditRecord)
_EVENTS: Final = msgspec.msgpack.Decoder(list[Event])
_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError)

encode: Final = _json.encode


def encode_events(events: list[Event]) -> bytes:
    return _msgpack.encode(events)


def decode_events(content: bytes, *, seq: int) -> list[Event]:
    try:
        return _EVENTS.decode(content)
    except _UNREADABLE as error:
        raise RecordDamaged(f"the events of commit {seq} cannot be read: {error}") from error


def decode_record(decoder: msgspec.json.Decoder[T], record: bytes, *, of: str, task_id: str | None = None) -> T:
    try:
        return decoder.decode(record)
    except _UNREADABLE as error:
        raise RecordDamaged(f"the record of {of} cannot be read: {error}", task_id=task_id) from error


def checksum(content: bytes, *facts: object) -> int:
    """Of a value and the numbers and names in the row beside it that nothing else vouches for."""
    return crc32(content, crc32(repr(facts).encode())) if facts else crc32(content)


def verified(content: object, crc: object, *facts: object, of: str, task_id: str | None = None) -> bytes:
    """The content, if all of it is still what was written: a damaged row may hold anything."""
    if not isinstance(content, bytes) or checksum(content, *facts) != crc:
        raise RecordDamaged(f"{of} is not what was written: its checksum differs", task_id=task_id)
    return content


def task_named(id_: str, number: object) -> str:
    """A task as messages name it: by its id, and by the ref that its owner knows."""
    return f"task {id_} ({ref_of(number)})" if isinstance(number, int) else f"task {id_}"


def takeover_row(takeover: Takeover) -> tuple[int, str, int, int]:
    """Epoch, id, the commit before it, and the checksum of all three."""
    facts = (takeover.epoch, takeover.id, takeover.after)
    return (*facts, checksum(b"", *facts))


def takeover_of(row: Sequence[Any]) -> Takeover:
    *facts, crc = row
    verified(b"", crc, *facts, of=f"the takeover of epoch {facts[0]}")
    return Takeover(*facts)


Columns = tuple[str, str, int, str, str, str, str, str, str | None, str | None]


def columns_of(task: Task) -> Columns:
    """What engines keep beside a task's record to search by: id, user, number, status, level, queue, type,
    source, correlation and parent, in this order everywhere."""
    kind = task.kind
    return (
        task.id,
        task.user_id,
        task.number,
        task.status,
        task.level,
        kind.queue,
        kind.needs.type,
        kind.source,
        task.correlation_id,
        task.parent_id,
    )


PLACES_PER_COMMIT: Final = 1 << 20
# Log chunks or audit entries of one commit at most. The inbox holds 10,000 commands, each with one or two.


def numbered(entries: Sequence[T], *, seq: int) -> Iterator[tuple[int, T]]:
    """Entries with numbers that grow along the log, known before they are written."""
    assert len(entries) <= PLACES_PER_COMMIT
    return zip(count(seq * PLACES_PER_COMMIT), entries, strict=False)


def ended_at(row: TaskRow, *, at: int) -> int:
    """By what age a task leaves history; one that ended without saying when ended with its commit."""
    if row.task.shelved:
        return 0
    completed_at = row.task.completed_at
    return at if completed_at is None else completed_at
