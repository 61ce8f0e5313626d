"""Group commit: one batch is being written, the next one gathers, and nothing leaves before it is on disk.

This is the one order that matters: command, core, commit, and then, and only then, replies, frames and
events. The machine here keeps that order and does nothing else: it knows no thread, no clock and no store, so
that the hub and the simulator run the same one. Its user

    1. cuts a batch from the core whenever the committer is `idle` and calls `begin`;
    2. writes the batch it gets back, wherever and however long that takes;
    3. calls `committed` and sends what is released, or `failed` and sends nothing.

Several batches in flight would save a little latency and were rejected: after a failure, every later one
would have been decided upon a state that never came to be.
"""

from copy import deepcopy
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from taskyard.core.changes import Batch
from taskyard.core.effects import Effect


class Release(Struct, frozen=True):
    """Effects whose changes are on disk, up to and including commit `seq`."""

    seq: int
    batch: Batch
    effects: list[Effect]
    batch_id: str = ""
    """Of commit `seq`, which an empty batch is not."""


class Committer:
    """Holds at most one batch in flight, and the effects that wait for it."""

    def __init__(self, *, durable_seq: int, durable_id: str = "") -> None:
        self._durable_seq = durable_seq
        self._durable_id = durable_id
        self._in_flight: Release | None = None

    @property
    def durable_seq(self) -> int:
        """The newest commit known to be on disk."""
        return self._durable_seq

    @property
    def durable_id(self) -> str:
        """Its batch id."""
        return self._durable_id

    @property
    def idle(self) -> bool:
        """Whether the next batch may begin."""
        return self._in_flight is None

    def begin(self, batch: Batch, effects: list[Effect]) -> Batch | Release:
        """Take what the core cut: a batch to write, or what may leave at once because nothing changed.

        An empty batch uses up no sequence number: everything its effects speak of is on disk already.
        """
        assert self._in_flight is None, "never two batches in flight"
        assert batch.seq == self._durable_seq + 1, "a batch follows the last commit"
        if batch.is_empty():
            return Release(self._durable_seq, batch, effects, self._durable_id)
        _fix(batch)
        self._in_flight = Release(batch.seq, batch, effects, batch.batch_id)
        return batch

    @property
    def in_flight(self) -> Release | None:
        """What will leave when the batch being written is on disk."""
        return self._in_flight

    def committed(self) -> Release:
        """The batch in flight is on disk; its effects may leave."""
        release = self._in_flight
        assert release is not None, "nothing was in flight"
        self._in_flight = None
        self._durable_seq, self._durable_id = release.seq, release.batch_id
        return release

    def failed(self) -> list[Effect]:
        """The batch in flight is lost, or nobody knows: the effects to drop, for whom to answer 503.

        The core's memory is ahead of the disk now. Load it anew, and a new committer with it, since an
        unanswered commit may have happened all the same.
        """
        release = self._in_flight
        assert release is not None, "nothing was in flight"
        self._in_flight = None
        return release.effects


def _fix(batch: Batch) -> None:
    """Part the batch from the core's live records, which go on changing while it is being written.

    A task's record is encoded at the cut, but its row has columns beside it, and both must tell of one
    instant. Copies one level deep are enough for those: only scalars become columns.
    """
    for row in chain(batch.created, batch.changed, batch.ended, batch.revived, batch.amended):
        row.task = replace(row.task)
    batch.users = deepcopy(batch.users)
    batch.keys = deepcopy(batch.keys)
    batch.daemons = deepcopy(batch.daemons)
