"""The line in which committed effects leave the hub. See `release.py` for what becomes of each."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Final

import msgspec

from taskyard.core.changes import Batch, Event, KeyRecord, UserRecord
from taskyard.core.commands import Command, FailTask
from taskyard.core.daemon_commands import JoinDaemon
from taskyard.core.effects import (
    Answer,
    AskProbe,
    Contradicted,
    Done,
    Reply,
    Submitted,
)
from taskyard.core.settings import Settings
from taskyard.core.task import Task
from taskyard.gateway.port import Session, Subscriber
from taskyard.hub.askers import Askers
from taskyard.hub.directory import CommittedDirectory
from taskyard.hub.observe import Log
from taskyard.hub.progress import ProgressBoard
from taskyard.hub.readers import Readers
from taskyard.hub.release import CLOSE_CODES, Bodies, Frames, HandedContext, Packed, Parcel, failed, packed
from taskyard.hub.tokens import Tokens
from taskyard.store.committer import Release
from taskyard.store.port import Identity, Numbered, StoredTask, StoreUnavailable
from taskyard.vocabulary import HELD, Refusal
from taskyard.wire import frames

READ_AGAIN_S, READ_AGAIN_S_MAX = 0.1, 5.0
RELEASES_MAX: Final = 4
# Commits whose effects wait for bodies before the next commit waits too.
CLOSE_S: Final = 5.0
# How long a hub that is to stop waits for bodies that cannot be read.

_record: Final = msgspec.json.Decoder(Task)


class Outbox:
    """Takes releases in the order of their commits and lets them out in that order."""

    def __init__(self, settings: Settings, log: Log, tokens: Tokens, readers: Readers) -> None:
        self._settings = settings
        self._log = log
        self._tokens = tokens
        self._readers = readers
        self.askers = Askers()
        self.directory = CommittedDirectory()
        self.sessions: dict[int, Session] = {}
        self.subscribers: dict[int, Subscriber] = {}
        self.progress = ProgressBoard(self.publish_soft)
        self.on_room: Callable[[], None] = lambda: None
        """Called when a release that others waited behind is out."""
        self.on_failure: Callable[[BaseException], None] = lambda error: None
        """Called when a release cannot leave: those behind it never will."""
        self.on_undeliverable: Callable[[FailTask], None] = lambda failed: None
        """Called for work that cannot be sent, because what it depends on is damaged."""
        self.on_probe: Callable[[AskProbe], None] = lambda probe: None
        """Called with a request that a schedule wants made."""
        self.on_contradicted: Callable[[Contradicted], None] = lambda contradicted: None
        """Called with a daemon's proof that the log lacks commits."""
        self.observers: list[Callable[[Batch], None]] = []
        """Called with every commit that is released."""
        self.handed_context: HandedContext | None = None
        """None: work is handed the trace context that its task came with."""
        self._identity = Identity("", 0, 0)
        self._bodies = Bodies()
        self._line: deque[Parcel] = deque()
        self._prepared: dict[int, Parcel] = {}
        """By commit: what is being made ready while it is written."""
        self._worker: asyncio.Task[None] | None = None
        self._is_broken = False
        self._waiters: dict[str, set[asyncio.Future[None]]] = {}

    def begin(self, identity: Identity, users: list[UserRecord], keys: list[KeyRecord], missed: list[Numbered]) -> None:
        """The state was loaded: this is who we are, whom we know, and what happened without anyone hearing of it."""
        self._identity = identity
        # What was never committed has left its bodies behind, and what would have left with it.
        self._bodies = Bodies()
        self._prepared.clear()
        self._frames = Frames(identity, self._settings, self._tokens, self.handed_context)
        # Copies: the core goes on changing its own, and authentication may see only what is committed.
        self.directory.update(deepcopy(users), deepcopy(keys))
        self.progress.clear()
        self._log.events([numbered.event for numbered in missed])
        if missed:
            self._offer(missed)
        for task_id in list(self._waiters):
            self._wake(task_id)

    def adopt(self, settings: Settings) -> None:
        self._settings = self._frames.settings = settings

    @property
    def backlog(self) -> int:
        return len(self._line)

    @property
    def is_full(self) -> bool:
        return len(self._line) >= RELEASES_MAX

    def prepare(self, release: Release) -> None:
        """It is being written: meanwhile read the bodies that will leave with it."""
        parcel = self._prepared[release.seq] = Parcel(release, self._bodies)
        if parcel.lacks_bodies:
            parcel.fetching = asyncio.ensure_future(self._readers.read(parcel.fetch))
            # If it fails, what is missing is read again when its turn has come.
            parcel.fetching.add_done_callback(_retrieve)

    def pack(self) -> None:
        """It is being written, and nothing else may leave: meanwhile write down what will leave with it."""
        for parcel in self._prepared.values():
            if parcel.is_complete and parcel.packed is None:
                parcel.packed = packed(parcel, self._frames)
                # They are in its frames now.
                parcel.loads = {}

    def send_work(self, release: Release) -> None:
        """It is committed: what it has for daemons leaves first if nothing is before it, the rest by `put`.

        Not if somebody is new: who they are is to be known before what they may do.
        """
        if release.batch.users or release.batch.keys:
            return
        parcel = self._prepared.get(release.seq)
        if not self._line and parcel is not None and parcel.release is release and parcel.packed is not None:
            self._send(parcel.packed)

    def put(self, release: Release) -> None:
        """Let it out now if nothing has to be read for it and nothing is before it; else it queues."""
        prepared = self._prepared.pop(release.seq, None)
        is_it = prepared is not None and prepared.release is release
        parcel = prepared if prepared is not None and is_it else Parcel(release, self._bodies)
        if not self._line and parcel.is_complete:
            self._let_out(parcel)
            return
        self._line.append(parcel)
        if self._worker is None and not self._is_broken:
            self._worker = asyncio.get_running_loop().create_task(self._work())
            self._worker.add_done_callback(self._on_done)

    async def _work(self) -> None:
        """Read what is missing, let out, next."""
        try:
            while self._line:
                parcel = self._line[0]
                if not parcel.is_complete:
                    await self._fill(parcel)
                self._let_out(parcel)
                self._line.popleft()
                self.on_room()
        finally:
            self._worker = None

    async def _fill(self, parcel: Parcel) -> None:
        """It is committed, so it leaves, however long the store cannot be read."""
        wait_s = READ_AGAIN_S
        if parcel.fetching is not None:
            await asyncio.wait((parcel.fetching,))
        while not parcel.is_complete:
            try:
                await self._readers.read(parcel.fill)
            except StoreUnavailable as error:
                self._log.say("store.unread", level="warning", reason=str(error))
                await asyncio.sleep(wait_s)
                wait_s = min(wait_s * 2, READ_AGAIN_S_MAX)

    def _on_done(self, worker: "asyncio.Task[None]") -> None:
        error = None if worker.cancelled() else worker.exception()
        if error is not None:
            self._is_broken = True
            self.on_failure(error)

    def refuse(self, code: Refusal) -> None:
        """Everyone who waits for an answer that is not on its way out."""
        effects = (effect for parcel in self._line for effect in parcel.release.effects)
        self.askers.refuse_all(code, but={effect.to for effect in effects if isinstance(effect, Reply)})

    async def drain(self) -> None:
        """Wait until everything committed so far is out."""
        if self._worker is not None:
            await asyncio.wait((self._worker,))

    async def close(self, within_s: float = CLOSE_S) -> None:
        if self._worker is not None:
            await asyncio.wait((self._worker,), timeout=within_s)
        if self._worker is not None:
            self._worker.cancel()
            await self.drain()
        self._line.clear()
        self.refuse(Refusal.OUTCOME_UNKNOWN)
        self.progress.close()
        self.close_sessions()

    def close_sessions(self) -> None:
        for session in list(self.sessions.values()):
            session.close(frames.CLOSE_RESTARTING, "the hub starts anew; come back with your list")

    def reaches(self, command: Command) -> bool:
        """Whether its answer would arrive: a daemon may have left while its hello was looked up, and said so."""
        return not isinstance(command, JoinDaemon) or command.session in self.sessions

    def cut_off(self, number: int) -> None:
        session = self.sessions.get(number)
        if session is not None:
            session.close(frames.CLOSE_RESTARTING, "the hub cannot keep up; come back with your list")

    def wait_for_end(self, task_id: str) -> "asyncio.Future[None]":
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(task_id, set()).add(waiter)
        return waiter

    def stop_waiting(self, task_id: str, waiter: "asyncio.Future[None]") -> None:
        waiters = self._waiters.get(task_id)
        if waiters is not None:
            waiters.discard(waiter)
            if not waiters:
                del self._waiters[task_id]

    def _let_out(self, parcel: Parcel) -> None:
        batch = parcel.release.batch
        self.directory.update(batch.users, batch.keys)
        contents = parcel.packed or packed(parcel, self._frames)
        # Work first: a daemon that gets its task a moment earlier starts it a moment earlier.
        self._send(contents)
        for progressed in contents.progressed:
            self.progress.note(progressed)
        for probe in contents.probes:
            self.on_probe(probe)
        for execute, what in contents.undeliverable:
            self._readers.damage.note(what)
            self.on_undeliverable(failed(execute, what))
        for contradicted in contents.contradicted:
            self.on_contradicted(contradicted)
        if contents.replies:
            written = Written(batch)
            for reply in contents.replies:
                self.askers.answer(reply, written.of(reply.answer))
        self._publish(batch)

    def _send(self, contents: Packed) -> None:
        outgoing, contents.outgoing = contents.outgoing, {}
        closing, contents.closing = contents.closing, []
        for number, messages in outgoing.items():
            session = self.sessions.get(number)
            if session is not None:
                session.send(messages)
        for close in closing:
            session = self.sessions.get(close.session)
            if session is not None:
                session.close(CLOSE_CODES.get(close.code, frames.CLOSE_PROTOCOL), close.message)

    def _publish(self, batch: Batch) -> None:
        """Events to whoever watches, ends to whoever waits, lines to the log."""
        if batch.is_empty():
            # Its number is that of the commit to come, which is yet to be told.
            return
        if not self.progress.is_empty:
            for event in batch.events:
                if event.task_id is not None and event.was in HELD and event.now not in HELD:
                    self.progress.forget(event.task_id)
        if self._waiters:
            for row in batch.ended:
                self._wake(row.task.id)
        self._log.commit(batch)
        for observe in self.observers:
            observe(batch)
        if self.subscribers and batch.events:
            numbered = [Numbered(batch.epoch, batch.seq, i, event) for i, event in enumerate(batch.events)]
            self._offer(numbered)

    def _wake(self, task_id: str) -> None:
        for waiter in self._waiters.get(task_id, ()):
            if not waiter.done():
                waiter.set_result(None)

    def publish_soft(self, events: list[Event]) -> None:
        self._offer([Numbered(self._identity.epoch, self._identity.seq, -1, event) for event in events])

    def _offer(self, numbered: list[Numbered]) -> None:
        for subscriber in list(self.subscribers.values()):
            user_id = subscriber.user_id
            subscriber.offer(numbered if user_id is None else [n for n in numbered if n.event.user_id == user_id])


class Written:
    """The new tasks of one commit, exactly as written: what an answer shows of them needs no reading."""

    def __init__(self, batch: Batch) -> None:
        self._bodies = dict(batch.bodies)
        self._rows = {row.task.id: row for rows in (batch.created, batch.ended) for row in rows}

    def of(self, answer: Answer) -> dict[str, StoredTask]:
        if isinstance(answer, Submitted):
            ids: Iterable[str] = answer.ids
        elif isinstance(answer, Done) and answer.task_id is not None:
            ids = (answer.task_id,)
        else:
            return {}
        return {i: StoredTask(self._task(i), self._bodies[i]) for i in ids if i in self._bodies}

    def _task(self, task_id: str) -> Task:
        """The row's copy shares its parts with the live task; only one without parts cannot have changed since."""
        row = self._rows[task_id]
        task = row.task
        has_parts = task.attempts is not None or task.depends is not None or task.trouble is not None
        return _record.decode(row.record) if has_parts else task


def _retrieve(fetching: "asyncio.Future[None]") -> None:
    if not fetching.cancelled():
        fetching.exception()
