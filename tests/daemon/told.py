"""What a runner tells whoever it works for."""

import asyncio
from collections.abc import Callable
from typing import Any

from taskyard.daemon.orders import Key
from taskyard.daemon.python_runner import Outcome


class Told:
    """All of it, in order; tests wait for the next."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue()
        self.unheard: list[Callable[[], None]] | None = None
        """What waits until the hub has heard of it; None: it hears everything at once."""

    def started(self, key: Key) -> None:
        self.events.put_nowait(("started", key))

    def when_heard(self, key: Key, then: Callable[[], None]) -> None:
        self.started(key)
        if self.unheard is None:
            then()
        else:
            self.unheard.append(then)

    def progressed(self, key: Key, percent: float | None, message: str | None, log: str) -> None:
        self.events.put_nowait(("progressed", percent, message, log))

    def checkpointed(self, key: Key, data: bytes) -> None:
        self.events.put_nowait(("checkpointed", data))

    def ended(self, message: Outcome) -> None:
        self.events.put_nowait(("ended", message))

    def stopped(self, key: Key) -> None:
        self.events.put_nowait(("stopped", key))

    async def next(self) -> tuple[Any, ...]:
        return await self.events.get()

    async def until(self, *names: str) -> tuple[Any, ...]:
        while (event := await self.next())[0] not in names:
            continue
        return event

    async def outcome(self) -> Any:
        return (await self.until("ended", "stopped"))[1]
