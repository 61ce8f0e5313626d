"""The leader as a hub that does not lead sees it: over a link, behind the same words as a hub of this process."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from taskyard.core.commands import Command, SubmitTasks
from taskyard.core.forecast import Forecast
from taskyard.core.settings import Settings
from taskyard.gateway.port import RETRY_AFTER_S, Answered, Session, Subscriber, Unavailable
from taskyard.hub.directory import CommittedDirectory
from taskyard.hub.link import messages as m
from taskyard.hub.link.views import VALUES, LiveViews
from taskyard.hub.link.wire import LinkLost, Wire
from taskyard.store.port import Identity, Numbered, RecordDamaged
from taskyard.store.rewind import Sighting
from taskyard.vocabulary import Refusal

GREETING_S: Final = 10.0
ANSWER_S: Final = 30.0
# A leader that is there and says nothing for so long is not waited for: it hangs, and nobody else knows of it.
WAITING_MAX: Final = 20_000
# What a gateway may wait for at a time: as many as it may have connections, and as many again.
ASKED_BYTES_MAX: Final = 64 * 1024 * 1024
# What may wait for a leader that does not read: as much as may wait there to be decided. Beyond it askers are told to
# come back; the link itself bears several times as much, since what daemons say cannot be put off.


class LeaderFailed(Exception):
    """It made a mistake, and says where in its log."""


class Remote(LiveViews):
    """Made by `dial`. When the link is lost, everyone who waits is told `LinkLost`, and `lost` is done."""

    def __init__(self, wire: Wire, gateway: str, sightings: Sequence[Sighting]) -> None:
        self._wire = wire
        self._introduction = m.Introduce(gateway, list(sightings))
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._sessions: dict[int, Session] = {}
        self._subscribers: dict[int, Subscriber] = {}
        self.directory = CommittedDirectory()
        loop = asyncio.get_running_loop()
        self._greeting: asyncio.Future[None] = loop.create_future()
        self.identity: Identity
        self.settings: Settings
        self.on_wrote: Callable[[m.Wrote], None] = lambda wrote: None
        self.lost: asyncio.Future[str] = loop.create_future()
        """Why, once it is."""
        wire.on_frame = self._hear
        wire.on_lost = self._lose

    async def greeted(self) -> None:
        """Until the leader has said who it is. Raises `LinkLost`."""
        await self._wire.opened
        self._wire.post(self._introduction)
        try:
            async with asyncio.timeout(GREETING_S):
                await self._greeting
        except TimeoutError:
            raise LinkLost("it did not say who leads") from None

    def close(self) -> None:
        self._wire.close()

    @property
    def ready(self) -> bool:
        """Whether it can be asked; not whether it takes work."""
        return not self.lost.done()

    # What the gateway asks and says.

    async def ask(self, command: Command, *, request: str = "", again: bool = False) -> Answered:
        """Raises `Unavailable`, or `LinkLost`: then ask the next leader under the same `request`."""
        answered, _ = await self._ask(command, request, again=again)
        return answered

    async def submit(
        self, command: SubmitTasks, *, request: str = "", again: bool = False
    ) -> tuple[Answered, Forecast | None]:
        """As `ask`."""
        return await self._ask(command, request, again=again)

    async def _ask(self, command: Command, request: str, *, again: bool) -> tuple[Answered, Forecast | None]:
        number = next(self._numbers)
        ask = m.Ask(number, request, command, again)
        answered: m.Answered = await self._call(ask, ANSWER_S, silence=Refusal.OUTCOME_UNKNOWN)
        return (answered.answer, answered.tasks), answered.forecast

    async def _call(self, message: m.Ask | m.View, within_s: float, *, silence: Refusal) -> Any:
        """`silence`: what it means that nothing was answered."""
        number = message.id
        if self.lost.done():
            raise LinkLost(self.lost.result())
        if len(self._waiting) >= WAITING_MAX or self._wire.unsent_bytes > ASKED_BYTES_MAX:
            raise Unavailable(Refusal.OVERLOADED, RETRY_AFTER_S)
        # Before it is posted: the link may be lost by that.
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._wire.post(message)
            async with asyncio.timeout(within_s):
                return await future
        except TimeoutError:
            self._wire.post(m.Drop(number))
            raise Unavailable(silence, RETRY_AFTER_S) from None
        except asyncio.CancelledError:
            self._wire.post(m.Drop(number))
            raise
        finally:
            del self._waiting[number]

    async def ended(self, task_id: str, wait_s: float) -> None:
        await self._view("ended", (task_id, wait_s), wait_s + ANSWER_S)

    async def _look(self, name: str, *arguments: object) -> Any:
        return await self._view(name, arguments, ANSWER_S)

    async def _view(self, name: str, arguments: tuple[object, ...], within_s: float) -> Any:
        view = m.View(next(self._numbers), name, Raw(msgspec.msgpack.encode(arguments)))
        return VALUES[name](await self._call(view, within_s, silence=Refusal.NO_LEADER))

    def mirror(self, on_wrote: Callable[[m.Wrote], None]) -> None:
        """Be told what every commit from now on writes into the hot table."""
        self.on_wrote = on_wrote
        self._wire.post(m.Mirror())

    def tell(self, command: Command) -> None:
        self._wire.post(m.Tell(command))

    @property
    def backlog(self) -> int:
        # The leader's own is not known here. Taking it that something waits keeps a flood from running ahead of it.
        return 1

    def attach(self, session: Session) -> None:
        self._sessions[session.id] = session
        self._wire.post(m.Attach(session.id))

    def detach(self, session: Session) -> None:
        if self._sessions.pop(session.id, None) is not None:
            self._wire.post(m.Detach(session.id))

    def subscribe(self, subscriber: Subscriber) -> None:
        if not self._subscribers:
            self._wire.post(m.Watch(wanted=True))
        self._subscribers[id(subscriber)] = subscriber

    def unsubscribe(self, subscriber: Subscriber) -> None:
        if self._subscribers.pop(id(subscriber), None) is not None and not self._subscribers:
            self._wire.post(m.Watch(wanted=False))

    # What the leader says.

    def _hear(self, content: bytes) -> None:
        for message in m.decode_from_leader(content):
            match message:
                case m.Send(number, messages):
                    session = self._sessions.get(number)
                    if session is not None:
                        session.send(messages)
                case m.Answered(number):
                    self._settle(number, message)
                case m.Shown(number, value):
                    self._settle(number, value)
                case m.Unanswered(number, Refusal.RECORD_DAMAGED, _, detail):
                    self._settle(number, RecordDamaged(detail))
                case m.Unanswered(number, code, retry_after_s):
                    self._settle(number, Unavailable(code, retry_after_s))
                case m.Failed(number):
                    self._settle(number, LeaderFailed("the hub that leads made a mistake; its log says which"))
                case m.Reached(seq, batch_id):
                    self.identity = replace(self.identity, seq=seq, batch_id=batch_id)
                case m.Happened(events):
                    self._offer(events)
                case m.Wrote():
                    self.on_wrote(message)
                case m.Known(users, keys):
                    self.directory.update(users, keys)
                case m.Close(number, code, reason):
                    session = self._sessions.get(number)
                    if session is not None:
                        session.close(code, reason)
                case m.Adopt(settings):
                    self.settings = settings
                case m.Greeting():
                    self._greet(message)
                case m.Remembers():
                    raise LinkLost("it answers a question that was not asked")

    def _greet(self, greeting: m.Greeting) -> None:
        # Here, not by whoever waits for it: what comes next in the same frame changes what it says.
        self.identity, self.settings = greeting.identity, greeting.settings
        self.directory.update(greeting.users, greeting.keys)
        if not self._greeting.done():
            self._greeting.set_result(None)

    def _settle(self, number: int, outcome: object) -> None:
        future = self._waiting.get(number)
        if future is None or future.done():
            return
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    def _offer(self, events: list[Numbered]) -> None:
        for subscriber in list(self._subscribers.values()):
            user_id = subscriber.user_id
            subscriber.offer(events if user_id is None else [n for n in events if n.event.user_id == user_id])

    def _lose(self, reason: str) -> None:
        if not self.lost.done():
            self.lost.set_result(reason)
        if not self._greeting.done():
            self._greeting.set_exception(LinkLost(reason))
            self._greeting.exception()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(LinkLost(reason))


def place_of(address: str) -> tuple[str, int]:
    """The host and the port of `host:port`, where an IPv6 address stands in brackets."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


async def dial(host: str, port: int, secret: bytes, *, gateway: str = "", sightings: Sequence[Sighting] = ()) -> Remote:
    """A link to the leader at this address. Raises `OSError`, of which `LinkLost` is one.

    `gateway` names whoever dials: when it dials anew, nothing counts any more of what it said on the link before.
    `sightings` are what its hub remembers of this yard: a leader whose log lacks any of it does not greet.
    """
    loop = asyncio.get_running_loop()
    _, wire = await loop.create_connection(lambda: Wire(secret, calls=True), host, port)
    remote = Remote(wire, gateway, sightings)
    try:
        await remote.greeted()
    except BaseException:  # also a cancel: nobody else would cut it
        wire.cut("it was not greeted")
        raise
    return remote
