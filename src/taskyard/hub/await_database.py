"""A hub that is started before its database can be used waits for it, and says so: in the terminal, in its log and
under the address where it will answer."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Final, TypeVar

from taskyard.core.settings import Settings
from taskyard.gateway.dashboard import Dashboard
from taskyard.gateway.door import Deadlines, Description, Door, GatewaySettings
from taskyard.gateway.not_ready import NotReadyApp
from taskyard.gateway.server import GatewayServer
from taskyard.hub.clock import read_age
from taskyard.hub.ids import mint_secret
from taskyard.hub.observe import Log
from taskyard.hub.switchboard import Switchboard
from taskyard.sdk.standard_error import tell
from taskyard.store.port import Reader, StoreRefused, StoreUnavailable
from taskyard.store.postgres.reach import Away, Unresolved

T = TypeVar("T")

FIRST_S: Final = 0.25
LONGEST_S: Final = 5.0
# Between two tries: at first, and at most.
UNRESOLVED_S: Final = 60.0
# How long a name may be unknown: a network that comes up knows it by then.


async def once_there(open_: Callable[[], Awaitable[T]], log: Log, *, on_wait: Callable[[str], Awaitable[None]]) -> T:
    """What `open_` returns, as soon as the database lets it. Raises `StoreRefused` if waiting does not help.

    `on_wait` is called once, with the reason, if there is anything to wait for.
    """
    began, wait_s = read_age(), FIRST_S
    kind: type[StoreUnavailable] | None = None
    unknown_since: float | None = None
    while True:
        try:
            opened = await open_()
            break
        except StoreUnavailable as error:
            if not _may_pass(error):
                raise
            unknown_since = _unknown_since(error, unknown_since)
            if kind is None:
                await on_wait(str(error))
            if type(error) is not kind:
                kind = type(error)
                log.say("database.awaited", level="warning", reason=str(error))
        await asyncio.sleep(wait_s)
        wait_s = min(2 * wait_s, LONGEST_S)
    if kind is not None:
        log.say("database.reached", after_s=round(read_age() - began, 1))
    return opened


def _may_pass(error: Exception) -> bool:
    """Also what was lost while it was looked at: that is no refusal."""
    return isinstance(error, Away) or not isinstance(error, StoreRefused)


def _unknown_since(error: StoreUnavailable, since: float | None) -> float | None:
    """Since when the name has been unknown without a break."""
    if not isinstance(error, Unresolved):
        return None
    since = read_age() if since is None else since
    if read_age() - since >= UNRESOLVED_S:
        raise StoreRefused(f"{error} It was not for {UNRESOLVED_S:g} s.") from error
    return since


class Lobby:
    """Answers under the address of a hub that is not there yet."""

    def __init__(
        self,
        settings: Settings,
        gateway: GatewaySettings,
        listen: Callable[[GatewayServer], Awaitable[object]],
    ) -> None:
        self._settings = settings
        self._gateway = gateway
        self._listen = listen
        self._opened: tuple[GatewayServer, Switchboard] | None = None

    async def open(self, reason: str) -> None:
        """From now on, and say in the terminal what is waited for. Raises what `listen` does."""
        # The gateway needs a hub. This one has no leader and is never asked: it stands for the one that is to come.
        hub = Switchboard(self._settings, _no_reader, secret=mint_secret().encode())
        server = GatewayServer(NotReadyApp(Door(hub, self._gateway, _nothing_to_describe, Deadlines()), Dashboard()))
        await self._listen(server)
        self._opened = server, hub
        tell(f"taskyard: waiting for the database. {reason} It is tried again every few seconds; Ctrl-C ends that.\n")

    async def close(self) -> None:
        if self._opened is not None:
            (server, hub), self._opened = self._opened, None
            await server.stop()
            hub.close()


async def unless_stopped(stopping: asyncio.Event, start: Coroutine[None, None, T]) -> T | None:
    """What `start` returns. None: it was told to stop before, and has ended."""
    starting, told = asyncio.create_task(start), asyncio.create_task(stopping.wait())
    await asyncio.wait((starting, told), return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    if starting.done():
        return starting.result()
    starting.cancel()
    with suppress(asyncio.CancelledError):
        await starting
    return None


def _no_reader() -> Reader:
    raise StoreUnavailable("there is no database yet")


def _nothing_to_describe() -> Description:
    return Description(b"", b"")
