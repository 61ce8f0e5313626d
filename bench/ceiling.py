"""The bare store's ceiling: the rows and commits of a task's life, durable, without any logic.

What the hub reaches through sockets is read as a share of this, so that one can tell where the rest went. A
life is three writes of one task, each in a commit with others: created with its body, assigned, and ended
with its outcome. Batches are built beforehand; only `write` and `tend` are timed.

    python -m bench.ceiling [TASKS] [DIRECTORY]
    python -m bench.ceiling postgres [TASKS]
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench.yard import a_database
from taskyard.core.changes import Batch, Event, TaskRow
from taskyard.core.task import Attempt, Kind, Task, Terms
from taskyard.store.port import Identity, Store
from taskyard.store.postgres import Candidate, PostgresStore
from taskyard.store.sqlite import SqliteStore
from taskyard.vocabulary import AttemptStatus, EventName, Status

START_MS = 1_750_000_000_000
BODY = msgspec.json.encode({"title": "Q1 sales", "input": "Analyse the sales data " * 4, "context": {}})
OUTCOME = msgspec.json.encode({"result": "a summary of the sales data " * 4, "files_changed": []})


def _row(task: Task) -> TaskRow:
    return TaskRow(task=msgspec.structs.replace(task), record=msgspec.json.encode(task))


def _event(task: Task, name: EventName) -> Event:
    return Event(name=name, at=START_MS, user_id=task.user_id, task_id=task.id, number=task.number, now=task.status)


def _created(task: Task, batch: Batch) -> None:
    task.trail = (batch.seq,)
    batch.created.append(_row(task))
    batch.bodies.append((task.id, BODY))
    batch.events += [_event(task, EventName.TASK_CREATED), _event(task, EventName.TASK_QUEUED)]


def _assigned(task: Task, batch: Batch) -> None:
    task.status = Status.SCHEDULED
    task.trail += (batch.seq,)
    task.attempts = [Attempt(number=1, daemon_id="d_1", daemon_name="mac-1", boot_id="b_1", assigned_at=batch.at)]
    batch.changed.append(_row(task))
    batch.events.append(_event(task, EventName.TASK_SCHEDULED))


def _ended(task: Task, batch: Batch) -> None:
    assert task.attempts is not None
    task.status, task.completed_at = Status.COMPLETED, batch.at
    task.trail += (batch.seq,)
    task.attempts[0].status = AttemptStatus.SUCCESS
    batch.ended.append(_row(task))
    batch.outcomes.append((task.id, OUTCOME))
    batch.events.append(_event(task, EventName.TASK_COMPLETED))


def lives(identity: Identity, *, tasks: int, batch: int) -> Iterator[Batch]:
    """Commits in which one group of tasks is created, the one before is assigned, and its forerunner ends."""
    kind, terms = Kind(), Terms()
    groups = [
        [
            Task(
                id=f"01970000-0000-7000-8000-{number:012d}",
                user_id="local",
                number=number,
                kind=kind,
                terms=terms,
                created_at=START_MS,
                status=Status.QUEUED,
                queued_at=START_MS,
            )
            for number in range(first, min(first + batch, tasks + 1))
        ]
        for first in range(1, tasks + 1, batch)
    ]
    stages = (_created, _assigned, _ended)
    for turn in range(len(groups) + len(stages) - 1):
        seq = identity.seq + 1 + turn
        at = START_MS + turn
        commit = Batch(seq=seq, epoch=identity.epoch, batch_id=f"b{seq}", at=at)
        for age, stage in enumerate(stages):
            if 0 <= turn - age < len(groups):
                for task in groups[turn - age]:
                    stage(task, commit)
        yield commit


def measure(tasks: int, batch: int, *, directory: str | None = None) -> float:
    """Lives per second on SQLite, with `batch` tasks of each stage in a commit."""
    with tempfile.TemporaryDirectory(dir=directory) as place:
        return _timed(SqliteStore(Path(place, "hub.db"), new_cluster_id="c_bench"), tasks, batch)


def measure_postgres(tasks: int, batch: int) -> float:
    """The same on PostgreSQL, over one connection to a server on this machine."""
    with a_database() as url:
        store = PostgresStore(url, new_cluster_id="c_bench", candidate=Candidate("h_bench"))
        return _timed(store, tasks, batch)


def _timed(store: Store, tasks: int, batch: int) -> float:
    batches = list(lives(store.open(), tasks=tasks, batch=batch))
    began = time.perf_counter()
    for commit in batches:
        store.write(commit)
        store.tend()
    took = time.perf_counter() - began
    store.close()
    return tasks / took


def main() -> None:
    arguments = sys.argv[1:]
    on_postgres = arguments[:1] == ["postgres"]
    arguments = arguments[on_postgres:]
    tasks = int(arguments[0]) if arguments else 100_000
    for batch in (1, 16, 50, 256, 500):
        count = min(tasks, batch * 1_000)
        if on_postgres:
            rate = measure_postgres(count, batch)
        else:
            rate = measure(count, batch, directory=arguments[1] if len(arguments) > 1 else None)
        print(f"batches of {batch:>3}: {rate:>9,.0f} lives/s")


if __name__ == "__main__":
    main()
