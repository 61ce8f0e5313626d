"""The leader's end of the links: each peer is a gateway, and to the core its daemons are daemons like any other.

A peer's sessions are numbered apart from our own and from those of other peers. When a link breaks, its
daemons have left as if their sockets had closed: the lease decides, and they come back through whichever hub they are
connected to.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import chain, count
from typing import Any, Final

import msgspec
from msgspec import Raw

from taskyard.core.changes import Batch, KeyRecord, UserRecord
from taskyard.core.commands import NOTHING, BeginWait, Command, EndWait, SubmitTasks
from taskyard.core.daemon_commands import JoinDaemon, LeaveDaemon
from taskyard.core.settings import Settings
from taskyard.gateway.port import RETRY_AFTER_S, Unavailable
from taskyard.hub.hub import Hub
from taskyard.hub.link import messages as m
from taskyard.hub.link.views import ARGUMENTS
from taskyard.hub.link.wire import OPENING_S, Wire
from taskyard.hub.observe import Log
from taskyard.store.port import Numbered, RecordDamaged
from taskyard.store.rewind import Sighting
from taskyard.vocabulary import SESSIONS_PER_GATEWAY, Refusal

PEERS_MAX: Final = 256
STRANGERS_MAX: Final = 64
# Connections that have not shown yet that they know the secret: they have a few seconds for it.
INTRODUCTION_S: Final = 10.0
# Twice what it takes to show that they know the secret.
JUDGE_AGAIN_S: Final = 1.0
PENDING_MAX: Final = 20_000
# What one gateway may wait for at a time: as many as it may have connections, and as many again.


class LinkServer:
    """Listens for as long as the process lives, and lets gateways in while there is a hub that leads here."""

    def __init__(self, secret: bytes, log: Log) -> None:
        self._hub: Hub | None = None
        self._secret = secret
        self._log = log
        # From 1: the sessions of our own sockets have the numbers below those of any linked hub.
        self._numbers = count(1)
        self._peers: dict[int, Peer] = {}
        self._asking: set[Wire] = set()
        """Connections of hubs that may ask one question, while this hub does not lead."""
        self._server: asyncio.Server | None = None
        self.remembered: Callable[[], list[Sighting]] = list
        """What this hub has seen of the yard."""

    async def listen(self, host: str, port: int) -> int:
        """The port it listens on."""
        self._server = await asyncio.get_running_loop().create_server(self._accept, host, port)
        listening: int = self._server.sockets[0].getsockname()[1]
        return listening

    def stop(self) -> None:
        self.dismiss()
        for wire in list(self._asking):
            wire.cut("this hub stops")
        if self._server is not None:
            self._server.close()

    def serve(self, hub: Hub) -> None:
        """It leads."""
        self._hub = hub
        hub.directory.watchers.append(self._on_directory)

    def dismiss(self) -> None:
        """It leads no more: gateways look for the next one."""
        if self._hub is None:
            return
        self._hub.directory.watchers.remove(self._on_directory)
        self._hub = None
        for peer in list(self._peers.values()):
            peer.close()

    @property
    def peers(self) -> int:
        """Gateways that have been let in."""
        return sum(peer.is_here for peer in self._peers.values())

    def adopt(self, settings: Settings) -> None:
        for peer in self._peers.values():
            peer.post(m.Adopt(settings))

    def _accept(self) -> Wire:
        wire = Wire(self._secret, calls=False)
        number = next(self._numbers)
        if self._hub is None:
            self._stand_by(wire)
            return wire
        if self._is_full:
            wire.cut("too many hubs are linked")
            return wire
        peer = self._peers[number] = Peer(self._hub, wire, self._log, offset=number * SESSIONS_PER_GATEWAY)
        peer.on_name = partial(self._welcome, peer)
        peer.remembered = self.remembered

        def forget(reason: str) -> None:
            self._peers.pop(number, None)
            peer.leave()
            self._log.say("link.lost", peer=number, reason=reason)

        wire.on_lost = forget
        return wire

    def _stand_by(self, wire: Wire) -> None:
        """While this hub does not lead: answer a hub that is about to lead, and hang up."""
        if len(self._asking) >= STRANGERS_MAX:
            wire.cut("too many hubs ask")
            return

        def hear(content: bytes) -> None:
            if any(isinstance(message, m.AskSeen) for message in m.decode_from_gateway(content)):
                wire.post(m.Remembers(self.remembered()))
                wire.close()
            else:
                wire.cut("it does not lead")

        def forget(reason: str) -> None:
            self._asking.discard(wire)

        self._asking.add(wire)
        wire.on_frame, wire.on_lost = hear, forget
        asyncio.get_running_loop().call_later(OPENING_S, wire.cut, "it asked nothing")

    @property
    def _is_full(self) -> bool:
        peers = self.peers
        return peers >= PEERS_MAX or len(self._peers) - peers >= STRANGERS_MAX

    def _welcome(self, newer: "Peer", name: str) -> None:
        """What is still on its way over an older link of this gateway would come after what is said on this one."""
        for peer in list(self._peers.values()):
            if peer is not newer and name and peer.name == name:
                peer.cut("its gateway came anew")

    def _on_directory(self, users: list[UserRecord], keys: list[KeyRecord]) -> None:
        for peer in self._peers.values():
            peer.post(m.Known(users, keys))


class PeerSession:
    """A daemon's socket at a gateway."""

    def __init__(self, peer: "Peer", id: int) -> None:
        self._peer = peer
        self.id = peer.offset + id
        self.daemon_id: str | None = None

    def send(self, messages: list[bytes]) -> None:
        self._peer.post(m.Send(self.id - self._peer.offset, messages))

    def close(self, code: int, reason: str) -> None:
        self._peer.post(m.Close(self.id - self._peer.offset, code, reason))

    def rejoin(self) -> None:
        """Only a gateway asks for it, of its own sockets."""
        raise AssertionError("a leader never asks a peer's daemon to rejoin")


class Peer:
    """One linked gateway: also the one subscriber that stands for all of its event readers."""

    user_id: str | None = None

    def __init__(self, hub: Hub, wire: Wire, log: Log, *, offset: int) -> None:
        self._hub = hub
        self._wire = wire
        self._log = log
        self.offset = offset
        self.name = ""
        self.on_name: Callable[[str], None] = lambda name: None
        self.remembered: Callable[[], list[Sighting]] = list
        self._judging: asyncio.Task[None] | None = None
        """Set by the peer's introduction."""
        self._sessions: dict[int, PeerSession] = {}
        self._pending: dict[int, asyncio.Task[None]] = {}
        self._waits: dict[str, str] = {}
        """Tasks that wait for their own sub-tasks through this gateway, by the name of the wait."""
        self.is_here = self._is_gone = False
        self._is_mirrored = False
        wire.on_frame = self._hear
        asyncio.get_running_loop().call_later(INTRODUCTION_S, self._lose_patience)

    def _lose_patience(self) -> None:
        if self._judging is None:
            self._wire.cut("it did not introduce itself")

    def _introduce(self, name: str, sightings: list[Sighting]) -> None:
        if self._judging is None:
            self._judging = asyncio.get_running_loop().create_task(self._judge(sightings))
            self._judging.add_done_callback(self._judged)
        self.on_name(name)
        self.name = name

    async def _judge(self, sightings: list[Sighting]) -> None:
        """Greet, unless the log lacks what the peer has seen: then this hub has stopped, and so has the link."""
        while True:
            try:
                if await self._hub.guard.judge(sightings):
                    self.greet()
                return
            except Unavailable:
                # The store is away. The peer is served meanwhile, and what it saw judged as soon as that can be.
                self.greet()
                await asyncio.sleep(JUDGE_AGAIN_S)

    def _judged(self, judging: "asyncio.Task[None]") -> None:
        error = None if judging.cancelled() else judging.exception()
        if error is not None:
            self._log.fault("link.failed", error, level="error")
            self._wire.cut("what it saw cannot be judged")

    def greet(self) -> None:
        if self.is_here or self._is_gone:
            return
        hub, directory = self._hub, self._hub.directory
        self.is_here = True
        hub.commits.append(self._reach)
        self.post(m.Greeting(hub.identity, hub.settings, directory.users(), directory.keys()))

    def post(self, message: m.Message) -> None:
        if self.is_here:
            self._wire.post(message)

    def close(self) -> None:
        self._wire.close()

    def cut(self, reason: str) -> None:
        self._wire.cut(reason)

    def leave(self) -> None:
        """The gateway has gone: so have its daemons, for now, and whoever waited there."""
        self._is_gone = True
        if self._judging is not None:
            self._judging.cancel()
        if not self.is_here:
            return
        self.is_here = False
        self._hub.commits.remove(self._reach)
        self._hub.unsubscribe(self)
        for task in self._pending.values():
            task.cancel()
        for session in list(self._sessions.values()):
            self._detach(session)
        for wait, task_id in self._waits.items():
            self._hub.tell(EndWait(task_id, wait))

    def offer(self, events: list[Numbered]) -> None:
        self.post(m.Happened(events))

    def lose(self) -> None:
        """Events went by unheard: the gateway's readers have to come anew, and so has the gateway."""
        self._wire.cut("events were missed")

    def _reach(self, batch: Batch) -> None:
        if self._is_mirrored:
            rows = chain(batch.created, batch.changed, batch.revived)
            gone = [row.task.id for row in batch.ended]
            self.post(m.Wrote(batch.seq, [(row.task.id, row.record) for row in rows], gone))
        self.post(m.Reached(batch.seq, batch.batch_id))

    # What it says.

    def _hear(self, content: bytes) -> None:
        for message in m.decode_from_gateway(content):
            match message:
                case m.Tell(command):
                    self._tell(command)
                case m.Ask():
                    self._run(message.id, self._answer(message))
                case m.View():
                    self._run(message.id, self._show(message))
                case m.Drop(id):
                    task = self._pending.get(id)
                    if task is not None:
                        task.cancel()
                case m.Attach(id):
                    session = self._sessions[id] = PeerSession(self, id)
                    self._hub.attach(session)
                case m.Detach(id):
                    left = self._sessions.get(id)
                    if left is not None:
                        self._detach(left)
                case m.Mirror():
                    self._is_mirrored = True
                case m.Watch(wanted):
                    (self._hub.subscribe if wanted else self._hub.unsubscribe)(self)
                case m.Introduce(name, sightings):
                    self._introduce(name, sightings)
                case m.AskSeen():
                    self._wire.post(m.Remembers(self.remembered()))

    def _tell(self, command: Command) -> None:
        if isinstance(command, JoinDaemon):
            session = self._sessions.get(command.session)
            if session is None:
                return
            session.daemon_id = command.daemon_id
        elif isinstance(command, BeginWait):
            self._waits[command.wait] = command.task_id
        elif isinstance(command, EndWait):
            self._waits.pop(command.wait, None)
        self._hub.tell(self._ours(command))

    def _ours(self, command: Command) -> Command:
        """Its session under our number."""
        session = getattr(command, "session", 0)
        if session:
            command.session = session + self.offset  # type: ignore[union-attr]
        return command

    def _detach(self, session: PeerSession) -> None:
        del self._sessions[session.id - self.offset]
        if session.daemon_id is not None:
            self._hub.tell(LeaveDaemon(session.id, session.daemon_id))
        self._hub.detach(session)

    # What it asks.

    def _run(self, id: int, work: Coroutine[Any, Any, None]) -> None:
        if len(self._pending) >= PENDING_MAX:
            work.close()
            self.post(m.Unanswered(id, Refusal.OVERLOADED, RETRY_AFTER_S))
            return
        task = self._pending[id] = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(partial(self._done, id))

    def _done(self, id: int, task: "asyncio.Task[None]") -> None:
        del self._pending[id]
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        if isinstance(error, Unavailable):
            self.post(m.Unanswered(id, error.code, error.retry_after_s))
            return
        if isinstance(error, RecordDamaged):
            self.post(m.Unanswered(id, Refusal.RECORD_DAMAGED, 0, str(error)))
            return
        # Said here, since whoever asked cannot see where.
        self._log.fault("link.failed", error, level="error")
        self.post(m.Failed(id))

    async def _answer(self, ask: m.Ask) -> None:
        command, hub = self._ours(ask.command), self._hub
        if hasattr(command, "known"):
            command.known = NOTHING
        if not isinstance(command, SubmitTasks):
            answer, tasks = await hub.ask(command, request=ask.request, again=ask.again)
            self.post(m.Answered(ask.id, answer, tasks))
            return
        (answer, tasks), forecast = await hub.submit(command, request=ask.request, again=ask.again)
        self.post(m.Answered(ask.id, answer, tasks, forecast))

    async def _show(self, view: m.View) -> None:
        decode = ARGUMENTS.get(view.name)
        if decode is None:
            # A newer gateway asks for what this leader does not have.
            raise Unavailable(Refusal.NO_LEADER, RETRY_AFTER_S)
        if not self._hub.is_trusted():
            self.cut("another hub may lead by now")
            return
        value = await getattr(self._hub, view.name)(*decode(view.arguments))
        self.post(m.Shown(view.id, Raw(msgspec.msgpack.encode(value))))
