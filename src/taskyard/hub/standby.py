"""What a hub that stands by does so as to lead within seconds, however much waits: it keeps the hot table in memory.

The leader tells what each commit wrote; what was missed, in the beginning or when the lead moved, is read from the
database meanwhile.
"""

import asyncio
from collections import deque
from typing import Final

from taskyard.hub.link.messages import Wrote
from taskyard.hub.link.remote import Remote
from taskyard.hub.observe import Log
from taskyard.store.port import StoreBroken, StoreUnavailable
from taskyard.store.postgres.mirror import Mirror, Missed
from taskyard.store.postgres.reader import PostgresReader

UNTAKEN_MAX: Final = 10_000
# Commits that may wait while the table is read; past them it is read once more.
AGAIN_S: Final = 5.0


class Standby:
    def __init__(self, database: str, log: Log) -> None:
        self._database = database
        self._log = log
        self._mirror = Mirror()
        self._untaken: deque[Wrote] = deque(maxlen=UNTAKEN_MAX)
        self._reading: asyncio.Task[None] | None = None

    def follow(self, leader: Remote) -> None:
        leader.mirror(self._hear)
        self._read_soon()

    def hand_out(self) -> Mirror:
        """What it knows, to whoever is about to lead; then it begins anew."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        mirror, self._mirror = self._mirror, Mirror()
        self._untaken.clear()
        return mirror

    def _hear(self, wrote: Wrote) -> None:
        if self._reading is not None:
            self._untaken.append(wrote)
        elif not self._mirror.follow(wrote.seq, wrote.records, wrote.gone):
            self._untaken.append(wrote)
            self._read_soon()

    def _read_soon(self) -> None:
        if self._reading is None:
            self._reading = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        """Until it is as new as what the leader tells."""
        while True:
            try:
                missed = await asyncio.to_thread(_missed, self._database, self._mirror.seq)
            except (StoreUnavailable, StoreBroken) as error:
                self._log.say("standby.unread", level="warning", reason=str(error))
                await asyncio.sleep(AGAIN_S)
                continue
            self._mirror.take(missed)
            if self._catch_up():
                self._reading = None
                return

    def _catch_up(self) -> bool:
        """Whether what was told meanwhile follows on what was read."""
        while self._untaken:
            wrote = self._untaken.popleft()
            if not self._mirror.follow(wrote.seq, wrote.records, wrote.gone):
                return False
        return True


def _missed(database: str, since: int) -> Missed:
    reader = PostgresReader(database)
    try:
        return reader.missed(since)
    finally:
        reader.close()
