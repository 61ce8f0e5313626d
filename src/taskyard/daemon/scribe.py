"""The thread that writes the journal, so that no fsync ever holds up a heartbeat.

While one batch is on its way to the disk the next ones gather, and share the next fsync.
"""

import queue
import threading
from typing import Final, Protocol

from taskyard.daemon.journal import Journal, JournalFull
from taskyard.daemon.orders import Batch, Whole

RETRY_S: Final = 1.0
"""How often a full disk is tried again."""


class Reader(Protocol):
    """Who wants to know. Called on the scribe's thread."""

    def journal_wrote(self, batches: list[Batch]) -> None: ...

    def journal_full(self, reason: str) -> None: ...

    def journal_has_room(self) -> None: ...

    def journal_failed(self, error: Exception) -> None: ...


class Scribe:
    def __init__(self, journal: Journal, reader: Reader) -> None:
        self._journal = journal
        self._reader = reader
        self._queue: queue.SimpleQueue[tuple[Batch, list[Whole]] | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="taskyard-journal", daemon=True)
        self._thread.start()

    def write(self, batch: Batch, wholes: list[Whole]) -> None:
        self._queue.put((batch, wholes))

    def close(self) -> None:
        """Returns when everything is written, or at once if the disk is full."""
        self._closed.set()
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            while (first := self._queue.get()) is not None:
                waiting = [first]
                while not self._queue.empty():
                    if (another := self._queue.get()) is None:
                        self._queue.put(None)
                        break
                    waiting.append(another)
                batches = [batch for batch, _ in waiting]
                wholes = [whole for _, kept in waiting for whole in kept]
                if not self._until_written(batches, wholes):
                    return
        except Exception as error:  # noqa: BLE001 - a thread has no caller, and the daemon would go on without a journal
            self._reader.journal_failed(error)

    def _until_written(self, batches: list[Batch], wholes: list[Whole]) -> bool:
        """Try until there is room; false if the daemon left before there was."""
        was_full = False
        while True:
            try:
                self._journal.write(batches, wholes)
            except JournalFull as full:
                was_full = True
                self._reader.journal_full(str(full))
            else:
                self._reader.journal_wrote(batches)
                if was_full:
                    self._reader.journal_has_room()
                return True
            if self._closed.wait(RETRY_S):
                return False
