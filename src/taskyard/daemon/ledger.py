"""What is owed to the hub, and when it must be on disk.

An outcome is told at once and kept until the hub acknowledges it. Most are acknowledged within milliseconds
and never touch the disk; the others are written JOURNAL_AFTER_MS after they ended, or at once when there is
nobody to tell. Whatever is written takes along all that gathered: one line of the journal, one fsync.
"""

from collections import deque
from collections.abc import Iterator
from typing import Final

from msgspec import Raw

from taskyard.daemon.orders import Batch, Key, Memory
from taskyard.wire.frames import Ack, HeartbeatAck, Position, Welcome

JOURNAL_AFTER_MS: Final = 50
# A hub that is well acknowledges in less; the price of a crash meanwhile is one more run of short work.
LAZY_MS: Final = 1_000
"""How long facts that nobody waits for may stay out of the journal."""

RETELL_BYTES_MAX: Final = 4 * 1024 * 1024
# A full spool is hundreds of MiB: told all at once, it would look like a hub that does not read.


class Ledger:
    def __init__(self, memory: Memory) -> None:
        self.daemon_id = memory.daemon_id
        self.seen = memory.seen
        self.ended: dict[Key, bytes] = dict(memory.ended)
        """Outcomes the hub has not acknowledged, each as its encoded message."""
        self.ended_bytes = sum(map(len, self.ended.values()))
        self.settled: list[Key] = []
        """Attempts of which nothing is owed any more, since this was last taken."""
        self._unwritten: dict[Key, int] = {}
        """Those of them that are not in the journal, oldest first, and when they should be."""
        self._batch = Batch()
        self._lazy_at: int | None = None
        self._urgent = False
        self._to_retell: deque[Key] = deque()
        self._retold: set[Key] = set()
        self._retold_bytes = 0

    # --- the journal ---------------------------------------------------------------------------------------

    @property
    def write_at(self) -> int | None:
        """When what gathered must be written; None if nothing did."""
        for oldest_at in self._unwritten.values():
            return oldest_at if self._lazy_at is None else min(oldest_at, self._lazy_at)
        return self._lazy_at

    def hurry(self) -> None:
        """Write what gathered now."""
        self._urgent = self._urgent or self.write_at is not None

    def take(self) -> Batch | None:
        """What to write now, if anything."""
        if not self._urgent:
            return None
        batch, self._batch = self._batch, Batch()
        batch.ended = [(*key, Raw(self.ended[key])) for key in self._unwritten]
        self._unwritten.clear()
        self._lazy_at = None
        self._urgent = False
        return batch

    def take_settled(self) -> list[Key]:
        settled, self.settled = self.settled, []
        return settled

    # --- facts ---------------------------------------------------------------------------------------------

    def end(self, key: Key, outcome: bytes, now_ms: int) -> None:
        self.ended[key] = outcome
        self.ended_bytes += len(outcome)
        self._unwritten[key] = now_ms + JOURNAL_AFTER_MS

    def forget(self, key: Key, now_ms: int) -> bool:
        """The hub has this outcome, or wants none. False: it was not owed."""
        outcome = self.ended.pop(key, None)
        if outcome is None:
            return False
        self.ended_bytes -= len(outcome)
        self.settled.append(key)
        if key in self._retold:
            self._retold.remove(key)
            self._retold_bytes -= len(outcome)
        if self._unwritten.pop(key, None) is None:
            self._batch.forgotten.append(key)
            self._gathered(now_ms)
        return True

    def is_daemon(self, daemon_id: str) -> None:
        if self.daemon_id != daemon_id:
            self.daemon_id = self._batch.daemon_id = daemon_id
            self._urgent = True

    def heard(self, stamp: Welcome | Ack | HeartbeatAck, now_ms: int) -> bool:
        """Whether this comes from a hub that may still lead; if so, remember how far it was."""
        seen = self.seen
        if seen is not None and seen.cluster_id == stamp.cluster_id:
            if stamp.epoch < seen.epoch:
                return False
            if stamp.epoch == seen.epoch and stamp.seq <= seen.seq:
                return True
        self.seen = self._batch.seen = Position(stamp.cluster_id, stamp.epoch, stamp.seq, stamp.sealed)
        self._gathered(now_ms)
        return True

    def _gathered(self, now_ms: int) -> None:
        if self._lazy_at is None:
            self._lazy_at = now_ms + LAZY_MS

    # --- telling again -------------------------------------------------------------------------------------

    def tell_all_anew(self) -> None:
        """There is a new connection: what was told on the old one may not have arrived."""
        self._to_retell = deque(self.ended)
        self._retold.clear()
        self._retold_bytes = 0

    def untold(self) -> list[Key]:
        """Outcomes to tell again now: as many as fit the window of those not acknowledged."""
        untold = []
        while self._to_retell and self._retold_bytes < RETELL_BYTES_MAX:
            key = self._to_retell.popleft()
            if key in self.ended:
                self._retold.add(key)
                self._retold_bytes += len(self.ended[key])
                untold.append(key)
        return untold

    def not_yet_told(self) -> Iterator[Key]:
        """Outcomes this connection has not heard of. To the hub these attempts still run."""
        return (key for key in self._to_retell if key in self.ended)
