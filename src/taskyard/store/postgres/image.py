"""Reading rows back: each is checked against its checksum and its record before anyone acts on it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from taskyard.core.changes import Kept, UserRecord
from taskyard.core.task import Task
from taskyard.store.port import Identity, Image, RecordDamaged
from taskyard.store.postgres.arrays import escaped, ids, numbers, unescaped
from taskyard.store.postgres.session import Row, Session
from taskyard.store.postgres.statements import SQL
from taskyard.store.records import (
    DAEMON,
    KEY,
    TASK,
    USER,
    columns_of,
    decode_record,
    takeover_of,
    task_named,
    verified,
)
from taskyard.store.rewind import Lineage
from taskyard.vocabulary import Keeps

T = TypeVar("T")

IDS_PER_QUERY_MAX: Final = 10_000
TASKS_PER_QUERY: Final = 10_000


def task_of(row: Row) -> Task:
    """The task of a row of `anywhere`: place, the columns of `columns_of`, record, crc."""
    name, id_ = task_named(row[1], row[3]), row[1]
    record = verified(row[11], row[12], of=f"the record of {name}", task_id=id_)
    task = decode_record(TASK, record, of=name, task_id=id_)
    columns = columns_of(task)
    if columns != row[1:11] and tuple(map(_as_written, columns)) != row[1:11]:
        # The record is whole, so it says best which task this is.
        named = task_named(task.id, task.number)
        raise RecordDamaged(f"the row of {named} does not agree with its record", task_id=task.id)
    return task


def _as_written(value: str | int | None) -> str | int | None:
    return escaped(value) if isinstance(value, str) else value


def position_of(session: Session) -> int:
    """The newest commit's sequence number; 0 before the first."""
    seq: int = session.rows(SQL["read_position"])[0][0]
    return seq


def commits_from(session: Session, seq: int, *, rows_max: int) -> list[Row]:
    """Rows of the log, from this place on."""
    return session.rows(SQL["commits_from"], {"seq": seq, "rows_max": rows_max})


def identity_of(session: Session) -> Identity | None:
    """Who this yard is; None before its first epoch."""
    cluster_id, epoch, crc = session.rows(SQL["read_identity"])[0]
    if cluster_id is None:
        return None
    verified(b"", crc, cluster_id, epoch, of="the identity of this yard")
    return Identity(cluster_id=cluster_id, epoch=epoch, seq=position_of(session))


def lineage_of(session: Session, seqs: Sequence[int], *, new_cluster_id: str = "") -> Lineage:
    """The log's history. `new_cluster_id` names a yard that was never opened. The caller holds the snapshot."""
    end = identity_of(session) or Identity(cluster_id=new_cluster_id, epoch=0, seq=0)
    takeovers = [takeover_of(row) for row in session.rows(SQL["every_takeover"])]
    held: dict[int, str] = dict(session.rows(SQL["batches_at"], {"seqs": numbers([*seqs, end.seq])}))
    is_known = bool(takeovers) and takeovers[-1].epoch == end.epoch
    takeover = takeovers[-1].id if is_known else ""
    return Lineage(replace(end, takeover=takeover, batch_id=held.get(end.seq, "")), takeovers, held)


def users_of(session: Session) -> list[UserRecord]:
    return _records(USER, session.rows(SQL["every_user"]), of="user")


def load_image(session: Session, tasks: list[Task]) -> Image:
    """All that is hot, with these tasks. The caller holds the snapshot."""
    lineage = lineage_of(session, ())
    return Image(
        identity=lineage.end,
        tasks=tasks,
        users=users_of(session),
        keys=_records(KEY, session.rows(SQL["every_key"]), of="key"),
        daemons=_records(DAEMON, session.rows(SQL["every_daemon"]), of="daemon"),
        numbers=numbers_of(session),
        log_bytes=_log_sizes(session, tasks),
        kept=_every_kept(session),
        takeovers=lineage.takeovers,
    )


def every_task(session: Session) -> Iterator[Task]:
    after = ""
    while True:
        page = session.rows(SQL["every_hot_task"], {"after": after, "rows_max": TASKS_PER_QUERY})
        yield from map(task_of, page)
        if len(page) < TASKS_PER_QUERY:
            return
        after = page[-1][1]


def _records(decoder: msgspec.json.Decoder[T], rows: Iterable[tuple[Any, ...]], *, of: str) -> list[T]:
    return [
        decode_record(decoder, verified(record, crc, of=f"{of} {id_}"), of=f"{of} {id_}") for id_, record, crc in rows
    ]


def _every_kept(session: Session) -> list[Kept]:
    kept = [
        Kept(Keeps(kind), unescaped(name), verified(record, crc, of=f"{kind} {name}"))
        for kind, name, record, crc in session.rows(SQL["every_kept"])
    ]
    # An escape does not sort as what it stands for.
    return sorted(kept, key=lambda each: (each.kind, each.name))


def numbers_of(session: Session) -> dict[str, int]:
    found: dict[str, int] = {}
    for written, number, crc in session.rows(SQL["every_number"]):
        user_id = unescaped(written)
        verified(b"", crc, user_id, number, of=f"the numbering of user {user_id}")
        found[user_id] = number
    return found


def _log_sizes(session: Session, tasks: list[Task]) -> dict[tuple[str, int], int]:
    """Only a task that was tried has a log; asking for those spares a walk through the logs of the past."""
    tried = [task.id for task in tasks if task.attempts]
    sizes: dict[tuple[str, int], int] = {}
    for start in range(0, len(tried), IDS_PER_QUERY_MAX):
        asked = {"ids": ids(tried[start : start + IDS_PER_QUERY_MAX])}
        sizes.update(((task_id, attempt), size) for task_id, attempt, size in session.rows(SQL["log_sizes"], asked))
    return sizes
