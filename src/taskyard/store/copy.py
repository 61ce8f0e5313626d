"""Moves a yard from one engine to another, row by row, and believes it only when it has read all of it back.

Both sides are counted and hashed. A hash of all rows is the sum of the hashes of each, so that no engine has to give
them in an order that is not its own. What is held in memory is a chunk.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeVar

import msgspec
from msgspec import Struct, field

from taskyard.store.dump import Source, Target
from taskyard.store.port import Identity, StoreBroken

ROWS_MAX: Final = 1_000
BYTES_MAX: Final = 8 * 1024 * 1024
# Of a chunk, but for its last row: a body or a result may have a few MiB by itself.
HASH_BYTES: Final = 16
PLACES: Final = ("waiting or running tasks", "ended tasks", "archived tasks")

T = TypeVar("T")
_encode: Final = msgspec.msgpack.Encoder().encode


class Tally(Struct):
    """What was met: how many of each, and the sum of all hashes."""

    counts: Counter[str] = field(default_factory=Counter)
    sum: int = 0

    def add(self, name: str, row: tuple[object, ...]) -> int:
        """The size of what was added."""
        self.counts[name] += 1
        encoded = _encode((name, row))
        self.sum += int.from_bytes(blake2b(encoded, digest_size=HASH_BYTES).digest())
        return len(encoded)

    @property
    def rows(self) -> int:
        return self.counts.total()

    @property
    def digest(self) -> str:
        return f"{self.sum % (1 << 8 * HASH_BYTES):0{2 * HASH_BYTES}x}"


class Copied(Struct, frozen=True):
    """What there is in both places now."""

    identity: Identity
    counts: dict[str, int]
    digest: str


def copy(source: Source, target: Target, *, tell: Callable[[str, int, int], None]) -> Copied:
    """Fill the target and verify it; the caller commits. `tell` hears what is done, how much of it, and of how much.

    `StoreBroken` if what was read back is not what was read: then nobody may commit it.
    """
    identity, total = source.identity, source.total
    target.begin(identity)
    given = Tally()
    for tasks in _chunks(source.tasks(), lambda task: given.add(PLACES[task.place], task)):
        target.take_tasks(tasks)
        tell("copied", given.rows, total)
    for kind, group in groupby(source.rows(), key=itemgetter(0)):
        for rows in _chunks(map(itemgetter(1), group), partial(given.add, kind.name)):
            target.take(kind, rows)
            tell("copied", given.rows, total)
    found = _read_back(target, lambda rows: tell("verified", rows, total))
    if (found.counts, found.digest, target.identity) != (given.counts, given.digest, identity):
        raise StoreBroken(
            f"what was written is not what was read: {found.rows} rows with the digest {found.digest}, "
            f"not {given.rows} with {given.digest}"
        )
    return Copied(identity=identity, counts=dict(found.counts), digest=found.digest)


def _read_back(target: Target, tell: Callable[[int], None]) -> Tally:
    tally = Tally()
    for task in target.tasks():
        tally.add(PLACES[task.place], task)
        if tally.rows % ROWS_MAX == 0:
            tell(tally.rows)
    for kind, row in target.rows():
        tally.add(kind.name, row)
        if tally.rows % ROWS_MAX == 0:
            tell(tally.rows)
    tell(tally.rows)
    return tally


def _chunks(rows: Iterable[T], weigh: Callable[[T], int]) -> Iterator[list[T]]:
    """As many at a time as may be in memory."""
    chunk: list[T] = []
    size = 0
    for row in rows:
        chunk.append(row)
        size += weigh(row)
        if len(chunk) >= ROWS_MAX or size >= BYTES_MAX:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
