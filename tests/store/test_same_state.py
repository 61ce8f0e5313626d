"""One log of commands, one state: whichever engine holds it.

A simulated hub lives, with crashes, failed commits and lost answers, and what it wrote is recorded. The same openings
and commits on every engine leave the same to load and to read.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from taskyard.core.changes import Batch
from taskyard.store.memory import MemoryStore
from taskyard.store.port import Identity, Store, TaskFilter
from taskyard.store.postgres import Candidate, PostgresStore
from taskyard.store.sqlite import SqliteStore
from tests.simulation.world import World
from tests.support.postgres import new_yard

STEPS = 2_000
SEEDS = (7, 8, 9, 1_001)
OPENED = "opened"


class Recorded:
    """A store in memory that remembers what was done to it; a write that fails without a trace is left out."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.log: list[Batch | str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def open(self) -> Identity:
        self.log.append(OPENED)
        return self._store.open()

    def write(self, batch: Batch) -> None:
        reader = self._store.reader()
        try:
            self._store.write(batch)
        finally:
            if reader.position() == batch.seq:
                self.log.append(batch)


def recorded_life(seed: int) -> list[Batch | str]:
    world = World(seed, None)
    recorded = Recorded(world.hub.store)
    world.hub.store = recorded  # type: ignore[assignment]
    world.begin()
    world.suffer(STEPS)
    world.heal()
    world.recover()
    return recorded.log


def replay(store: Store, log: list[Batch | str]) -> None:
    """Commits follow the log's end as it is here: an engine may note openings in it."""
    written = shift = 0
    for entry in log:
        if isinstance(entry, Batch):
            written = entry.seq
            store.write(msgspec.structs.replace(entry, seq=entry.seq + shift))
        else:
            store.close()
            shift = store.open().seq - written


def digest_of(store: Store) -> dict[str, Any]:
    """All that can be read, but for the numbers of commits."""
    image, reader = store.load(), store.reader()
    tasks = reader.tasks(TaskFilter(user_id=None, limit=100_000))
    trail = tuple(range(1, image.identity.seq + 1))
    try:
        return {
            "image": msgspec.structs.replace(image, identity=msgspec.structs.replace(image.identity, seq=0)),
            "tasks": tasks,
            "archived": reader.tasks(TaskFilter(user_id=None, archived=True, limit=100_000)),
            "dead": reader.dead_letters(user_id=None, limit=100_000, before=None),
            "audit": [entry for _, entry in reader.audit(subject=None, limit=100_000, before=None)],
            "logs": [reader.log(task_id=stored.task.id, attempt=None) for stored in tasks],
            "events": [
                (found.epoch, found.event)
                for stored in tasks
                for found in reader.task_events(msgspec.structs.replace(stored.task, trail=trail))
            ],
        }
    finally:
        reader.close()


def engines(place: Path) -> dict[str, Store]:
    return {
        "memory": MemoryStore(new_cluster_id="c_test"),
        "sqlite": SqliteStore(place / "hub.db", new_cluster_id="c_test"),
        "postgres": PostgresStore(new_yard(), new_cluster_id="c_test", candidate=Candidate("h_test")),
    }


@pytest.mark.slow
def test_the_same_log_leaves_the_same_state_on_every_engine(tmp_path: Path) -> None:
    openings = 0
    for seed in SEEDS:
        log = recorded_life(seed)
        openings += log.count(OPENED)
        place = tmp_path / str(seed)
        place.mkdir()
        digests = {}
        for name, store in engines(place).items():
            replay(store, log)
            digests[name] = digest_of(store)
            store.close()
        for part, expected in digests["memory"].items():
            for name in ("sqlite", "postgres"):
                assert digests[name][part] == expected, f"{part} of seed {seed} differs on {name}"
    assert openings > 2 * len(SEEDS), "lives without a crash prove less"
