"""Damaged records that this hub has met: each is logged once, and all are counted for `/readyz` and the metrics."""

from typing import Final

from taskyard.hub.observe import Log

REMEMBERED_MAX: Final = 1_000
# Beyond these a record is counted whenever it is read, and not logged.


class Damage:
    def __init__(self, log: Log | None = None) -> None:
        self._log = log
        self._remembered: set[str] = set()
        self.count = 0

    def note(self, what: str) -> None:
        """`what` is the sentence of a `RecordDamaged`, which is the same whenever that record is read."""
        if what in self._remembered:
            return
        self.count += 1
        if len(self._remembered) < REMEMBERED_MAX:
            self._remembered.add(what)
            if self._log is not None:
                self._log.say("record.damaged", level="error", reason=what)
