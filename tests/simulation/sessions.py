"""The hub's end of the daemons' sockets: messages become commands, effects become messages, each line in order.

Translation, frames and bodies are the hub's own code. A line is one session's: what is ready at its head leaves, and
nothing overtakes, also not a cancel the `task.execute` whose body is still being read.
"""

from collections import deque
from collections.abc import Callable

from taskyard.core.commands import Command
from taskyard.core.daemon_commands import LeaveDaemon
from taskyard.core.effects import CloseSession, Effect, Execute
from taskyard.core.settings import Settings
from taskyard.gateway.daemon_messages import BadMessage, Translator, join_of
from taskyard.hub.release import CLOSE_CODES, Bodies, Frames, Parcel
from taskyard.hub.tokens import Tokens
from taskyard.store.committer import Release
from taskyard.store.port import Identity, Reader
from taskyard.wire import frames
from tests.simulation.clockwork import Clockwork
from tests.simulation.history import History
from tests.simulation.network import Wire


class Item:
    """A place in a session's line; `message` is None until its body is there."""

    __slots__ = ("close", "effect", "message")

    def __init__(self, effect: Effect | None, close: tuple[int, str] | None = None) -> None:
        self.effect = effect
        self.message: bytes | None = None
        self.close = close

    @property
    def is_ready(self) -> bool:
        return self.message is not None or self.close is not None


def _unseal(purpose: str, sealed: str) -> str | None:
    """No proof is taken: the log of these lives is never put back, and numbers say the same without a look-up."""
    return None


class Session:
    """One daemon's socket as the hub sees it."""

    __slots__ = ("line", "translator", "user_id", "wire")

    def __init__(self, wire: Wire, user_id: str) -> None:
        self.wire = wire
        self.user_id = user_id
        self.translator: Translator | None = None
        self.line: deque[Item] = deque()


class Sessions:
    def __init__(
        self, clock: Clockwork, history: History, reader: Reader, tell: Callable[[Command], bool], settings: Settings
    ) -> None:
        self.clock = clock
        self.history = history
        self.open: dict[int, Session] = {}
        self._reader = reader
        self._tell = tell
        self._settings = settings
        self._tokens = Tokens(b"a secret of this world")
        self._frames: Frames
        self._bodies: Bodies

    def begin(self, identity: Identity) -> None:
        """The hub loaded its state: who it is now, and nothing of before is at hand."""
        self._frames = Frames(identity, self._settings, self._tokens)
        self._bodies = Bodies()

    def accept(self, wire: Wire, user_id: str) -> None:
        """A daemon dials in."""
        self.open[wire.number] = Session(wire, user_id)

    def crash(self) -> None:
        for session in self.open.values():
            session.wire.end_of_process("hub")
        self.open = {}

    def send_away(self) -> None:
        """So that each comes back with its list."""
        sessions, self.open = self.open, {}
        for session in sessions.values():
            session.wire.close("hub", frames.CLOSE_RESTARTING, "the hub starts anew")

    # In

    def hear(self, wire: Wire, frame: bytes, wall: int) -> None:
        session = self.open.get(wire.number)
        if session is None:
            return
        try:
            for message in frames.decode_from_daemon(frame):
                self._hear_one(session, message, wall)
        except BadMessage as error:
            session.line.append(Item(None, (frames.CLOSE_PROTOCOL, str(error))))
            self.flush(session)

    def _hear_one(self, session: Session, message: frames.FromDaemon, wall: int) -> None:
        number = session.wire.number
        if session.translator is not None:
            self._tell(session.translator.command_of(message, wall))
            return
        if not isinstance(message, frames.Hello):
            raise BadMessage("the first message must be hello")
        daemon_id = message.daemon_id or f"d_{number:06d}"
        session.translator = Translator(session=number, daemon_id=daemon_id)
        self._tell(join_of(message, session=number, user_id=session.user_id, daemon_id=daemon_id, unseal=_unseal))

    def leave(self, number: int) -> None:
        session = self.open.pop(number, None)
        if session is not None and session.translator is not None:
            self._tell(LeaveDaemon(number, session.translator.daemon_id))

    # Out

    def parcel(self, release: Release) -> Parcel:
        return Parcel(release, self._bodies)

    def put(self, effect: Effect, parcel: Parcel, unread: list[Item]) -> None:
        """At the end of its session's line; into `unread` too if its body has to be read first."""
        session = self.open.get(effect.session)  # type: ignore[union-attr]
        if session is None:
            return
        item = Item(effect)
        if isinstance(effect, Execute) and effect.task_id not in parcel.loads:
            unread.append(item)
        else:
            item.message = self._frames.of(effect, parcel.release.seq, parcel.loads)
        if isinstance(effect, CloseSession):
            item.close = (CLOSE_CODES.get(effect.code, frames.CLOSE_PROTOCOL), effect.message)
        session.line.append(item)
        self.flush(session)

    def fill(self, parcel: Parcel, unread: list[Item]) -> None:
        """The bodies have been read; what ended meanwhile has none to send."""
        parcel.fill(self._reader)
        for item in unread:
            effect = item.effect
            assert isinstance(effect, Execute)
            is_there = effect.task_id in parcel.loads
            item.message = self._frames.of(effect, parcel.release.seq, parcel.loads) if is_there else b""
            session = self.open.get(effect.session)
            if session is not None:
                self.flush(session)

    def flush(self, session: Session) -> None:
        """Whatever is ready at the head of the line, as one frame."""
        ready: list[bytes] = []
        closing: tuple[int, str] | None = None
        line = session.line
        while line and closing is None and line[0].is_ready:
            item = line.popleft()
            closing = item.close
            if item.message:
                ready.append(item.message)
                if item.effect is not None:
                    self.history.sent(session.wire.number, item.effect)
        if ready:
            session.wire.to_daemon(frames.join(ready))
        if closing is not None:
            session.wire.close("hub", *closing)
            self.leave(session.wire.number)
