"""How long things are kept: ended tasks go to the archive, old events and daemons go, now and then, as the hub that
leads."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, Protocol, TypeVar

from taskyard.core.commands import Archive, Command
from taskyard.core.daemon_commands import ForgetUnseen
from taskyard.core.state import Now
from taskyard.gateway.port import Unavailable
from taskyard.store.port import Reader

T = TypeVar("T")

EVERY_S: Final = 60.0


class Leader(Protocol):
    """The hub whose store is swept."""

    async def ask(self, command: Command) -> object: ...

    async def read(self, look: Callable[[Reader], T]) -> T: ...


class Sweep:
    def __init__(self, hub: Leader, clock: Callable[[], Now], *, every_s: float) -> None:
        self._hub = hub
        self._clock = clock
        self._every_s = every_s

    def keep_for(self, *, archive_after_s: float, events_s: float, daemons_s: float) -> None:
        self._archive_after_ms, self._events_ms = round(archive_after_s * 1000), round(events_s * 1000)
        self._daemons_ms = round(daemons_s * 1000)

    async def run(self) -> None:
        """In chunks, each a commit of its own, until nothing is old."""
        while True:
            await asyncio.sleep(self._every_s)
            now = self._clock().wall
            command = Archive(now - self._archive_after_ms, now - self._events_ms)
            is_old = partial(_has_old, command)
            with suppress(Unavailable):
                await self._hub.ask(ForgetUnseen(now - self._daemons_ms))
                while await self._hub.read(is_old):
                    await self._hub.ask(command)


def _has_old(command: Archive, reader: Reader) -> bool:
    return reader.has_old(ended_before=command.ended_before, events_before=command.events_before)
