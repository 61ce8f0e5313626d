"""The daemon as a program sees it: register functions, then run.

daemon = Daemon("http://localhost:8080", key)

@daemon.task("analysis")
def analyse(task, context):
    context.progress(50, "half way")
    return {"answer": 42}

daemon.run()
"""

import asyncio
import contextlib
import os
import random
import signal
import socket
import termios
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import uvloop

from taskyard.daemon.adoption import Adoption
from taskyard.daemon.builtin import BUILTIN
from taskyard.daemon.command.agent import CommandAgent
from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.command.secrets import OWN_KEY
from taskyard.daemon.connection import Connection, logger
from taskyard.daemon.departure import LINGER_MS, STOP_GRACE_MS
from taskyard.daemon.introduction import Settings
from taskyard.daemon.journal import Journal, JournalFull, JournalLocked
from taskyard.daemon.memory import memory_mb
from taskyard.daemon.narration import NarratedConnection
from taskyard.daemon.orders import Batch
from taskyard.daemon.process.processes import AWAY_S, Processes
from taskyard.daemon.protocol import Protocol
from taskyard.daemon.python_runner import ANY_TYPE, PythonRunner, Served, served
from taskyard.daemon.workers.naming import Here
from taskyard.vocabulary import OnLoss
from taskyard.wire.addresses import each_hub

if TYPE_CHECKING:
    from taskyard.daemon.openai.agent import OpenAIAgent  # its HTTP client takes a while to load, and few need it

DRAIN_S: Final = 25.0
# Orchestrators kill 30 s after they ask; this leaves time to hand back what is not finished by then.
PLACE_SPARE_S: Final = STOP_GRACE_MS / 1000 + LINGER_MS / 1000 + 5.0
"""How much longer than `drain_s` a daemon may take to leave, with a little to spare."""
LOOK_S: Final = 0.1
PIPE_BYTES: Final = 4096
TERMINAL: Final = 2
"""Standard error: where a daemon in a terminal says what it does."""
NESTED_MAX: Final = 16
# A task may wait for a sub-task beside it, which may wait for another; each blocks a thread, made when needed.

F = TypeVar("F", bound=Callable[..., Any])


class Daemon:
    """One worker process's connection to a hub.

    Without `hub` and `key`, `TASKYARD_HUB` and `TASKYARD_KEY` are used. Several hubs of one yard stand with commas
    between them; when one is lost, the next is tried. `types` limits what the hub sends; without it, the registered
    types are served, or all if a function is registered for `"*"`. Two daemons may not share a `data_dir`, which by
    default follows from the name. `on_loss` says what becomes of work when the hub is away longer than a lease, and of
    programs when this process dies: with `"continue"` they go on for `away_s`, and the next daemon takes them up.
    With `ephemeral`, the hub forgets this daemon when it has left or its lease has ended.
    With `narrates`, what begins and ends is logged by name: for a daemon that somebody watches.
    """

    def __init__(
        self,
        hub: str | None = None,
        key: str | None = None,
        *,
        name: str | None = None,
        slots: int = 5,
        capabilities: Iterable[str] = (),
        models: Iterable[str] = (),
        types: Iterable[str] | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        shared: bool = False,
        ephemeral: bool = False,
        on_loss: OnLoss | str = OnLoss.CONTINUE,
        away_s: float = AWAY_S,
        narrates: bool = False,
    ) -> None:
        self.hub = hub or os.environ.get("TASKYARD_HUB", "")
        self._key = key or os.environ.get("TASKYARD_KEY", "")
        if not each_hub(self.hub) or not self._key:
            raise ValueError("a daemon needs a hub and a key: pass them, or set TASKYARD_HUB and TASKYARD_KEY")
        if slots < 1:
            raise ValueError("a daemon needs at least one slot")
        self.name = name or socket.gethostname()
        self.slots = slots
        self.capabilities = tuple(capabilities)
        self.models = tuple(models)
        self.types = None if types is None else tuple(types)
        self.shared = shared
        self.ephemeral = ephemeral
        self.on_loss = OnLoss(on_loss)
        self.away_s = away_s
        self.narrates = narrates
        self.data_dir = Path(data_dir) if data_dir is not None else _default_directory(self.name)
        self._functions: dict[str, Served] = {}
        self._programs: dict[str, CommandAgent] = {}
        self._connection: Connection | None = None
        self._adoption: Adoption | None = None
        self._leave_within_s: float | None = None
        self._place_within_s = 0.0
        """How long to wait for a directory that another process has."""
        self._boot_id = ""
        self._gone = asyncio.Event()
        self._changing = asyncio.Lock()
        self._owns_loop = False
        """Whether nobody but this daemon has anything on its loop."""

    def task(self, type: str, *, process: bool = False) -> Callable[[F], F]:
        """Serve tasks of this type with the decorated function; `"*"` serves all that have no other.

        With `process`, it runs in a process of its own, which is killed with all it started when the function does not
        stop in time, and whose crash is a failed attempt and not the daemon's end. It must be a function of a module;
        the module is imported there once more, with another name than `__main__`.
        """

        def register(function: F) -> F:
            self._register(type, served(function, process=process, may_block=True))
            return function

        return register

    def _register(self, type: str, function: Served) -> None:
        if type in self._functions:
            raise ValueError(f"two functions for tasks of type {type!r}")
        self._functions[type] = function

    def use_program(self, agent: Agent) -> None:
        """Serve the agent's types with its program; if it names none, all that have no function."""
        # Wherever the key came from: a program may find it there too, and must not tell it.
        own = {**os.environ, OWN_KEY: self._key}
        program = CommandAgent(agent, hub=self.hub, directory=self.data_dir / "workspaces", own=own)
        for type_ in agent.types or (ANY_TYPE,):
            self._register(type_, served(program))
            self._programs[type_] = program
        self.models = tuple(dict.fromkeys((*self.models, *agent.model_names)))

    def use_model(self, agent: "OpenAIAgent") -> None:
        """Serve its endpoint's types with a model; if it names none, all that have no function."""
        for type_ in agent.endpoint.types or (ANY_TYPE,):
            self._register(type_, served(agent))
        self.models = tuple(dict.fromkeys((*self.models, *agent.endpoint.model_names)))

    def use_builtin(self) -> None:
        """Serve `echo` and `demo` too."""
        self._functions = {**BUILTIN, **self._functions}

    def run(
        self,
        *,
        drain_s: float = DRAIN_S,
        anew: "Callable[[], Daemon] | None" = None,
        leaves_with: int | None = None,
    ) -> None:
        """Serve until SIGTERM or SIGINT, then finish within `drain_s` and leave; a second one: at once.

        On SIGHUP it becomes what `anew` makes, called on another thread, while what it runs goes on; a `ValueError`
        leaves it as it is. With `leaves_with` it serves until that pipe ends, too, since whoever held the other end is
        gone; and it waits for its directory, which one that leaves for the same reason may still have.

        Async functions get a loop of their own: one that blocks it holds up the others, but not the daemon.
        """
        uvloop.run(self._serve_until_signal(drain_s, anew, leaves_with))

    async def serve(self) -> None:
        """Serve until `stop`, on the caller's loop: async functions run there too, beside what else is on it.

        Raises `HubRefused` if the hub will not have this daemon, `JournalLocked` if its directory is in use.
        """
        if Here.is_worker:
            return  # our program was imported for one of its functions
        if not self._functions:
            raise ValueError("no task functions: register one with @daemon.task(type)")
        with contextlib.closing(await self._open_journal()) as journal:
            if journal.damage is not None:
                logger.error("%s", journal.damage)
            for exposure in journal.exposures:
                logger.warning("%s", exposure.sentence)
            _be_somebody(journal)
            await self._serve(journal)

    async def _open_journal(self) -> Journal:
        looks = range(round(self._place_within_s / LOOK_S))
        for _ in looks:
            if self._leave_within_s is not None:
                break
            with contextlib.suppress(JournalLocked):
                return Journal(self.data_dir)
            await asyncio.sleep(LOOK_S)
        return Journal(self.data_dir)

    async def _serve(self, journal: Journal) -> None:
        # A simple seed is enough: the dice only spread reconnects, and the boot id is random in any case.
        self._boot_id = uuid.uuid4().hex
        machine = Protocol(self._settings(), rng=random.Random(), memory=journal.memory)
        self._gone.clear()
        try:
            async with self._adopting(machine) as adoption:
                kind = NarratedConnection if self.narrates else Connection
                connection = kind(machine, journal, hub=self.hub, key=self._key, keeper=adoption)
                self._connection = connection
                if self._leave_within_s is not None:
                    asyncio.get_running_loop().call_soon(connection.drain, self._leave_within_s)
                threads = self.slots * NESTED_MAX
                await connection.serve(
                    lambda work: PythonRunner(
                        self._functions, work, threads=threads, idle_max=self.slots, apart=self._owns_loop
                    )
                )
        finally:
            self._connection = None
            self._gone.set()

    @contextlib.asynccontextmanager
    async def _adopting(self, machine: Protocol) -> AsyncIterator[Adoption | None]:
        """What programs run in, for as long as this daemon serves; with what still runs of earlier ones."""
        if not self._programs:
            yield None
            return
        processes = Processes(self.data_dir / "processes", on_loss=self.on_loss.value, away_s=self.away_s)
        adoption = self._adoption = Adoption(processes, self._programs)
        await adoption.begin(machine)
        try:
            yield adoption
        finally:
            self._adoption = None
            await adoption.close()

    async def stop(self, *, drain_s: float = 0.0) -> None:
        """Finish within `drain_s`, hand back what is left, leave. Returns when `serve` has ended."""
        if self._connection is not None:
            self._connection.drain(drain_s)
            await self._gone.wait()

    def become(self, other: "Daemon") -> None:
        """Serve from now on what the other would, and say so to the hub; name, hub and directory stay.

        What runs is finished as it was begun. On the loop of `serve`.
        """
        if other._programs and self._adoption is None and self._connection is not None:
            raise ValueError("it had no program to run before: start it again")
        self.slots, self.capabilities, self.models = other.slots, other.capabilities, other.models
        self.types = other.types
        # In place: whoever runs the work looks them up here.
        self._functions.clear()
        self._functions.update(other._functions)
        self._programs.clear()
        self._programs.update(other._programs)
        if self._adoption is not None:
            self._adoption.admit()
        if self._connection is not None:
            self._connection.introduce(self._settings())

    async def _serve_until_signal(
        self, drain_s: float, anew: "Callable[[], Daemon] | None", leaves_with: int | None
    ) -> None:
        loop = asyncio.get_running_loop()
        self._owns_loop = True
        asked_to_leave = partial(self._asked_to_leave, iter((drain_s,)))
        changes: set[asyncio.Task[None]] = set()
        had_terminal = os.isatty(TERMINAL)

        def asked_to_change() -> None:
            if anew is None or _has_hung_up(had_terminal):
                asked_to_leave()
                return
            change = loop.create_task(self._change(anew))
            changes.add(change)
            change.add_done_callback(changes.discard)

        def hear_of_the_other_end(pipe: int) -> None:
            if not os.read(pipe, PIPE_BYTES):
                loop.remove_reader(pipe)
                logger.warning("whoever started this daemon is gone")
                asked_to_leave()

        if leaves_with is not None:
            self._place_within_s = drain_s + PLACE_SPARE_S
            loop.add_reader(leaves_with, hear_of_the_other_end, leaves_with)
        loop.add_signal_handler(signal.SIGHUP, asked_to_change)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, asked_to_leave)
        try:
            await self.serve()
        finally:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.remove_signal_handler(number)

    def _asked_to_leave(self, patience: Iterator[float]) -> None:
        """Whoever asks again has no patience left."""
        within_s = next(patience, 0.0)
        logger.info("asked to leave: finishing within %g s", within_s)
        self._leave_within_s = within_s
        if self._connection is not None:
            self._connection.drain(within_s)

    async def _change(self, anew: "Callable[[], Daemon]") -> None:
        """One after the other. On a thread: what it reads takes its time, and what it asks wants a loop of its own."""
        async with self._changing:
            try:
                self.become(await asyncio.to_thread(anew))
            except ValueError as error:
                logger.error("not changed: %s", error)
            else:
                logger.info("read anew: %d slots, %s", self.slots, ", ".join(self.capabilities) or "no capabilities")

    def _settings(self) -> Settings:
        types = self.types
        if types is None:
            types = () if ANY_TYPE in self._functions else tuple(sorted(self._functions))
        return Settings(
            name=self.name,
            boot_id=self._boot_id,
            slots=self.slots,
            shared=self.shared,
            ephemeral=self.ephemeral,
            capabilities=self.capabilities,
            models=self.models,
            types=types,
            memory_mb=memory_mb(),
            version=_version(),
            on_loss=self.on_loss,
        )


def _be_somebody(journal: Journal) -> None:
    """Its id is on disk before the first hello. What a hub gives with its welcome would come too late: a first task may
    kill this process before that is written, and the next one would be a stranger, whose coming says of no death."""
    if journal.memory.daemon_id is None:
        with contextlib.suppress(JournalFull):  # then as the hub calls it; work is refused meanwhile
            journal.write([Batch(daemon_id=f"d_{uuid.uuid4()}")])


def _default_directory(name: str) -> Path:
    """Where the command line would keep this daemon's journal too: results wait there for whichever starts next."""
    data, share = os.environ.get("TASKYARD_DATA"), os.environ.get("XDG_DATA_HOME")
    home = Path(share) if share else Path.home() / ".local" / "share"
    root = Path(data).expanduser() if data else home / "taskyard"
    return root / "daemons" / name.replace(os.sep, "_")


def _has_hung_up(had_terminal: bool) -> bool:
    """Whether SIGHUP came because the terminal was closed: the same signal asks services to read their files anew."""
    if not had_terminal:
        return False
    try:
        termios.tcgetattr(TERMINAL)
    except (OSError, termios.error):
        return True
    return False


def _version() -> str:
    try:
        return version("taskyard")
    except PackageNotFoundError:
        return ""
