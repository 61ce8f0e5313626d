"""A scripted life of a yard, and what each of its commits leaves: the measure for stores that were cut off.

The same seed writes the same batches, so a recovered store is compared with the state after the commit that it
says it ends with, found once by the engine in memory.
"""

from collections.abc import Iterator
from random import Random

import msgspec

from taskyard.core.changes import AuditRecord, Batch, DaemonRecord, LateResult, LogChunk
from taskyard.core.task import Task
from taskyard.store.memory import MemoryStore
from taskyard.store.port import Identity, Image, Numbered, Store, StoredTask, TaskFilter
from taskyard.store.records import PLACES_PER_COMMIT
from taskyard.vocabulary import EventName, Status
from tests.support.records import NOW, USER, a_batch, a_body, a_task, an_event, assigned, ended


class State(msgspec.Struct):
    """Everything that can be read from a store, but for the epoch, which counts openings."""

    image: Image
    tasks: list[StoredTask]
    archived: list[StoredTask]
    events: list[Numbered]
    audit: list[tuple[int, AuditRecord]]
    logs: list[list[tuple[int, int, str]]]


def state_of(store: Store, *, began: int = 0) -> State:
    """With commits counted from where the log ended when the script began: an engine may note openings in it.

    Takeovers are left out: each engine, and each opening, names its own.
    """
    image = store.load()
    trail = tuple(range(1, image.identity.seq + 1))
    end = image.identity
    image.identity, image.takeovers = Identity(cluster_id=end.cluster_id, epoch=0, seq=end.seq - began), []
    reader = store.reader()
    try:
        tasks = reader.tasks(TaskFilter(user_id=None, limit=10_000))
        return State(
            image=image,
            tasks=tasks,
            archived=reader.tasks(TaskFilter(user_id=None, archived=True, limit=10_000)),
            events=[
                msgspec.structs.replace(event, seq=event.seq - began)
                for stored in tasks
                for event in reader.task_events(msgspec.structs.replace(stored.task, trail=trail))
            ],
            audit=[
                (n - began * PLACES_PER_COMMIT, entry)
                for n, entry in reader.audit(subject=None, limit=10_000, before=None)
            ],
            logs=[
                [(piece.attempt, piece.at, piece.text) for piece in reader.log(task_id=stored.task.id, attempt=None)]
                for stored in tasks
            ],
        )
    finally:
        reader.close()


def script(identity: Identity, *, batches: int, seed: int = 1) -> Iterator[Batch]:
    """Batches of every kind of change, each of a few tasks."""
    rng = Random(seed)
    hot: dict[str, Task] = {}
    dead: list[Task] = []
    number = 0
    for turn in range(batches):
        at = NOW + turn
        created = [a_task(number=number + n, key=f"k{number + n}") for n in range(1, rng.randint(2, 5))]
        number += len(created)
        leaving = [hot.pop(id_) for id_ in sorted(hot) if rng.random() < 0.3]
        gone = [ended(task, rng.choice((Status.COMPLETED, Status.PERMANENTLY_FAILED)), at=at) for task in leaving]
        changed = [assigned(task, at=at) for task in hot.values() if rng.random() < 0.3]
        revived = [msgspec.structs.replace(dead.pop(), status=Status.QUEUED, completed_at=None)] if dead[3:] else []
        dead += [task for task in gone if task.status is Status.PERMANENTLY_FAILED]
        hot.update((task.id, task) for task in (*created, *changed, *revived))
        yield a_batch(
            msgspec.structs.replace(identity, seq=identity.seq + turn),
            at=at,
            created=created,
            changed=changed,
            ended=gone,
            revived=revived,
            bodies=[a_body(task, text="x" * rng.randint(1, 9_000)) for task in created],
            outcomes=[(task.id, b'{"result": %d}' % turn) for task in gone],
            checkpoints=[(task.id, rng.randbytes(600)) for task in changed],
            late=[LateResult(task_id=task.id, attempt=1, at=at, body=b"{}") for task in gone[:1]],
            logs=[LogChunk(task_id=task.id, attempt=1, at=at, text=f"turn {turn}\n") for task in changed],
            events=[an_event(task, EventName.TASK_CHANGED, at=at) for task in (*created, *changed, *gone)],
            daemons=[DaemonRecord(id="d_1", user_id=USER, name="mac-1", boot_id=f"b{turn}", connected_at=at)],
            audit=[AuditRecord(at=at, actor=USER, action="turn", subject=str(turn))],
            archive=(at - 10, at - 20) if turn % 4 == 3 else None,
        )


def expected_states(*, batches: int, seed: int = 1) -> list[State]:
    """The state after each commit of the script, and first the one before any."""
    store = MemoryStore(new_cluster_id="c_test")
    identity = store.open()
    states = [state_of(store)]
    for batch in script(identity, batches=batches, seed=seed):
        store.write(batch)
        states.append(state_of(store))
    return states
