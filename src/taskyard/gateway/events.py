"""Server-sent events: what was missed, then what happens, without a gap and without a repeat.

A reader subscribes first and replays second. Whatever is released after it subscribed is in its buffer;
whatever was committed before is in the store; what is in both is recognised by its place in the log. A
reader that overflows while it replays simply goes on reading the store; one that overflows while live
is cut off, and comes back with its `Last-Event-ID`.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from taskyard.gateway.auth import Principal
from taskyard.gateway.call import Call, Empty, OfUser, RequestRefused, Stream
from taskyard.gateway.port import Unavailable
from taskyard.gateway.present import SOFT, event_answer
from taskyard.gateway.rest.tasks import find
from taskyard.store.port import Numbered, Reader, RecordDamaged
from taskyard.vocabulary import EventName, Refusal
from taskyard.wire.fields import Name
from taskyard.wire.problems import FieldError

BUFFER_EVENTS_MAX: Final = 256
BUFFER_BYTES_MAX: Final = 1024 * 1024
REPLAY_EVENTS: Final = 500
HEARTBEAT_S: Final = 15.0

Place = tuple[int, int, int]

_encoder: Final = msgspec.json.Encoder()


class EventQuery(OfUser, forbid_unknown_fields=True, kw_only=True):
    task: Name | None = None
    types: Annotated[str, Meta(max_length=4096)] | None = None


class Listener:
    """One reader: what it wants, and what waits for it."""

    def __init__(
        self, *, principal: Principal, user_id: str | None, task_id: str | None, names: frozenset[str]
    ) -> None:
        self.principal = principal
        self.user_id = user_id
        self._task_id = task_id
        self._names = names
        self._waiting: deque[tuple[Place | None, bytes]] = deque()
        self._bytes = 0
        self._wake = asyncio.Event()
        self.overflowed = False
        self.is_over = False
        self.is_lost = False
        """The hub that led leads no more; what it said last is still to be told."""

    def offer(self, events: list[Numbered]) -> None:
        for numbered in events:
            if self.overflowed:
                break
            if self.wants(numbered):
                self._keep(numbered)
        self._wake.set()

    def _keep(self, numbered: Numbered) -> None:
        place = None if numbered.event.name in SOFT else place_of(numbered)
        message = encoded(numbered)
        if len(self._waiting) >= BUFFER_EVENTS_MAX or self._bytes + len(message) > BUFFER_BYTES_MAX:
            self.overflowed = True
            return
        self._waiting.append((place, message))
        self._bytes += len(message)

    def lose(self) -> None:
        self.is_lost = True
        self.show_out()

    def wants(self, numbered: Numbered) -> bool:
        event = numbered.event
        if self.user_id is not None and event.user_id != self.user_id:
            return False
        if self._task_id is not None and event.task_id != self._task_id:
            return False
        return not self._names or event.name in self._names

    def take(self, after: Place) -> tuple[list[bytes], Place]:
        """What waits and lies after this place, and the place of the last of it."""
        taken: list[bytes] = []
        while self._waiting:
            place, message = self._waiting.popleft()
            if place is None or place > after:
                taken.append(message)
                after = place or after
        self._bytes = 0
        return taken, after

    def forget(self) -> None:
        """Drop what waits: the store has it."""
        self._waiting.clear()
        self._bytes = 0
        self.overflowed = False

    async def news(self) -> bool:
        """Waits for something to do; False when it was only time for a sign of life."""
        try:
            async with asyncio.timeout(HEARTBEAT_S):
                await self._wake.wait()
        except TimeoutError:
            return False
        self._wake.clear()
        return True

    def show_out(self) -> None:
        self.is_over = True
        self._wake.set()

    def send_home(self) -> None:
        self.show_out()


def place_of(numbered: Numbered) -> Place:
    return numbered.epoch, numbered.seq, numbered.index


def encoded(numbered: Numbered) -> bytes:
    answer = event_answer(numbered)
    head = f"event: {answer.event}\n" if answer.id is None else f"id: {answer.id}\nevent: {answer.event}\n"
    return head.encode() + b"data: " + _encoder.encode(answer) + b"\n\n"


async def stream(call: Call[EventQuery], _body: Empty) -> Stream:
    query = call.query
    names = frozenset(query.types.split(",")) if query.types else frozenset()
    unknown = sorted(names - {name.value for name in EventName})
    if unknown:
        message = f"unknown: {', '.join(unknown)}"
        raise RequestRefused(Refusal.INVALID_INPUT, f"`types`: {message}", errors=(FieldError("types", message),))
    task_id = None
    if query.task is not None:
        call.id = query.task
        task_id = (await find(call, query.user)).task.id
    after = _last_seen(call)
    if call.door.subscribers >= call.door.settings.subscribers_max:
        raise RequestRefused(Refusal.OVERLOADED, "Too many event streams are open.", retry_after_s=5)
    listener = Listener(principal=call.principal, user_id=call.users(query.user), task_id=task_id, names=names)
    return Stream(_messages(call, listener, after))


def _last_seen(call: Call[EventQuery]) -> Place | None:
    raw = call.headers.get(b"last-event-id")
    if raw is None:
        return None
    parts = raw.decode("latin-1").split("-")
    if len(parts) != 3 or not all(part.isdecimal() and part.isascii() and len(part) < 19 for part in parts):
        # Not a place in any log of ours: all we can say is that something is missing.
        return (0, 0, 0)
    return int(parts[0]), int(parts[1]), int(parts[2])


async def _messages(call: Call[EventQuery], listener: Listener, after: Place | None) -> AsyncIterator[bytes]:
    call.door.subscribers += 1
    call.hub.subscribe(listener)
    call.door.enter(listener)
    try:
        # Before the first read: what is committed after it must reach the listener.
        await call.hub.caught_up()
        yield b": taskyard\n\n"
        place = (0, 0, 0)
        if after is not None:
            place = after
            async for message, reached in _replayed(call, listener, after):
                place = reached
                yield message
        while not listener.is_over:
            taken, place = listener.take(place)
            if taken:
                yield b"".join(taken)
            if listener.overflowed:
                return
            if not await listener.news():
                yield b": alive\n\n"
        if listener.is_lost:
            taken, _ = listener.take(place)
            yield b"".join(taken)
    except Unavailable:
        # Nobody leads, or the store is away; the answer has begun, so all there is to say is that it ends here.
        return
    finally:
        call.door.leave(listener)
        call.hub.unsubscribe(listener)
        call.door.subscribers -= 1


def _page_after(place: Place) -> Callable[[Reader], list[Numbered] | None]:
    epoch, seq, index = place
    return lambda reader: reader.events_after(epoch=epoch, seq=seq, index=index, limit=REPLAY_EVENTS)


async def _replayed(call: Call[EventQuery], listener: Listener, after: Place) -> AsyncIterator[tuple[bytes, Place]]:
    """From the store, until the store has no more and the buffer holds everything since."""
    while not listener.is_over:
        listener.overflowed = False
        try:
            page = await call.hub.read(_page_after(after))
        except RecordDamaged:
            # What happened then cannot be told any more.
            page = None
        if page is None:
            identity = call.hub.identity
            after = (identity.epoch, identity.seq, 0)
            listener.forget()
            yield _resync(after), after
            return
        for numbered in page:
            after = place_of(numbered)
            if listener.wants(numbered):
                yield encoded(numbered), after
        if not page and not listener.overflowed:
            yield b"", after
            return
        if listener.overflowed:
            listener.forget()


def _resync(place: Place) -> bytes:
    """What was missed is no longer kept: look at everything afresh, and go on from here."""
    said = "-".join(map(str, place))
    return f'id: {said}\nevent: {EventName.RESYNC}\ndata: {{"id":"{said}","event":"{EventName.RESYNC}"}}\n\n'.encode()
