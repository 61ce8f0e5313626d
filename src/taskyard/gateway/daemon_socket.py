"""The daemon's end of the hub: one WebSocket, one line in each direction.

Commands go to the hub in the order they came; what the hub sends leaves at once, or waits in one bounded queue
per socket and leaves in the order it was queued. Nothing here decides: a socket that closes tells the core that
it closed, and the lease does the rest.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from taskyard.core.daemon_commands import JoinDaemon, LeaveDaemon
from taskyard.core.settings import Sizes
from taskyard.gateway.asgi import Receive, Send, ShortCut
from taskyard.gateway.auth import Principal
from taskyard.gateway.daemon_messages import BadMessage, Translator, join_of
from taskyard.gateway.door import Door
from taskyard.gateway.pace import Pace
from taskyard.vocabulary import Refusal, Scope
from taskyard.wire import frames
from taskyard.wire.depth import DEPTH_MAX, FRAME_WRAPS, is_too_deep, is_utf8, without_nul

QUEUE_BYTES_MAX: Final = 16 * 1024 * 1024
HELLO_S: Final = 5.0
CLOSE_S: Final = 5.0
REASON_BYTES_MAX: Final = 123

log = logging.getLogger(__name__)

_REJOIN: Final = frames.encode(frames.Rejoin())
_parts: Final = msgspec.json.Decoder(list[msgspec.Raw])
_NOT_UNDERSTOOD: Final = (BadMessage, msgspec.MsgspecError, UnicodeError, RecursionError)


class NotUtf8(BadMessage):
    """Closed with a code of its own, as RFC 6455 wants."""


class DaemonSession:
    """What the hub holds of a socket: a bounded queue that one task empties, and a way past both while it is empty."""

    def __init__(
        self,
        id: int,
        principal: Principal,
        frame_bytes_max: int = frames.FRAME_BYTES_MAX,
        short_cut: ShortCut | None = None,
    ) -> None:
        self.id = id
        self._short_cut = short_cut
        self._frame_bytes_max = frame_bytes_max
        self.principal = principal
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._wake = asyncio.Event()
        self._is_writing = False
        """Whether something has left the queue that nothing may overtake."""
        self._good_bye: tuple[int, str] | None = None
        self.closing = asyncio.Event()
        self._patience: asyncio.TimerHandle | None = None
        """Runs while a hello is waited for that was asked for."""

    def send(self, messages: list[bytes]) -> None:
        if self._good_bye is not None:
            return
        self._waiting.extend(messages)
        self._bytes += sum(map(len, messages))
        if self._short_cut is not None and not self._is_writing and not self._wake.is_set():
            self._write_by(self._short_cut)
            if not self._waiting:
                return
        if self._bytes > QUEUE_BYTES_MAX:
            self._waiting.clear()
            self._bytes = 0
            self.close(frames.CLOSE_NOT_READING, "what was sent to you was not read")
        self._wake.set()

    def _write_by(self, short_cut: ShortCut) -> None:
        """As much of what waits as leaves now."""
        while self._waiting and short_cut.is_free:
            short_cut.write(self._frame())

    def close(self, code: int, reason: str) -> None:
        """After what is already queued."""
        if self._good_bye is None:
            self._good_bye = (code, reason)
            self.closing.set()
            self._wake.set()

    @property
    def is_rejoining(self) -> bool:
        return self._patience is not None

    def rejoin(self) -> None:
        # Asked already: that hello is as exact, since the daemon keeps still from it to the welcome.
        if self._patience is None:
            self.send([_REJOIN])
            self._patience = asyncio.get_running_loop().call_later(HELLO_S, self._lose_patience)

    def rejoined(self) -> None:
        """It said hello, or is gone."""
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _lose_patience(self) -> None:
        # One that is older than this message does not know it, and comes back with its list like this.
        self.close(frames.CLOSE_RESTARTING, "another hub leads now; come back with your list")

    def show_out(self) -> None:
        self.send([frames.encode(frames.Error(Refusal.UNAUTHENTICATED, "The key has ended."))])
        self.close(frames.CLOSE_UNAUTHENTICATED, "the key has ended")

    def send_home(self) -> None:
        self.close(frames.CLOSE_RESTARTING, "the hub stops; come back with your list")

    async def write_to(self, send: Send) -> None:
        """Until the session is closed: what waits, joined into as few frames as may be."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            self._is_writing = True
            while self._waiting:
                await send({"type": "websocket.send", "text": self._frame().decode()})
            self._is_writing = False
            if self._good_bye is not None:
                code, reason = self._good_bye
                cut = reason.encode()[:REASON_BYTES_MAX].decode(errors="ignore")
                await send({"type": "websocket.close", "code": code, "reason": cut})
                return

    def _frame(self) -> bytes:
        waiting = self._waiting
        if len(waiting) <= frames.FRAME_MESSAGES_MAX and self._bytes + len(waiting) < self._frame_bytes_max:
            # All of it, as nearly always.
            taken = list(waiting)
            waiting.clear()
            self._bytes = 0
            return frames.join(taken)
        taken = [waiting.popleft()]
        size = len(taken[0]) + 2
        while waiting and len(taken) < frames.FRAME_MESSAGES_MAX:
            size += len(waiting[0]) + 1
            if size > self._frame_bytes_max:
                break
            taken.append(waiting.popleft())
        self._bytes -= sum(map(len, taken))
        return frames.join(taken)


class DaemonSocket:
    """One connection, from `hello` to its end."""

    def __init__(
        self, door: Door, principal: Principal, receive: Receive, send: Send, short_cut: ShortCut | None = None
    ) -> None:
        self._door = door
        self._hub = door.hub
        self._principal = principal
        self._receive = receive
        self._send = send
        self._short_cut = short_cut
        self._session = DaemonSession(next(door.session_ids), principal, self._size.frame, short_cut)
        self._daemon_id: str | None = None
        """Set once it has joined: from then on its leaving must be told."""
        self._boot_id = ""
        self._translator: Translator
        self._loop = asyncio.get_running_loop()
        self._unknown = 0
        """How many messages were of no known type."""
        self._pace = Pace(self._tell, lambda: self._hub.backlog, self._loop.time)
        self._broken: asyncio.Future[None] = self._loop.create_future()
        """By something that should never happen, while it heard what its daemon said."""

    @property
    def _size(self) -> Sizes:
        return self._hub.settings.limits.size

    async def serve(self) -> None:
        await self._send({"type": "websocket.accept"})
        session = self._session
        writer = asyncio.create_task(session.write_to(self._send))
        reader = asyncio.create_task(self._read())
        closing = asyncio.create_task(session.closing.wait())
        self._door.enter(session)
        try:
            await asyncio.wait((reader, writer, closing, self._broken), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._take_no_more()
            self._door.leave(session)
            session.rejoined()
            reader.cancel()
            if session.closing.is_set():
                # We said good-bye: what is queued has a moment to leave, no more.
                await asyncio.wait((writer,), timeout=CLOSE_S)
            closing.cancel()
            writer.cancel()
            self._broken.cancel()
            for result in await asyncio.gather(reader, writer, self._broken, return_exceptions=True):
                if isinstance(result, Exception) and not isinstance(result, OSError):
                    log.error("daemon socket", exc_info=result)

    async def _read(self) -> None:
        """Returns when the peer has gone; asks for the socket's closing when the peer misbehaves."""
        try:
            async with asyncio.timeout(HELLO_S):
                first = await self._next_frame()
            if first is not None:
                rest_s = self._join(self._messages(first))
                await self._obey(rest_s)
        except TimeoutError:
            self._fail("HELLO_MISSING", f"no hello within {HELLO_S:g} s")
        except _NOT_UNDERSTOOD as error:
            self._not_understood(error)
        finally:
            if self._daemon_id is not None:
                with suppress(*_NOT_UNDERSTOOD):
                    self._pace.end()
                self._hub.tell(LeaveDaemon(self._session.id, self._daemon_id))
                self._hub.detach(self._session)

    def _join(self, first: list[frames.FromDaemon]) -> float:
        """By hello; as `Pace.hear` of what is said in the same frame."""
        hello = first[0] if first else None
        if not isinstance(hello, frames.Hello):
            raise BadMessage("the first message must be hello")
        session = self._session
        daemon_id = hello.daemon_id or f"d_{self._hub.mint()}"
        join = self._join_of(hello, daemon_id)
        self._translator = Translator(session=session.id, daemon_id=daemon_id, size=self._size)
        self._daemon_id, self._boot_id = daemon_id, hello.boot_id
        self._hub.attach(session)
        self._hub.tell(join)
        return self._pace.hear(first[1:], size=0)

    def _join_of(self, hello: frames.Hello, daemon_id: str) -> JoinDaemon:
        if hello.protocol != frames.PROTOCOL:
            raise BadMessage(f"this hub speaks protocol {frames.PROTOCOL}, not {hello.protocol}")
        if hello.shared and Scope.ADMIN not in self._principal.scopes:
            raise BadMessage("a shared daemon needs a key with the scopes admin and daemon")
        user_id, session = self._principal.user_id, self._session.id
        return join_of(hello, session=session, user_id=user_id, daemon_id=daemon_id, unseal=self._hub.unseal)

    def _rejoin(self, messages: Sequence[frames.FromDaemon]) -> Sequence[frames.FromDaemon]:
        """Join anew by the hello that was asked for, if it is among these; answers what followed it."""
        for index, message in enumerate(messages):
            if isinstance(message, frames.Hello):
                self._hub.tell(self._join_again(message))
                self._session.rejoined()
                return messages[index + 1 :]
        return []

    def _join_again(self, hello: frames.Hello) -> JoinDaemon:
        daemon_id = self._daemon_id
        assert daemon_id is not None, "only who has joined is asked to rejoin"
        # One that never heard the old leader's welcome does not know its id yet.
        if hello.daemon_id not in (None, daemon_id) or hello.boot_id != self._boot_id:
            raise BadMessage("hello: `daemon_id` and `boot_id` stay the same on one connection")
        return self._join_of(hello, daemon_id)

    async def _obey(self, rest_s: float) -> None:
        """Whatever comes, from now on as it comes."""
        if self._short_cut is not None:
            self._short_cut.take = self._take
        while True:
            while rest_s > 0:
                await asyncio.sleep(rest_s)
                rest_s = self._pace.go_on()
            raw = await self._next_frame()
            if raw is None:
                return
            rest_s = self._hear(raw)
            await asyncio.sleep(0)

    def _take(self, raw: bytes | None = None) -> None:
        """What comes by the short cut, or nothing, when the socket has rested."""
        assert self._short_cut is not None, "it called us"
        if self._short_cut.take is None:
            return
        try:
            rest_s = self._pace.go_on() if raw is None else self._hear(raw)
        except _NOT_UNDERSTOOD as error:
            self._take_no_more()
            self._not_understood(error)
        except Exception as error:  # noqa: BLE001 - the transport called us, and would go on as if nothing were
            self._take_no_more()
            self._broken.set_exception(error)
        else:
            if rest_s > 0:
                self._short_cut.rest(rest_s, self._take)

    def _take_no_more(self) -> None:
        if self._short_cut is not None:
            self._short_cut.take = None

    def _hear(self, raw: bytes) -> float:
        """As `Pace.hear`."""
        unknown_before = self._unknown
        messages = self._messages(raw)
        return self._pace.hear(messages, size=len(raw), unknown=self._unknown - unknown_before)

    def _tell(self, messages: Sequence[frames.FromDaemon]) -> None:
        tell, translator = self._hub.tell, self._translator
        now_ms = self._hub.now_ms()
        translator.size = self._size
        for message in self._rejoin(messages) if self._session.is_rejoining else messages:
            tell(translator.command_of(message, now_ms))

    async def _next_frame(self) -> bytes | None:
        """None when the peer has gone."""
        event = await self._receive()
        if event["type"] != "websocket.receive":
            return None
        text = event.get("text")
        return event.get("bytes") or b"" if text is None else text.encode()

    def _messages(self, raw: bytes) -> list[frames.FromDaemon]:
        bytes_max = self._size.frame
        if len(raw) > bytes_max:
            raise BadMessage(f"a frame has at most {bytes_max:,} bytes")
        if is_too_deep(raw, DEPTH_MAX + FRAME_WRAPS):
            raise BadMessage(f"JSON nests at most {DEPTH_MAX} deep")
        if not is_utf8(raw):
            raise NotUtf8("a frame is UTF-8")
        messages = self._decoded(without_nul(raw))
        _check_number(messages)
        return messages

    def _decoded(self, raw: bytes) -> list[frames.FromDaemon]:
        try:
            return frames.decode_from_daemon(raw)
        except msgspec.ValidationError as error:
            if not _is_about_type(error):
                raise
        # A newer daemon may know messages that we do not. Each is answered; the others count.
        known: list[frames.FromDaemon] = []
        errors: list[bytes] = []
        parts = _parts.decode(raw if raw.lstrip()[:1] == b"[" else b"[" + raw + b"]")
        _check_number(parts)
        for one in parts:
            try:
                known += frames.decode_from_daemon(bytes(one))
            except msgspec.ValidationError as error:
                if not _is_about_type(error):
                    raise
                errors.append(frames.encode(frames.Error("UNKNOWN_TYPE", str(error))))
        self._unknown += len(errors)
        self._session.send(errors)
        return known

    def _not_understood(self, error: Exception) -> None:
        close_code = frames.CLOSE_NOT_UTF8 if isinstance(error, NotUtf8) else frames.CLOSE_PROTOCOL
        self._fail("BAD_MESSAGE", str(error), close_code)

    def _fail(self, code: str, message: str, close_code: int = frames.CLOSE_PROTOCOL) -> None:
        self._session.send([frames.encode(frames.Error(code, message))])
        self._session.close(close_code, message)


def _check_number(messages: Sequence[object]) -> None:
    if len(messages) > frames.FRAME_MESSAGES_MAX:
        raise BadMessage(f"a frame has at most {frames.FRAME_MESSAGES_MAX} messages")


def _is_about_type(error: msgspec.ValidationError) -> bool:
    return str(error).endswith(".type`")
