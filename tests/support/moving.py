"""Places where a yard can be, and one with some of everything, to be moved from each to each."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec

from taskyard.core.changes import AuditRecord, Kept, KeyRecord, LateResult, LogChunk, UserRecord
from taskyard.store import jsonl
from taskyard.store.copy import Copied, copy
from taskyard.store.dump import Source, Target
from taskyard.store.port import Figures, Store
from taskyard.store.postgres import Candidate, PostgresStore
from taskyard.store.postgres import dump as in_postgres
from taskyard.store.sqlite import SqliteStore
from taskyard.store.sqlite import dump as in_sqlite
from taskyard.vocabulary import Keeps, Scope, Status
from tests.support.records import NOW, USER, Yard, a_body, a_task, an_event, assigned, ended
from tests.support.store_script import State, script, state_of

WRITE_S = 5.0
"""Late enough for a busy machine; one test waits so long for what it is refused."""
HOSTILE = "a\0b\x1a\x1a0c"
"""What text of PostgreSQL cannot hold, and what stands for it there."""
HARD_TO_ORDER = ("a", "a\0", "a\0\x03", "a\x01", "a\x02", "a\x1a", "a\x1a0", "a\x1b", "\u00e9", "\uffff", "\U0001f600")
"""Ids whose order depends on how a database compares and escapes them."""


class Place(msgspec.Struct):
    """Where a yard can be: how a hub opens it there, and how it is copied from and to there."""

    store: Callable[[], Store]
    opened: Callable[[], AbstractContextManager[Source]]
    made: Callable[[], AbstractContextManager[Target]]


def secretly(_secret: bytes) -> None:
    """Keeps no secret."""


def file_place(file: Path) -> Place:
    return Place(
        store=lambda: SqliteStore(file, new_cluster_id="c_new"),
        opened=lambda: in_sqlite.opened(file),
        made=lambda: in_sqlite.made(file, keep_secret=secretly),
    )


def database_place(url: str) -> Place:
    return Place(
        store=lambda: PostgresStore(url, new_cluster_id="c_new", candidate=Candidate("h_test"), write_s=WRITE_S),
        opened=lambda: in_postgres.opened(url),
        made=lambda: in_postgres.made(url),
    )


def lines_place(path: Path) -> Place:
    """A file, which no hub opens."""

    def no_store() -> Store:
        raise AssertionError("a hub cannot open a file of lines")

    return Place(
        store=no_store,
        opened=lambda: jsonl.opened(path, tell=quietly),
        made=lambda: jsonl.made(path, now_ms=NOW),
    )


def quietly(_done: str, _count: int, _total: int) -> None:
    """Tells nobody."""


def moved(here: Place, there: Place) -> Copied:
    with here.opened() as source, there.made() as target:
        copied = copy(source, target, tell=quietly)
        target.commit()
    return copied


def at(place: Place, look: Callable[[Store], Any]) -> Any:
    """What a hub finds there."""
    store = place.store()
    store.open()
    try:
        return look(store)
    finally:
        store.close()


def live(place: Place) -> None:
    """A life with every kind of change, and some of everything that a name or a content may be."""

    def write(store: Store) -> None:
        for batch in script(store.load().identity, batches=24):
            store.write(batch)
        yard = Yard.of(store)
        odd = a_task(number=900, user_id=HOSTILE, type=HOSTILE, queue=HOSTILE, key=HOSTILE, correlation_id=HOSTILE)
        large = a_task(number=901)
        others = [a_task(number=910 + place, user_id=name) for place, name in enumerate(HARD_TO_ORDER)]
        revived = a_task(number=902)
        dead = ended(a_task(number=903, key=HOSTILE, user_id=HOSTILE), Status.PERMANENTLY_FAILED)
        yard.has(
            ended(revived, Status.PERMANENTLY_FAILED), dead, outcomes=[(revived.id, b"{}"), (dead.id, b"x" * 5000)]
        )
        yard.write(revived=[assigned(revived)])
        yard.write(
            created=[odd, large, *others],
            bodies=[a_body(odd, text=HOSTILE), a_body(large, text="y" * 300_000), *map(a_body, others)],
            checkpoints=[(large.id, b"\0\xff" * 70_000)],
            late=[LateResult(task_id=dead.id, attempt=3, at=NOW, body=b"[1]")],
            logs=[LogChunk(task_id=revived.id, attempt=1, at=NOW, text=HOSTILE)],
            events=[an_event(odd)],
            users=[UserRecord(id=id_, name=id_, created_at=NOW) for id_ in (USER, HOSTILE, *HARD_TO_ORDER)],
            keys=[KeyRecord(id="k_1", user_id=USER, name="l", hash="h", scopes=(Scope.TASKS,), created_at=NOW)],
            kept=[Kept(Keeps.USAGE, name, b"{}") for name in (HOSTILE, *HARD_TO_ORDER)],
            audit=[AuditRecord(at=NOW, actor=USER, action="look", subject=HOSTILE)],
            requests=[("r1", b"answer"), (HOSTILE, b""), *((name, b"") for name in HARD_TO_ORDER)],
        )
        store.keep_figures([Figures(60, NOW, b"{}"), Figures(3600, NOW, b"\0\xff")], kept={})
        yard.reader.close()

    at(place, write)


def found_at(place: Place) -> tuple[State, list[object]]:
    """Everything but where its log ends, which some engines note when they are opened."""

    def look(store: Store) -> tuple[State, list[object]]:
        state = state_of(store)
        state.image.identity = msgspec.structs.replace(state.image.identity, seq=0)
        # A hub looks users up, whatever their order.
        state.image.users.sort(key=lambda user: user.id)
        reader = store.reader()
        try:
            return state, [
                reader.request("r1"),
                reader.request(HOSTILE),
                reader.find(user_id=HOSTILE, task="T-900"),
                reader.known(user_id=HOSTILE, ids=(), refs=(), keys=(HOSTILE,)).keys,
                [reader.checkpoint(task.task.id) for task in state.tasks],
                [reader.figures(step_s=step_s, since=0) for step_s in (60, 3600)],
                [reader.counts(user_id=user_id) for user_id in (None, USER, HOSTILE)],
            ]
        finally:
            reader.close()

    found: tuple[State, list[object]] = at(place, look)
    return found
