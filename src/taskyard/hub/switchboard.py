"""The hub as a gateway sees it, whichever hub leads: this one, another one, or for a moment none.

Requests wait a little for a leader rather than fail, and are asked again of the next one under the same name; looks at
live state likewise. Daemons' sockets stay, and are asked for their lists whenever somebody else leads. What has no
truth of its own (ids, tokens, reading the store) is answered here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, Protocol, TypeVar

from taskyard.core.commands import NOTHING, BeginWait, Command, EndWait, SubmitTasks
from taskyard.core.forecast import Forecast
from taskyard.core.settings import Settings
from taskyard.gateway.port import RETRY_AFTER_S, Answered, Directory, Session, Subscriber, Unavailable
from taskyard.hub.clock import read_clock
from taskyard.hub.damage import Damage
from taskyard.hub.directory import CommittedDirectory
from taskyard.hub.link.views import LiveViews
from taskyard.hub.link.wire import LinkLost
from taskyard.hub.readers import Readers
from taskyard.hub.stamps import Stamps
from taskyard.store.port import Identity, Reader, RecordDamaged, StoreBroken, StoreUnavailable
from taskyard.store.rewind import Missing
from taskyard.vocabulary import Refusal

T = TypeVar("T")

HOLD_S: Final = 2.0
# How long a request waits for a leader before it is told that there is none.
UNANSWERED_S: Final = 10.0
# How long an answer whose asking was cut off is looked for before its asker is told that nobody knows.
AGAIN_S: Final = 0.1


class Leader(Protocol):
    """What a hub that leads offers: `hub.Hub`, or `link.remote.Remote`."""

    @property
    def ready(self) -> bool: ...

    @property
    def identity(self) -> Identity: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def directory(self) -> CommittedDirectory: ...

    async def ask(self, command: Command, *, request: str = "", again: bool = False) -> Answered: ...

    async def submit(
        self, command: SubmitTasks, *, request: str = "", again: bool = False
    ) -> tuple[Answered, Forecast | None]: ...

    def tell(self, command: Command) -> None: ...

    @property
    def backlog(self) -> int: ...

    def attach(self, session: Session) -> None: ...

    def detach(self, session: Session) -> None: ...

    def subscribe(self, subscriber: Subscriber) -> None: ...

    def unsubscribe(self, subscriber: Subscriber) -> None: ...

    async def caught_up(self) -> None: ...


class Switchboard(Stamps, LiveViews):
    def __init__(
        self, settings: Settings, open_reader: Callable[[], Reader], *, secret: bytes, damage: Damage | None = None
    ) -> None:
        """`settings` are those of this hub's file: they hold until a leader says which do."""
        super().__init__(secret)
        self._leader: Leader | None = None
        self._turned = asyncio.Event()
        """Set, and replaced, when a leader comes or goes."""
        self._settings = settings
        self._identity = Identity("", 0, 0)
        self._directory = CommittedDirectory()
        self._sessions: dict[int, Session] = {}
        self._subscribers: dict[int, Subscriber] = {}
        self._waits: dict[str, BeginWait] = {}
        """Tasks that wait for their sub-tasks through this gateway: no leader knows it but from us."""
        self._catching_up: asyncio.Task[None] | None = None
        self.damage = damage or Damage()
        self._readers = Readers(open_reader, self.damage)
        self.is_prepared = True
        """False while whoever starts it still makes what a first caller needs."""
        self.missing: Missing | None = None
        """Commits that the database lacks, so that no hub may lead."""

    def connect(self, leader: Leader) -> None:
        """This one leads from now on."""
        self._leader, self.missing = leader, None
        self._turn()
        for session in self._sessions.values():
            leader.attach(session)
            session.rejoin()
        for wait in self._waits.values():
            leader.tell(wait)
        for subscriber in self._subscribers.values():
            leader.subscribe(subscriber)
        if self._subscribers:
            self._catching_up = asyncio.get_running_loop().create_task(self._catch_up(leader))

    async def _catch_up(self, leader: Leader) -> None:
        """Who reads the past while the lead moves has to read on until the new leader tells what happens."""
        subscribers = list(self._subscribers.values())
        with suppress(LinkLost, Unavailable):
            await leader.caught_up()
        for subscriber in subscribers:
            subscriber.lose()

    def disconnect(self) -> None:
        """Nobody leads, as far as we know. Whoever follows events may have missed some, and has to come anew."""
        leader, self._leader = self._leader, None
        if leader is None:
            return
        self._turn()
        self._settings, self._identity, self._directory = leader.settings, leader.identity, leader.directory
        for session in self._sessions.values():
            leader.detach(session)
        for subscriber in list(self._subscribers.values()):
            leader.unsubscribe(subscriber)
            subscriber.lose()

    def close(self) -> None:
        self._readers.close()

    @property
    def leader(self) -> Leader | None:
        return self._leader

    @property
    def identity(self) -> Identity:
        return self._identity if self._leader is None else self._leader.identity

    @property
    def settings(self) -> Settings:
        return self._settings if self._leader is None else self._leader.settings

    @property
    def directory(self) -> Directory:
        """As the last leader told it: whoever was let in by one hub is let in by the next."""
        return self._directory if self._leader is None else self._leader.directory

    @property
    def ready(self) -> bool:
        return self._leader is not None and self._leader.ready and self.is_prepared

    # What is asked and said.

    async def ask(self, command: Command) -> Answered:
        return await self._ask(
            command, lambda leader, request, again: leader.ask(command, request=request, again=again)
        )

    async def submit(self, command: SubmitTasks) -> tuple[Answered, Forecast | None]:
        return await self._ask(
            command, lambda leader, request, again: leader.submit(command, request=request, again=again)
        )

    async def _ask(self, command: Command, ask: Callable[[Leader, str, bool], Awaitable[T]]) -> T:
        request, is_unknown = self._mint.id(), False
        until = asyncio.get_running_loop().time() + UNANSWERED_S
        while True:
            leader = await (self._await_answerer(until) if is_unknown else self._await_leader())
            try:
                return await ask(leader, request, is_unknown)
            except LinkLost:
                is_unknown = True
            except Unavailable as refusal:
                # A leader that was deposed before it wrote anything of it leaves nothing to be found.
                if refusal.code == Refusal.OUTCOME_UNKNOWN:
                    is_unknown = True
                elif refusal.code != Refusal.NO_LEADER:
                    raise _unknown() if is_unknown else refusal from None
            if asyncio.get_running_loop().time() > until:
                raise _unknown() if is_unknown else Unavailable(Refusal.NO_LEADER, RETRY_AFTER_S)
            if hasattr(command, "known"):
                command.known = NOTHING
            await self._until_turned(leader)

    async def has_leader(self) -> None:
        """Until somebody leads, for as long as that takes."""
        while self._leader is None:
            await self._turned.wait()

    async def _await_leader(self) -> Leader:
        deadline = asyncio.get_running_loop().time() + HOLD_S
        while self._leader is None:
            if not await self._turns_before(deadline):
                raise Unavailable(Refusal.NO_LEADER, RETRY_AFTER_S)
        return self._leader

    async def _await_answerer(self, deadline: float) -> Leader:
        """Who can say whether it was done: that is worth a longer wait than being told to try again."""
        while self._leader is None:
            if not await self._turns_before(deadline):
                raise _unknown()
        return self._leader

    async def _until_turned(self, leader: Leader) -> None:
        """It could not answer: it is about to go, or has to load its state; it is not asked again at once."""
        if self._leader is leader:
            await self._turns_before(asyncio.get_running_loop().time() + AGAIN_S)

    async def _turns_before(self, deadline: float) -> bool:
        """Whether somebody came or went meanwhile."""
        try:
            async with asyncio.timeout_at(deadline):
                await self._turned.wait()
        except TimeoutError:
            return False
        return True

    def _turn(self) -> None:
        self._turned.set()
        self._turned = asyncio.Event()

    def tell(self, command: Command) -> None:
        """While nobody leads it is dropped: the daemon says it again when it is asked for its list."""
        if isinstance(command, BeginWait):
            self._waits[command.wait] = command
        elif isinstance(command, EndWait):
            self._waits.pop(command.wait, None)
        if self._leader is not None:
            self._leader.tell(command)

    @property
    def backlog(self) -> int:
        return 0 if self._leader is None else self._leader.backlog

    def attach(self, session: Session) -> None:
        self._sessions[session.id] = session
        if self._leader is not None:
            self._leader.attach(session)

    def detach(self, session: Session) -> None:
        self._sessions.pop(session.id, None)
        if self._leader is not None:
            self._leader.detach(session)

    def subscribe(self, subscriber: Subscriber) -> None:
        self._subscribers[id(subscriber)] = subscriber
        if self._leader is not None:
            self._leader.subscribe(subscriber)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        self._subscribers.pop(id(subscriber), None)
        if self._leader is not None:
            self._leader.unsubscribe(subscriber)

    # What needs no leader.

    async def read(self, look: Callable[[Reader], T]) -> T:
        try:
            return await self._readers.read(look)
        except RecordDamaged:
            raise
        except (StoreUnavailable, StoreBroken) as error:
            raise Unavailable(Refusal.STORE_UNAVAILABLE, RETRY_AFTER_S) from error

    def now_ms(self) -> int:
        return read_clock().wall

    # Looks at the live state.

    async def takes_work(self) -> bool:
        try:
            async with asyncio.timeout(HOLD_S):
                return self.ready and await super().takes_work()
        except (Unavailable, TimeoutError):
            return False

    async def ended(self, task_id: str, wait_s: float) -> None:
        until = asyncio.get_running_loop().time() + wait_s
        await self._of_leader(lambda leader: leader.ended(task_id, max(until - asyncio.get_running_loop().time(), 0.0)))

    async def _look(self, name: str, *arguments: object) -> Any:
        return await self._of_leader(lambda leader: getattr(leader, name)(*arguments))

    async def _of_leader(self, look: Callable[[Any], Awaitable[T]]) -> T:
        """Whoever leads; one that goes while it is asked is followed by asking the next."""
        until: float | None = None
        while True:
            leader = await self._await_leader()
            if not leader.ready:
                await self._until_turned(leader)
                if self._leader is leader:
                    # It may be deposed and not know it yet.
                    raise Unavailable(Refusal.NO_LEADER, RETRY_AFTER_S)
                continue
            try:
                return await look(leader)
            except LinkLost:
                now = asyncio.get_running_loop().time()
                until = until or now + UNANSWERED_S
                if now > until:
                    raise Unavailable(Refusal.NO_LEADER, RETRY_AFTER_S) from None
                await self._until_turned(leader)
            except Unavailable as refusal:
                if refusal.code == Refusal.NO_LEADER:
                    await self._until_turned(leader)
                if refusal.code != Refusal.NO_LEADER or self._leader is leader:
                    raise


def _unknown() -> Unavailable:
    return Unavailable(Refusal.OUTCOME_UNKNOWN, RETRY_AFTER_S)
