"""What must be on disk before it is said, and what must stay there until the hub has it.

Facts gather in a batch; a batch becomes one line of the journal and one fsync. Messages that depend on a
fact wait under the number of its batch, and leave together when the disk has it: this is where many tasks
become one frame.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Final

from msgspec import Raw

from taskyard.daemon.orders import Batch, Key, Memory
from taskyard.wire.frames import Ack, HeartbeatAck, Position, Welcome

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
        self.number = 1
        """Of the batch that gathers."""
        self.lazy_at: int | None = None
        self._gates: dict[Key, int] = {}
        self._batch = Batch()
        self._urgent = False
        self._durable = 0
        self._held: defaultdict[int, list[bytes]] = defaultdict(list)
        self._to_retell: deque[Key] = deque()
        self._retold: set[Key] = set()
        self._retold_bytes = 0

    def take(self, *, everything: bool) -> Batch | None:
        """The batch, if somebody waits for it or `everything` is to be written."""
        if not (self._urgent or (everything and self.lazy_at is not None)):
            return None
        batch, self._batch = self._batch, Batch()
        self.number += 1
        self.lazy_at = None
        self._urgent = False
        return batch

    # --- facts ---------------------------------------------------------------------------------------------

    def accept(self, key: Key) -> None:
        self._batch.accepted.append(key)
        self._urgent = True

    def end(self, key: Key, outcome: bytes) -> None:
        self.ended[key] = outcome
        self.ended_bytes += len(outcome)
        self._gates[key] = self.number
        self._batch.ended.append((key[0], key[1], Raw(outcome)))
        self._urgent = True

    def forget(self, key: Key, now_ms: int) -> bool:
        """The hub has this outcome, or wants none. False: it was not owed."""
        outcome = self.ended.pop(key, None)
        if outcome is None:
            return False
        self.ended_bytes -= len(outcome)
        self._gates.pop(key, None)
        if key in self._retold:
            self._retold.remove(key)
            self._retold_bytes -= len(outcome)
        self._batch.forgotten.append(key)
        if self.lazy_at is None:
            self.lazy_at = now_ms + LAZY_MS
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
        self.seen = self._batch.seen = Position(stamp.cluster_id, stamp.epoch, stamp.seq)
        if self.lazy_at is None:
            self.lazy_at = now_ms + LAZY_MS
        return True

    def hurry(self) -> None:
        self._urgent = True

    # --- messages ------------------------------------------------------------------------------------------

    def gate_of(self, key: Key) -> int:
        """The batch that an ended attempt's outcome waits for."""
        return self._gates.get(key, 0)

    def tell_all_anew(self) -> None:
        """There is a new connection: what was told on the old one may not have arrived."""
        self._to_retell = deque(self.ended)
        self._retold.clear()
        self._retold_bytes = 0

    def untold(self) -> Iterator[Key]:
        """Outcomes to tell again now: as many as fit the window of those not acknowledged."""
        while self._to_retell and self._retold_bytes < RETELL_BYTES_MAX:
            key = self._to_retell.popleft()
            if key in self.ended:
                self._retold.add(key)
                self._retold_bytes += len(self.ended[key])
                yield key

    def not_yet_told(self) -> Iterator[Key]:
        """Outcomes this connection has not heard of. To the hub these attempts still run."""
        for key, gate in self._gates.items():
            if gate > self._durable:
                yield key
        for key in self._to_retell:
            if key in self.ended:
                yield key

    def is_durable(self, gate: int) -> bool:
        return gate <= self._durable

    def may_say(self, message: bytes, gate: int) -> bool:
        """Whether batch `gate` is on disk; if not, the message is held until it is."""
        if gate <= self._durable:
            return True
        self._held[gate].append(message)
        return False

    def hold(self, message: bytes) -> None:
        """Until the batch that gathers is on disk."""
        self._held[self.number].append(message)

    def journaled(self, number: int) -> list[bytes]:
        """This batch and all before it are on disk: the messages that waited for them, in order."""
        self._durable = number
        released: list[bytes] = []
        for gate in sorted(gate for gate in self._held if gate <= number):
            released += self._held.pop(gate)
        return released

    def drop_held(self) -> None:
        self._held.clear()
