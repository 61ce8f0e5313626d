"""Reading rows back: each is checked against its checksum and its record before anyone acts on it."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import apsw
import msgspec

from taskyard.core.changes import Kept
from taskyard.core.eras import next_epoch
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
    task_named,
    verified,
)
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


def begin_epoch(connection: apsw.Connection, *, new_cluster_id: str, new_era: bool) -> Identity:
    """The caller holds the transaction."""
    before = identity_of(connection) or Identity(cluster_id=new_cluster_id, epoch=0, seq=0)
    cluster_id, epoch = before.cluster_id, next_epoch(before.epoch, new_era=new_era)
    connection.execute(SQL["set_epoch"], (cluster_id, epoch, checksum(b"", cluster_id, epoch)))
    return Identity(cluster_id=cluster_id, epoch=epoch, seq=position_of(connection))


def load_image(connection: apsw.Connection) -> Image:
    identity = identity_of(connection)
    assert identity is not None, "the store was opened"
    tasks = _hot_tasks(connection)
    return Image(
        identity=identity,
        tasks=tasks,
        users=_records(USER, connection.execute(SQL["every_user"]), of="user"),
        keys=_records(KEY, connection.execute(SQL["every_key"]), of="key"),
        daemons=_records(DAEMON, connection.execute(SQL["every_daemon"]), of="daemon"),
        numbers=_numbers(connection),
        log_bytes=_log_sizes(connection, tasks),
        kept=[
            Kept(Keeps(kind), name, verified(record, crc, of=f"{kind} {name}"))
            for kind, name, record, crc in connection.execute(SQL["every_kept"])
        ],
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
