"""The real hub in memory, as a gateway sees it: by a clock that tests move, and with a lead that can move."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NoReturn

from taskyard.core.changes import KeyRecord
from taskyard.core.commands import Command, Tick
from taskyard.core.effects import Refused
from taskyard.core.settings import Settings
from taskyard.core.state import Now, State
from taskyard.core.yard_commands import CreateKey, CreateUser, RevokeKey
from taskyard.gateway.auth import KEY_PREFIX, hash_of
from taskyard.hub.hub import Hub
from taskyard.hub.observe import Log
from taskyard.hub.outbound import Outbound
from taskyard.hub.switchboard import Switchboard
from taskyard.store.memory import MemoryStore
from taskyard.store.port import Store
from taskyard.vocabulary import Level, PriorityScale, Scope, SourceType

START_MS: Final = 1_800_000_000_000
SECRET: Final = b"0" * 32


class Nowhere:
    """Where a log goes that nobody reads."""

    def write(self, lines: bytes) -> None:
        pass


async def _never(host: str, port: int) -> Sequence[str]:
    """No name is looked up, so nothing that a hub would send leaves this process."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets that event")


class GatewayHub(Switchboard):
    def __init__(self, settings: Settings, store: Store) -> None:
        super().__init__(settings, store.reader, secret=SECRET)
        self.store = store
        self.wall_ms = START_MS
        self.told: list[Command] = []
        """What daemons' sockets said."""
        self.behind = 0
        """Commands that wait to be decided, beyond those that do."""
        self._hub: Hub | None = None

    async def start(self) -> None:
        outbound = Outbound(_never)
        self._hub = Hub(self.store, self.settings, Log(Nowhere()), secret=SECRET, clock=self._now, outbound=outbound)
        await self._hub.start()
        self.connect(self._hub)

    async def stop(self) -> None:
        self.disconnect()
        await self.lead.stop()

    async def lead_moves(self) -> None:
        """Another hub leads: it has what was committed, and is told of the sockets that stay."""
        await self.stop()
        await self.start()

    @property
    def lead(self) -> Hub:
        assert self._hub is not None, "it was not started"
        return self._hub

    @property
    def state(self) -> State:
        return self.lead.state

    def _now(self) -> Now:
        return Now(wall=self.wall_ms, mono=self.wall_ms)

    def now_ms(self) -> int:
        return self.wall_ms

    def tell(self, command: Command) -> None:
        self.told.append(command)
        super().tell(command)

    @property
    def backlog(self) -> int:
        return super().backlog + self.behind

    async def decide(self, command: Command) -> None:
        """As a person or a daemon would have it; returns when it is committed and released."""
        if hasattr(command, "reply_to"):
            answer, _ = await self.ask(command)
            assert not isinstance(answer, Refused), answer
        else:
            super().tell(command)
            await self.settled()

    async def settled(self) -> None:
        """Returns when whatever was told so far is committed and released: answers leave in that order."""
        await self.ask(RevokeKey("k_none", "test"))

    async def pass_s(self, seconds: int) -> None:
        """A second at a time: of a longer one the hub would believe that it slept, and take it off."""
        for _ in range(seconds):
            self.wall_ms += 1000
            await self.decide(Tick())

    async def adopt(self, settings: Settings) -> None:
        """These hold from now on."""
        await self.lead.change_settings(settings, ())

    async def a_user(self, name: str) -> str:
        user_id = f"u_{name}"
        if self.directory.user(user_id) is None:
            await self.decide(CreateUser(user_id=user_id, name=name, actor="test"))
        return user_id

    async def a_key(
        self,
        user_id: str,
        *scopes: Scope,
        max_priority: Level | None = None,
        sources: tuple[SourceType, ...] | None = None,
        expires_at: int | None = None,
        priority_scale: PriorityScale | None = None,
    ) -> str:
        secret = f"{KEY_PREFIX}{self.mint_secret()}"
        await self.decide(
            CreateKey(
                key_id=f"k_{self.mint()}",
                user_id=user_id,
                name="test",
                hash=hash_of(secret),
                scopes=scopes,
                actor="test",
                max_priority=max_priority,
                sources=sources,
                expires_at=expires_at,
                priority_scale=priority_scale,
            )
        )
        return secret

    def token_for(self, task_id: str, attempt: int) -> str:
        return self._tokens.make(task_id, attempt)

    def key_named(self, secret: str) -> KeyRecord:
        key = self.directory.key_by_hash(hash_of(secret))
        assert key is not None
        return key


@asynccontextmanager
async def a_hub(settings: Settings | None = None, store: Store | None = None) -> AsyncIterator[GatewayHub]:
    hub = GatewayHub(settings or Settings(), store or MemoryStore())
    await hub.start()
    try:
        yield hub
    finally:
        await hub.stop()
        hub.close()


def refusing(error: Exception) -> Callable[..., Any]:
    """Whatever it is asked, that is the answer."""

    async def refuse(*_: object, **__: object) -> NoReturn:
        raise error

    return refuse
