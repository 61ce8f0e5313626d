"""One process that is kept, as the daemon sees it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

from taskyard.daemon.orders import Key
from taskyard.daemon.process.launching import Chunk, Exit, Stream
from taskyard.daemon.process.places import Place
from taskyard.daemon.process.ring import RingReader

CHUNK_BYTES_MAX: Final = 64 * 1024


class Running:
    def __init__(self, key: Key, place: Place, *, note: bytes, stop: Callable[[Key, int], None]) -> None:
        self.key = key
        self.note = note
        self.pid = 0
        """Of its first process; 0 if it ended before this daemon began."""
        self._place = place
        self._stop = stop
        self._news = asyncio.Event()
        self._ended: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self.forgotten = False

    async def __aiter__(self) -> AsyncIterator[Chunk]:
        """Its output as it comes, until it has ended; from its beginning, also of what was adopted.

        For one reader at a time. Who reads slowly misses something, and is told how much.
        """
        readers = {stream: RingReader(self._place.stream(stream)) for stream in Stream}
        try:
            while True:
                is_over = self._ended.done()
                self._news.clear()
                had_some = False
                for stream, reader in readers.items():
                    data, missed_bytes = reader.read(CHUNK_BYTES_MAX)
                    if data or missed_bytes:
                        had_some = True
                        yield Chunk(stream, data, missed_bytes)
                if had_some:
                    await asyncio.sleep(0)  # a flood must not keep the loop from its heartbeats
                elif is_over:
                    return
                else:
                    await self._news.wait()
        finally:
            for reader in readers.values():
                reader.close()

    async def wait(self) -> Exit:
        """How it ended; all its processes are gone by then."""
        return await asyncio.shield(self._ended)

    async def gone(self) -> None:
        """Returns when it has ended, whoever is cancelled meanwhile."""
        while not self._ended.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([self._ended])

    @property
    def exit(self) -> Exit | None:
        """How it ended, if it has."""
        return self._ended.result() if self._ended.done() else None

    def stop(self, grace_ms: int) -> None:
        """Ask all its processes to end, and after the grace, kill them. Again: the earlier end counts."""
        if not self._ended.done():
            self._stop(self.key, grace_ms)

    def let_go(self) -> None:
        """This daemon follows it no more, and the next one will: to whoever waits here it is cancelled."""
        self._ended.cancel()
        self._news.set()

    def forget(self) -> None:
        """Its outcome is safe elsewhere. Until then, a daemon that starts anew gets it as adopted."""
        self.forgotten = True
        if self._ended.done():
            self._place.remove()

    # --- told by the keeper --------------------------------------------------------------------------------

    def wrote(self) -> None:
        self._news.set()

    def found(self) -> Exit | None:
        """How it ended, as its guard wrote it down before nobody was left to tell."""
        return self._place.exit()

    def ended(self, how: Exit) -> None:
        if not self._ended.done():
            self._ended.set_result(how)
        self._news.set()
        if self.forgotten:
            self._place.remove()
