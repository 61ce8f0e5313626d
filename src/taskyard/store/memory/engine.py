"""One writer over a `Disk` in memory, with the faults that a simulator asks for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Final

from taskyard.core.changes import Batch, Kept
from taskyard.core.eras import Takeover, next_epoch, raised_numbers
from taskyard.store.memory.disk import Disk, decoded, write_batch
from taskyard.store.memory.reader import MemoryReader
from taskyard.store.port import Figures, Identity, Image, Reader, StoreRefused, StoreUnavailable
from taskyard.store.records import DAEMON, KEY, USER
from taskyard.store.rewind import Sighting, refuse_rewind, seqs_of

_IDS: Final = map("takeover {}".format, count(1))
"""No two takeovers in a process have one id, whichever copies of a store they are of."""


class MemoryStore:
    def __init__(self, *, new_cluster_id: str = "c_memory", takeover_ids: Iterator[str] = _IDS) -> None:
        self._takeover_ids = takeover_ids
        self._disk = Disk(cluster_id=new_cluster_id)
        self._opened = False
        self._fault: Exception | None = None
        self._answer_lost = False

    # --- faults ---

    def crash(self) -> None:
        """The process died: nothing committed is lost, and another may open the store."""
        self._opened = False
        self._fault = None
        self._answer_lost = False

    def fail_next(self, fault: Exception) -> None:
        """The next write or probe changes nothing and raises this."""
        self._fault = fault

    def lose_next_answer(self) -> None:
        """The next write or probe happens, and then `StoreUnavailable` says that nobody knows."""
        self._answer_lost = True

    # --- the port ---

    def open(self, *, new_era: bool = False, seen: Sequence[Sighting] = ()) -> Identity:
        if self._opened:
            raise StoreRefused("Another hub uses this store. Stop that one first.")
        disk = self._disk
        if new_era:
            disk.numbers = raised_numbers(disk.numbers, disk.users)
        else:
            refuse_rewind(disk.lineage(seqs_of(seen)), seen)
        self._opened = True
        disk.epoch = next_epoch(disk.epoch, new_era=new_era)
        disk.takeovers.append(Takeover(disk.epoch, next(self._takeover_ids), disk.seq))
        return disk.end()

    def load(self) -> Image:
        disk = self._disk
        return Image(
            identity=disk.end(),
            tasks=[decoded(disk.hot[id_]) for id_ in sorted(disk.hot)],
            users=[USER.decode(disk.users[id_]) for id_ in sorted(disk.users)],
            keys=[KEY.decode(disk.keys[id_]) for id_ in sorted(disk.keys)],
            daemons=[DAEMON.decode(disk.daemons[id_]) for id_ in sorted(disk.daemons)],
            numbers=dict(disk.numbers),
            log_bytes={
                (task_id, attempt): sum(len(piece.text.encode()) for piece in pieces)
                for (task_id, attempt), pieces in disk.logs.items()
                if task_id in disk.hot
            },
            kept=[Kept(kind, name, disk.kept[kind, name]) for kind, name in sorted(disk.kept)],
            takeovers=list(disk.takeovers),
        )

    def write(self, batch: Batch) -> None:
        assert self._opened, "the store is not open"
        assert batch.seq == self._disk.seq + 1, "a batch follows the last commit"
        assert batch.epoch == self._disk.epoch, "a batch belongs to the epoch of its hub"
        self._raise_fault()
        write_batch(self._disk, batch)
        self._raise_lost_answer()

    def writing(self, batch: Batch) -> Callable[[], None]:
        return partial(self.write, batch)

    def probe(self) -> None:
        assert self._opened, "the store is not open"
        self._raise_fault()
        self._raise_lost_answer()

    def keep_figures(self, figures: Sequence[Figures], *, kept: Mapping[int, tuple[int, int]]) -> None:
        assert self._opened, "the store is not open"
        self._raise_fault()
        held = self._disk.figures
        held.update(((each.step_s, each.at), each.record) for each in figures)
        for step_s, (first, last) in kept.items():
            for step, at in [key for key in held if key[0] == step_s and not first <= key[1] <= last]:
                del held[step, at]
        self._raise_lost_answer()

    def _raise_fault(self) -> None:
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def _raise_lost_answer(self) -> None:
        lost, self._answer_lost = self._answer_lost, False
        if lost:
            raise StoreUnavailable("the answer to the commit was lost")

    def tend(self) -> None:
        """There is no log to copy back."""

    def reader(self) -> Reader:
        return MemoryReader(self._disk)

    def backup(self, path: str) -> None:
        raise StoreRefused("This store is in memory and cannot be copied to a file.")

    def close(self) -> None:
        self._opened = False
