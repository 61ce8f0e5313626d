"""Reading rows back: each is checked against its checksum and its record before anyone acts on it."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import apsw
import msgspec
from msgspec.structs import replace

from taskyard.core.changes import Kept, UserRecord
from taskyard.core.eras import Takeover, next_epoch, raised_numbers
from taskyard.core.task import Task
from taskyard.store.port import Identity, Image, RecordDamaged
from taskyard.store.records import (
    DAEMON,
    KEY,
    TASK,
    USER,
    checksum,
    columns_of,
    decode_record,
    encode,
    takeover_of,
    takeover_row,
    task_named,
    verified,
)
from taskyard.store.rewind import Lineage, Sighting, refuse_rewind, seqs_of
from taskyard.store.sqlite.statements import SQL
from taskyard.store.sqlite.text import leniently
from taskyard.vocabulary import Keeps

T = TypeVar("T")

IDS_PER_QUERY_MAX = 10_000
# About 400 kB of JSON for SQLite to walk.


def task_of(row: tuple[Any, ...]) -> Task:
    """The task of a row of `anywhere`: place, the columns of `columns_of`, record, crc."""
    name, id_ = task_named(row[1], row[3]), row[1]
    record = verified(row[11], row[12], of=f"the record of {name}", task_id=id_)
    task = decode_record(TASK, record, of=name, task_id=id_)
    if columns_of(task) != row[1:11]:
        # The record is whole, so it says best which task this is.
        named = task_named(task.id, task.number)
        raise RecordDamaged(f"the row of {named} does not agree with its record", task_id=task.id)
    return task


def json_of(values: Sequence[str | int]) -> str:
    """A list for `json_each`, which is how a statement takes any number of values."""
    return encode(values).decode()


def position_of(connection: apsw.Connection) -> int:
    """The newest commit's sequence number; 0 before the first."""
    seq = connection.execute(SQL["read_position"]).get
    assert isinstance(seq, int)
    return seq


def identity_of(connection: apsw.Connection) -> Identity | None:
    """Who this yard is; None before its first epoch."""
    row = connection.execute(SQL["read_identity"]).fetchone()
    if row is None:
        return None
    cluster_id, epoch, crc = row
    verified(b"", crc, cluster_id, epoch, of="the identity of this yard")
    return Identity(cluster_id=cluster_id, epoch=epoch, seq=position_of(connection))


def lineage_of(connection: apsw.Connection, seqs: Sequence[int], *, new_cluster_id: str = "") -> Lineage:
    """The log's history. `new_cluster_id` names a yard that was never opened."""
    end = identity_of(connection) or Identity(cluster_id=new_cluster_id, epoch=0, seq=0)
    takeovers = [takeover_of(row) for row in connection.execute(SQL["every_takeover"])]
    held = dict(connection.execute(SQL["batches_at"], {"seqs": json_of([*seqs, end.seq])}))
    is_known = bool(takeovers) and takeovers[-1].epoch == end.epoch
    takeover = takeovers[-1].id if is_known else ""
    return Lineage(replace(end, takeover=takeover, batch_id=held.get(end.seq, "")), takeovers, held)


def begin_epoch(
    connection: apsw.Connection, *, new_cluster_id: str, new_era: bool, seen: Sequence[Sighting] = ()
) -> Identity:
    """The caller holds the transaction."""
    lineage = lineage_of(connection, seqs_of(seen), new_cluster_id=new_cluster_id)
    if new_era:
        _raise_numbers(connection)
    else:
        refuse_rewind(lineage, seen)
    before = lineage.end
    epoch = next_epoch(before.epoch, new_era=new_era)
    connection.execute(SQL["set_epoch"], (before.cluster_id, epoch, checksum(b"", before.cluster_id, epoch)))
    takeover = Takeover(epoch, connection.execute(SQL["new_takeover_id"]).get, before.seq)
    connection.execute(SQL["insert_takeover"], takeover_row(takeover))
    return replace(before, epoch=epoch, takeover=takeover.id)


def _raise_numbers(connection: apsw.Connection) -> None:
    raised = raised_numbers(_numbers(connection), (user.id for user in users_of(connection)))
    rows = [(user_id, number, checksum(b"", user_id, number)) for user_id, number in raised.items()]
    connection.executemany(SQL["reset_number"], rows)


def users_of(connection: apsw.Connection) -> list[UserRecord]:
    return _records(USER, connection.execute(SQL["every_user"]), of="user")


def load_image(connection: apsw.Connection) -> Image:
    lineage = lineage_of(connection, ())
    tasks = _hot_tasks(connection)
    return Image(
        identity=lineage.end,
        tasks=tasks,
        users=users_of(connection),
        keys=_records(KEY, connection.execute(SQL["every_key"]), of="key"),
        daemons=_records(DAEMON, connection.execute(SQL["every_daemon"]), of="daemon"),
        numbers=_numbers(connection),
        log_bytes=_log_sizes(connection, tasks),
        kept=[
            Kept(Keeps(kind), name, verified(record, crc, of=f"{kind} {name}"))
            for kind, name, record, crc in connection.execute(SQL["every_kept"])
        ],
        takeovers=lineage.takeovers,
    )


def _hot_tasks(connection: apsw.Connection) -> list[Task]:
    statement = SQL["every_hot_task"]
    try:
        return [task_of(row) for row in connection.execute(statement)]
    except UnicodeDecodeError:
        # For the name of the task whose row is damaged.
        return [task_of(row) for row in leniently(connection, statement)]


def _records(decoder: msgspec.json.Decoder[T], rows: Iterable[tuple[Any, ...]], *, of: str) -> list[T]:
    return [
        decode_record(decoder, verified(record, crc, of=f"{of} {id_}"), of=f"{of} {id_}") for id_, record, crc in rows
    ]


def _numbers(connection: apsw.Connection) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for user_id, number, crc in connection.execute(SQL["every_number"]):
        verified(b"", crc, user_id, number, of=f"the numbering of user {user_id}")
        numbers[user_id] = number
    return numbers


def _log_sizes(connection: apsw.Connection, tasks: list[Task]) -> dict[tuple[str, int], int]:
    """Only a task that was tried has a log; asking for those spares a walk through the logs of the past."""
    tried = [task.id for task in tasks if task.attempts]
    sizes: dict[tuple[str, int], int] = {}
    for start in range(0, len(tried), IDS_PER_QUERY_MAX):
        ids = json_of(tried[start : start + IDS_PER_QUERY_MAX])
        for task_id, attempt, size in connection.execute(SQL["log_sizes"], {"ids": ids}):
            sizes[task_id, attempt] = size
    return sizes
