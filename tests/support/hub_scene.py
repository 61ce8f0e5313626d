"""A real hub in this process, over a store whose writes and reads a test can hold, fail and lose.

`HeldStore` is the store in memory behind two gates: it decides nothing of its own. Sessions, subscribers and the log
only write down what they are told, and let a test wait for it; nothing here sleeps.
"""

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import msgspec

from taskyard.core.changes import Batch
from taskyard.core.commands import CancelTask, Command, CompleteTask, Draft, ReportProgress, SubmitTasks
from taskyard.core.daemon_commands import AcceptTask, Held, JoinDaemon, StartTask
from taskyard.core.effects import Answer, Done, Submitted
from taskyard.core.settings import Settings
from taskyard.core.task import Kind, Needs, Terms
from taskyard.core.yard_commands import CreateKey, CreateUser
from taskyard.gateway.port import Unavailable
from taskyard.hub.hub import Hub
from taskyard.hub.observe import Log
from taskyard.store.memory import MemoryStore
from taskyard.store.port import Image, Numbered, Reader, Store, StoredTask
from taskyard.vocabulary import DependsPolicy, Scope, SourceType, Status
from tests.support.room import ROOM, without_rates

T = TypeVar("T")

SECRET: Final = b"0123456789abcdef0123456789abcdef"
USER: Final = "u_ada"
GOES_ON: Final = Terms(on_depends_fail=DependsPolicy.CONTINUE)
"""A task with these runs whatever became of what it depends on."""
WAIT_S: Final = 30.0
"""How long a test waits for what must happen, before it fails."""


class Gate:
    """Threads pass while it is open; whoever comes while it is shut is counted and waits."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._is_open = True
        self._arrived = 0

    def shut(self) -> None:
        with self._lock:
            self._is_open = False
            self._arrived = 0

    def open(self) -> None:
        with self._lock:
            self._is_open = True
            self._lock.notify_all()

    def pass_through(self) -> None:
        with self._lock:
            self._arrived += 1
            self._lock.notify_all()
            assert self._lock.wait_for(lambda: self._is_open, WAIT_S), "nobody opened the gate"

    async def reached(self, times: int = 1) -> None:
        """Returns when that many stand before the shut gate."""
        await asyncio.to_thread(self._await_arrival, times)

    def _await_arrival(self, times: int) -> None:
        with self._lock:
            assert self._lock.wait_for(lambda: self._arrived >= times, WAIT_S), "nobody came to the gate"


def raise_next(faults: list[Exception | None]) -> None:
    """What was planned for this call, if anything was."""
    fault = faults.pop(0) if faults else None
    if fault is not None:
        raise fault


class HeldReader:
    """Every call of a reader, behind the gate, one at a time. Of the keys of history, which are read for nobody in
    particular, the answer is behind a gate of its own."""

    def __init__(self, reader: Reader, store: "HeldStore") -> None:
        self._reader = reader
        self._store = store

    def close(self) -> None:
        self._reader.close()

    def __getattr__(self, name: str) -> Any:
        look = getattr(self._reader, name)

        def held(*args: Any, **named: Any) -> Any:
            store = self._store
            store.reads.pass_through()
            raise_next(store.read_faults)
            with store.lock:
                return look(*args, **named)

        return held

    def keys_used(self, **named: Any) -> Any:
        store = self._store
        raise_next(store.key_faults)
        with store.lock:
            found = self._reader.keys_used(**named)
        store.key_reads.pass_through()
        return found


class HeldStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__(new_cluster_id="c_test")
        self.lock = threading.RLock()
        self.writes = Gate()
        self.reads = Gate()
        self.key_reads = Gate()
        # Faults of the next calls of each kind, in order; None is a call that goes well.
        self.read_faults: list[Exception | None] = []
        self.key_faults: list[Exception | None] = []
        self.write_faults: list[Exception | None] = []
        self.probe_faults: list[Exception | None] = []
        self.load_faults: list[Exception | None] = []
        self.tend_faults: list[Exception | None] = []
        self.written = Told()
        """Every batch that came to be."""
        self.is_closed = False
        self._loop = asyncio.get_running_loop()

    def write(self, batch: Batch) -> None:
        self.writes.pass_through()
        raise_next(self.write_faults)
        with self.lock:
            super().write(batch)
        self._loop.call_soon_threadsafe(self.written.add, batch)

    def probe(self) -> None:
        raise_next(self.probe_faults)
        super().probe()

    def load(self) -> Image:
        raise_next(self.load_faults)
        with self.lock:
            return super().load()

    def tend(self) -> None:
        raise_next(self.tend_faults)

    async def commit(self, seq: int) -> None:
        """Returns when that commit is on disk."""
        await self.written.first(lambda batch: batch.seq >= seq)

    def reader(self) -> Reader:
        return HeldReader(super().reader(), self)

    def close(self) -> None:
        self.is_closed = True
        super().close()

    @property
    def seq(self) -> int:
        return self._disk.seq


class Told:
    """What somebody was told, in order; a test can wait for the first that fits."""

    def __init__(self) -> None:
        self.all: list[Any] = []
        self._waiting: list[tuple[Callable[[Any], bool], asyncio.Future[Any]]] = []

    def add(self, one: Any) -> None:
        self.all.append(one)
        for fits, waiter in list(self._waiting):
            if not waiter.done() and fits(one):
                waiter.set_result(one)

    async def first(self, fits: Callable[[Any], bool]) -> Any:
        for one in self.all:
            if fits(one):
                return one
        waiter: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((fits, waiter))
        async with asyncio.timeout(WAIT_S):
            return await waiter


TURNS: Final = 10
# Of the event loop: more than a command takes from its asking to its decision.


class ASession:
    """A daemon's socket that writes everything down."""

    def __init__(self, number: int) -> None:
        self.id = number
        self.told = Told()
        self.closed: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()

    def send(self, messages: list[bytes]) -> None:
        for message in messages:
            self.told.add(msgspec.json.decode(message))

    def close(self, code: int, reason: str) -> None:
        if not self.closed.done():
            self.closed.set_result((code, reason))

    def rejoin(self) -> None:
        self.told.add({"type": "rejoin"})

    @property
    def types(self) -> list[str]:
        return [message["type"] for message in self.told.all]

    async def message(self, type: str) -> Any:
        return await self.told.first(lambda message: message["type"] == type)


class ASubscriber:
    def __init__(self, user_id: str | None = None) -> None:
        self.user_id = user_id
        self.told = Told()
        self.is_lost = False

    def offer(self, events: list[Numbered]) -> None:
        for numbered in events:
            self.told.add(numbered)

    def lose(self) -> None:
        self.is_lost = True

    @property
    def names(self) -> list[str]:
        return [str(numbered.event.name) for numbered in self.told.all]

    async def event(self, name: str) -> Numbered:
        found: Numbered = await self.told.first(lambda numbered: numbered.event.name == name)
        return found


class ALog:
    """Where a log's lines go."""

    def __init__(self) -> None:
        self.told = Told()
        self.text = ""

    def write(self, lines: bytes) -> None:
        self.text += lines.decode()
        for line in lines.decode().splitlines():
            self.told.add(msgspec.json.decode(line))

    async def line(self, event: str) -> Any:
        return await self.told.first(lambda line: line["event"] == event)


def a_draft(id: str, *, body: bytes | None = None, type: str = "echo", **fields: Any) -> Draft:
    content = msgspec.json.encode({"type": type, "input": f"input of {id}"}) if body is None else body
    fields.setdefault("terms", Terms())
    return Draft(id=id, kind=Kind(Needs(type), "default", SourceType.USER), body=content, **fields)


class Scene:
    """A hub at work, spoken to in the words of those around it."""

    def __init__(self, store: Store, hub: Hub, log: ALog) -> None:
        self.store = store
        self.hub = hub
        self.log = log
        self.is_stopped = False
        self._sessions = 0

    @property
    def held(self) -> HeldStore:
        assert isinstance(self.store, HeldStore), "this scene has a store of its own"
        return self.store

    def asked(self, command: Command) -> "asyncio.Task[tuple[Answer, dict[str, StoredTask]]]":
        """Ask, and go on."""
        return asyncio.get_running_loop().create_task(self.hub.ask(command))

    async def ask(self, command: Command) -> Answer:
        async with asyncio.timeout(WAIT_S):
            answer, _ = await self.hub.ask(command)
            return answer

    async def settled(self) -> None:
        """Whatever was asked or told so far is decided, though not committed."""
        for _ in range(TURNS):
            await asyncio.sleep(0)

    async def a_user(self, user_id: str = USER) -> str:
        assert await self.ask(CreateUser(user_id, user_id.removeprefix("u_"), "test", overrides=dict(ROOM))) == Done()
        return user_id

    async def a_key(self, key_id: str, secret: str, *scopes: Scope) -> None:
        digest = hashlib.sha256(secret.encode()).hexdigest()
        assert await self.ask(CreateKey(key_id, USER, "a key", digest, scopes or (Scope.TASKS,), "test")) == Done()

    def submission(self, *, body: bytes | None = None, count: int = 1, **fields: Any) -> SubmitTasks:
        return SubmitTasks(USER, [a_draft(self.hub.mint(), body=body, **fields) for _ in range(count)])

    async def submit(self, **fields: Any) -> str:
        """The id of a new task, acknowledged."""
        answer = await self.ask(self.submission(**fields))
        assert isinstance(answer, Submitted), answer
        return answer.ids[0]

    async def used(self, *keys: str) -> None:
        """Keys that are free again, which only a look at the store can tell."""
        answer = await self.ask(SubmitTasks(USER, [a_draft(self.hub.mint(), key=key) for key in keys]))
        assert isinstance(answer, Submitted), answer
        for task_id in answer.ids:
            await self.cancel(task_id)

    async def cancel(self, task_id: str) -> Answer:
        return await self.ask(CancelTask(USER, task_id, actor="test"))

    def watcher(self, user_id: str | None = None) -> ASubscriber:
        subscriber = ASubscriber(user_id)
        self.hub.subscribe(subscriber)
        return subscriber

    def session(self) -> ASession:
        self._sessions += 1
        session = ASession(self._sessions)
        self.hub.attach(session)
        return session

    def join(
        self, session: ASession | None = None, daemon_id: str = "d_one", *, holds: tuple[Held, ...] = ()
    ) -> ASession:
        """A daemon says hello."""
        session = session or self.session()
        self.hub.tell(JoinDaemon(session.id, USER, daemon_id, "boot", daemon_id, types=("echo",), inventory=holds))
        return session

    async def daemon(self, daemon_id: str = "d_one", *, holds: tuple[Held, ...] = ()) -> ASession:
        """A daemon that has joined and was welcomed."""
        session = self.join(daemon_id=daemon_id, holds=holds)
        await session.message("welcome")
        return session

    async def run(self, session: ASession, task_id: str, daemon_id: str = "d_one") -> int:
        """The daemon takes the task up; the attempt's number."""
        sent = await session.told.first(lambda m: m["type"] == "task.execute" and m["task"]["id"] == task_id)
        attempt: int = sent["attempt"]
        self.hub.tell(AcceptTask(session.id, daemon_id, task_id, attempt))
        self.hub.tell(StartTask(session.id, daemon_id, task_id, attempt))
        return attempt

    def complete(self, session: ASession, task_id: str, attempt: int = 1, daemon_id: str = "d_one") -> None:
        self.hub.tell(CompleteTask(daemon_id, task_id, attempt, session.id, outcome=b'{"result":"done"}'))

    def progress(self, session: ASession, task_id: str, percent: float, log: str | None = None) -> None:
        self.hub.tell(ReportProgress("d_one", task_id, 1, session.id, percent, None, log))

    async def status(self, task_id: str) -> Status | None:
        stored = await self.hub.read(lambda reader: reader.find(user_id=None, task=task_id))
        return None if stored is None else stored.task.status

    async def ready(self) -> None:
        """The hub came back from a failed commit."""
        await self.log.line("store.recovered")
        assert self.hub.ready


async def refused_with(answer: "asyncio.Task[Any]") -> str:
    """With what code a question was turned away."""
    try:
        async with asyncio.timeout(WAIT_S):
            return f"answered: {await answer}"
    except Unavailable as unavailable:
        return str(unavailable.code)


@asynccontextmanager
async def a_scene(
    store: Store | None = None,
    settings: Settings | None = None,
    *,
    with_user: bool = True,
    new_era: bool = False,
    **more: Any,
) -> AsyncIterator[Scene]:
    store, log = store or HeldStore(), ALog()
    hub = Hub(store, settings or without_rates(Settings()), Log(log), secret=SECRET, **more)
    await hub.start(new_era=new_era)
    scene = Scene(store, hub, log)
    try:
        if with_user:
            await scene.a_user()
        yield scene
    finally:
        if isinstance(store, HeldStore):
            store.writes.open()
            store.reads.open()
            store.key_reads.open()
        if not scene.is_stopped:
            await hub.stop()
