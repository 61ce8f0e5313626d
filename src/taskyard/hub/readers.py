"""Reading threads: each opens a reader of its own, so that reading never waits for writing."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from taskyard.hub.damage import Damage
from taskyard.store.port import Reader, RecordDamaged

T = TypeVar("T")

READERS: Final = 2


class Readers:
    def __init__(self, open_reader: Callable[[], Reader], damage: Damage | None = None) -> None:
        self._open_reader = open_reader
        self.damage = damage or Damage()
        """Told of every damaged record that a look met."""
        self._own = threading.local()
        self._opened: list[Reader] = []
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="reader")

    async def read(self, look: Callable[[Reader], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._look, look)
        except RecordDamaged as damaged:
            self.damage.note(str(damaged))
            raise

    def _look(self, look: Callable[[Reader], T]) -> T:
        reader: Reader | None = getattr(self._own, "reader", None)
        if reader is None:
            reader = self._own.reader = self._open_reader()
            self._opened.append(reader)
        return look(reader)

    def close(self) -> None:
        self._pool.shutdown()
        for reader in self._opened:
            reader.close()
