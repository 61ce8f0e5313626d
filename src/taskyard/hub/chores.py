"""What the loop has done now and then, while nobody waits for the writer.

The store puts its log in order, and the keys of history are gathered anew when they no longer fit.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from taskyard.hub.beside import Beside
from taskyard.hub.looks import Looks
from taskyard.hub.observe import Log
from taskyard.store.port import RecordDamaged, StoreUnavailable

TEND_EVERY: Final = 64
# Commits between two looks at the store's log: a look costs as much as a small commit.


class Chores:
    def __init__(self, beside: Beside, looks: Looks, log: Log, *, tend: Callable[[], Awaitable[None]]) -> None:
        self._beside = beside
        self._looks = looks
        self._log = log
        self._tend_store = tend
        self._commits = 0

    def begin(self) -> None:
        """With a state that was just loaded."""
        self._looks.forget_keys()
        self._beside.run(self._gather_keys())

    def after_commit(self, *, is_free: bool) -> None:
        """`is_free`: the writer is, and has time for this."""
        self._commits += 1
        if self._commits < TEND_EVERY or not is_free:
            return
        self._commits = 0
        self._beside.run(self._tend())
        if self._looks.is_full():
            self._beside.run(self._gather_keys())

    async def _tend(self) -> None:
        try:
            await self._tend_store()
        except StoreUnavailable as error:
            self._log.say("store.untended", level="warning", reason=str(error))

    async def _gather_keys(self) -> None:
        """Until they are there, each key is looked for in the store."""
        try:
            await self._looks.gather_keys()
        except (StoreUnavailable, RecordDamaged) as error:
            self._log.say("store.unread", level="warning", reason=str(error))
