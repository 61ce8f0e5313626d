"""The door to all processes of a daemon: start one, adopt what still runs, leave.

    processes = Processes(data_dir / "processes")
    for running in await processes.open(): ...   # what an earlier daemon left, running or ended
    running = await processes.launch(Launch(key=("t1", 1), argv=["agent"], env={}, cwd="/tmp"))
    async for chunk in running: ...
    exit = await running.wait()
    running.forget()                             # when its outcome is safe

The keeper is started with the first process, and found again by the next daemon.
"""

import asyncio
import logging
import os
import socket
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Final, Literal

import msgspec

from taskyard.daemon.orders import Key
from taskyard.daemon.process import messages, tree
from taskyard.daemon.process.keeper import READY
from taskyard.daemon.process.launching import Exit, Launch, LaunchFailed, passes
from taskyard.daemon.process.messages import PROTOCOL, Ended, Hello, Lease, Leave, Spawn, Spawned, Stop, Welcome, Wrote
from taskyard.daemon.process.places import AttemptCard, Place, Places
from taskyard.daemon.process.running import Running
from taskyard.daemon.threads import off_loop
from taskyard.files.private import open_private

AWAY_S: Final = 300.0
"""How long work goes on without its daemon, by default: a restart, an update, a crash at night with a supervisor."""
START_S: Final = 20.0
ANSWER_S: Final = 10.0
SWEEP_S: Final = 10.0
SWEEP_EVERY_S: Final = 0.05
READ_BYTES: Final = 256 * 1024
KEEPER_LOST: Final = "the process that keeps this daemon's work was killed"

logger = logging.getLogger("taskyard.daemon")


class Processes:
    def __init__(
        self, directory: Path, *, on_loss: Literal["continue", "kill"] = "continue", away_s: float = AWAY_S
    ) -> None:
        """`on_loss`: what becomes of the work when this daemon dies; if it continues, for how long."""
        self._places = Places(directory)
        self._hello = Hello(PROTOCOL, on_loss, away_s)
        self._running: dict[Key, Running] = {}
        self._starting: dict[Key, asyncio.Future[Spawned]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None
        self._beginning: asyncio.Task[None] | None = None
        """The start of a keeper. Whoever waits for it may be cancelled; it goes on."""
        self._closed = False
        self._keeper_id = ""
        self._lease: Lease | None = None

    async def open(self) -> list[Running]:
        """What an earlier daemon left: still running, or ended and not yet forgotten. Kills what nobody keeps."""
        await asyncio.to_thread(self._places.make)
        held = await self._find_keeper()
        if held is None:
            if (last := self._places.card()) is not None:
                await asyncio.to_thread(sweep, last.keeper_id)
            held = []
        pids = {one.name: one.pid for one in held}
        adopted = []
        for place in self._places.all():
            card, how = place.card(), place.exit()
            if card is None or (how is None and place.path.name not in pids):
                place.remove()  # it died with its keeper, or was never begun
                continue
            running = self._running[card.key] = Running(card.key, place, note=card.note, stop=self._stop)
            running.pid = pids.get(place.path.name, 0)
            if how is not None:
                self._end(card.key, how)
            adopted.append(running)
        if self._writer is not None:
            self._listening = asyncio.create_task(self._listen(self._reader))
        return adopted

    async def launch(self, launch: Launch) -> Running:
        """Returns when its program has begun. Raises `LaunchFailed`."""
        if launch.key in self._running:
            raise LaunchFailed("this attempt runs already")
        name = self._places.name(launch.key)
        argv = launch.sandbox.wrap(launch.argv, workspace=launch.cwd, name=name)
        asked = Spawn(launch.key, name, argv, launch.env, launch.cwd, launch.limits, launch.sandbox.clean(name=name))
        asked.exclusive = launch.exclusive
        place = self._places.place(name)
        try:
            message = messages.packed(asked)
            place.make(AttemptCard(launch.key, launch.note), launch.stdin)
        except (OSError, ValueError) as error:
            if not isinstance(error, FileExistsError):
                place.remove()
            is_short = isinstance(error, OSError) and passes(error)
            raise LaunchFailed(f"cannot prepare it: {error}", passes=is_short) from error
        if len(message) > messages.MESSAGE_BYTES_MAX:
            place.remove()
            raise LaunchFailed("its arguments and environment are too long")
        try:
            return await self._launch(launch, place, message)
        except BaseException:  # also a cancel: nothing stays of what was not begun
            self._running.pop(launch.key, None)
            place.remove()
            raise

    async def _launch(self, launch: Launch, place: Place, message: bytes) -> Running:
        await self._need_keeper()
        writer = self._writer
        if writer is None:
            raise LaunchFailed(KEEPER_LOST, passes=True)
        running = self._running[launch.key] = Running(launch.key, place, note=launch.note, stop=self._stop)
        answer = self._starting[launch.key] = asyncio.get_running_loop().create_future()
        try:
            writer.write(message)
            spawned = await answer
        except asyncio.CancelledError:
            del self._starting[launch.key]
            running.stop(0)
            await running.gone()
            raise
        del self._starting[launch.key]
        if spawned.trouble:
            raise LaunchFailed(spawned.trouble, passes=spawned.passes)
        running.pid = spawned.pid
        return running

    def name(self, key: Key) -> str:
        """Of an attempt, safe for a file."""
        return self._places.name(key)

    def lease_lasts_until(self, until_ms: int) -> None:
        """Exclusive work is gone by then, also if this daemon is not there, or was stopped, unless it is told anew."""
        self._lease = Lease(until_ms)
        self._say(self._lease)

    def leave(self) -> None:
        """Everything that runs is killed, with no more waiting here; its ends are on the disk."""
        self._say(Leave())
        self._hang_up()

    def let_go(self) -> None:
        """The work goes on without this daemon, as when it died; afterwards there is nothing left to close."""
        self._hang_up()
        while self._running:
            self._running.popitem()[1].let_go()

    async def close(self, *, leave_work: bool = False) -> None:
        """Returns when everything is killed and the keeper gone; or the work goes on, as when this daemon died."""
        self._closed = True
        if self._beginning is not None:
            await asyncio.wait([self._beginning])
        listening = self._listening
        if leave_work:
            self._hang_up()
        elif self._writer is not None:
            self._say(Leave())
            if listening is not None:
                await asyncio.wait([listening], timeout=ANSWER_S)
            self._hang_up()
        if listening is not None:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    # --- the keeper ----------------------------------------------------------------------------------------

    async def _find_keeper(self) -> list[messages.Held] | None:
        """What it runs; None if there is none, or one that does not speak as we do, and was told to leave."""
        try:
            await self._connect()
        except OSError:
            return None
        assert self._writer is not None, "just connected"
        try:
            async with asyncio.timeout(ANSWER_S):
                welcome = await self._welcome()
                if welcome.protocol == PROTOCOL:
                    return welcome.running
                logger.warning("another version kept this daemon's work: ending it")
                self._say(Leave())
                while await self._reader.read(READ_BYTES):
                    continue
        except (TimeoutError, OSError, EOFError, ValueError) as error:
            logger.warning("the process that keeps this daemon's work does not answer (%s): killing it", error)
            self._kill_keeper()
        self._hang_up()
        return None

    async def _need_keeper(self) -> None:
        if self._closed:
            raise LaunchFailed("this daemon is leaving", passes=True)
        if self._writer is None and (self._beginning is None or self._beginning.done()):
            self._beginning = asyncio.create_task(self._start_keeper())
            # Its failure is seen, also if nobody waits for it any more.
            self._beginning.add_done_callback(lambda task: None if task.cancelled() else task.exception())
        if self._beginning is not None and not self._beginning.done():
            await asyncio.shield(self._beginning)

    async def _start_keeper(self) -> None:
        try:
            await asyncio.to_thread(_start, self._places)
            await self._connect()
            async with asyncio.timeout(ANSWER_S):
                await self._welcome()
        except (TimeoutError, OSError, EOFError, ValueError, RuntimeError) as error:  # the last: there is no thread
            self._hang_up()
            raise LaunchFailed(f"the process that keeps the work cannot be started: {error}", passes=True) from error
        self._listening = asyncio.create_task(self._listen(self._reader))

    async def _connect(self) -> None:
        address, handle = self._places.socket_address()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(connection, address)
            self._reader, self._writer = await asyncio.open_unix_connection(sock=connection)
        except BaseException:  # also a cancel: nobody else would close it
            connection.close()
            raise
        finally:
            _close(handle)
        self._say(self._hello)
        if self._lease is not None:
            self._say(self._lease)

    async def _welcome(self) -> Welcome:
        heard = bytearray()
        while True:
            for body in messages.unpacked(heard):
                message = messages.from_keeper(body)
                if isinstance(message, Welcome):
                    self._keeper_id = message.keeper_id
                    self._heard = heard
                    return message
            data = await self._reader.read(READ_BYTES)
            if not data:
                raise EOFError("it hung up")
            heard += data

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        """Until the keeper is gone, told to or not."""
        heard = self._heard
        try:
            while True:
                for body in messages.unpacked(heard):
                    self._take(messages.from_keeper(body))
                data = await reader.read(READ_BYTES)
                if not data:
                    break
                heard += data
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            logger.warning("the process that keeps this daemon's work cannot be understood: %s", error)
        await self._lost_keeper()

    def _take(self, message: messages.FromKeeper) -> None:
        match message:
            case Spawned():
                if (answer := self._starting.get(message.key)) is not None and not answer.done():
                    answer.set_result(message)
                if message.trouble:
                    self._end(message.key, Exit(lost=message.trouble))
            case Wrote():
                if (running := self._running.get(message.key)) is not None:
                    running.wrote()
            case Ended():
                self._end(message.key, message.exit)
            case Welcome():
                raise ValueError("a keeper welcomes once")

    async def _lost_keeper(self) -> None:
        """Guards kill their work when their keeper is gone. What they missed is killed here, before it is told."""
        self._hang_up()
        if self._running:
            await off_loop(partial(sweep, self._keeper_id))
        for key, answer in self._starting.items():
            if not answer.done():
                answer.set_result(Spawned(key, 0, KEEPER_LOST, passes=True))
        for key, running in list(self._running.items()):
            self._end(key, running.found() or Exit(lost=KEEPER_LOST))

    def _end(self, key: Key, how: Exit) -> None:
        if (running := self._running.pop(key, None)) is not None:
            running.ended(how)

    def _stop(self, key: Key, grace_ms: int) -> None:
        self._say(Stop(key, grace_ms))

    def _say(self, message: messages.ToKeeper) -> None:
        if self._writer is not None:
            self._writer.write(messages.packed(message))

    def _hang_up(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _kill_keeper(self) -> None:
        if (card := self._places.card()) is not None:
            tree.send(tree.Identity(card.pid, card.started), 9)


def sweep(keeper_id: str) -> None:
    """Kill what a keeper that is gone left behind, and what that starts meanwhile."""
    pause = threading.Event()
    for _ in range(int(SWEEP_S / SWEEP_EVERY_S)):
        if not tree.kill(lambda: tree.marked(keeper_id)):
            return
        pause.wait(SWEEP_EVERY_S)
    logger.error("processes of keeper %s do not die: %s", keeper_id, [one.pid for one in tree.marked(keeper_id)])


def _start(places: Places) -> None:
    """Returns when it can be connected to."""
    command = [sys.executable, "-m", "taskyard.daemon.process.keeper", str(places.directory.resolve())]
    # The work may look at its environment. The daemon's key is not for it.
    env = {name: value for name, value in os.environ.items() if not name.startswith("TASKYARD_")}
    with open(places.log, "wb", opener=open_private) as log:
        keeper = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd="/",
            env=env,
            start_new_session=True,
        )
    assert keeper.stdout is not None, "asked for"
    timer = threading.Timer(START_S, keeper.kill)
    timer.start()
    try:
        with keeper.stdout as stdout:
            ready = stdout.read(len(READY))
    finally:
        timer.cancel()
    # Somebody must wait for it whenever it ends, or the kernel keeps its number for ever.
    threading.Thread(target=keeper.wait, name="taskyard-keeper", daemon=True).start()
    if ready != READY:
        raise OSError(f"it ended at once; {places.log} may say why")


def _close(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)
