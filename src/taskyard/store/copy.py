"""Moves a yard from one place to another, row by row, and believes it only when it has read all of it back.

Both sides are counted and hashed. What is held in memory is a chunk.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from taskyard.store.dump import Kind, Row, Source, Target
from taskyard.store.port import Identity, StoreBroken

ROWS_MAX: Final = 1_000
BYTES_MAX: Final = 8 * 1024 * 1024
# Of a chunk, but for its last row: a body or a result may have a few MiB by itself.
HASH_BYTES: Final = 16

T = TypeVar("T")
_encode: Final = msgspec.msgpack.Encoder().encode


class Tally:
    """What was met: how many of each kind, and a hash of all of it in its order."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._hash = blake2b(digest_size=HASH_BYTES)

    def add(self, kind: Kind, row: Row) -> int:
        """The size of what was added."""
        self.counts[kind.name] += 1
        encoded = _encode((kind.name, row))
        self._hash.update(encoded)
        return len(encoded)

    @property
    def rows(self) -> int:
        return self.counts.total()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


class Copied(Struct, frozen=True):
    """What there is in both places now."""

    identity: Identity
    counts: dict[str, int]
    digest: str


def copy(source: Source, target: Target, *, tell: Callable[[str, int, int], None]) -> Copied:
    """Fill the target and verify it; the caller commits. `tell` hears what is done, how much of it, and of how much.

    `StoreBroken` if what was read back is not what was read: then nobody may commit it.
    """
    summary = source.summary
    target.begin(summary)
    given = Tally()
    for kind, group in groupby(source.rows(), key=itemgetter(0)):
        for rows in _chunks(map(itemgetter(1), group), partial(given.add, kind)):
            target.take(kind, rows)
            tell("copied", given.rows, summary.total)
    found = read_through(target, lambda rows: tell("verified", rows, summary.total))
    if (found.counts, found.digest, target.summary) != (given.counts, given.digest, summary):
        raise StoreBroken(
            f"what was written is not what was read: {found.rows} rows with the digest {found.digest}, "
            f"not {given.rows} with {given.digest}"
        )
    return Copied(identity=summary.identity, counts=dict(found.counts), digest=found.digest)


def read_through(source: Source, tell: Callable[[int], None]) -> Tally:
    """Read all rows; `tell` hears how many were read."""
    tally = Tally()
    for kind, row in source.rows():
        tally.add(kind, row)
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
