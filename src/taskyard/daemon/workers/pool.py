"""The daemon's worker processes: made when needed, used again, killed with all they started.

pool = Pool(count=80, idle_max=5)
worker = await pool.take()
outcome = await worker.run(place, execute, key, news)   # None: it stopped
pool.give_back(worker)                                  # or worker.kill()
"""

import asyncio
import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import Final, Protocol, TypeAlias, assert_never

import msgspec

from taskyard.daemon.context import News
from taskyard.daemon.orders import Key
from taskyard.daemon.process import tree
from taskyard.daemon.process.launching import passes
from taskyard.daemon.task import NotNow, TaskError
from taskyard.daemon.workers.guard import KILLED
from taskyard.daemon.workers.messages import (
    Began,
    Begin,
    Cancel,
    Ended,
    FromWorker,
    Run,
    Saved,
    ToWorker,
    next_message,
    packed,
    read_word,
)
from taskyard.daemon.workers.messages import News as Told
from taskyard.daemon.workers.naming import Place
from taskyard.wire.frames import TaskCompleted, TaskExecute, TaskFailed

Outcome: TypeAlias = TaskCompleted | TaskFailed | None

_outcome: Final[msgspec.json.Decoder[Outcome]] = msgspec.json.Decoder(TaskCompleted | TaskFailed | None)


class Hearer(News, Protocol):
    """Who is told how the work goes. Called on the loop."""

    def started(self, key: Key) -> None: ...


class Worker:
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ours, theirs = socket.socketpair()
        pipe, self._pipe = os.pipe()
        command = [sys.executable, "-m", "taskyard.daemon.workers.worker", str(theirs.fileno()), str(pipe)]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(), pipe), start_new_session=True
            )
        except BaseException:  # whatever kept it from starting, these ends are nobody's
            self._ours.close()
            os.close(self._pipe)
            raise
        finally:
            theirs.close()
            os.close(pipe)
        self.gone: asyncio.Future[int] = self._loop.create_future()
        """Its exit code, once nothing of it is alive."""
        self._is_killed = False
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.StreamReader
        try:
            threading.Thread(target=self._wait, name=f"taskyard-worker-{self.pid}", daemon=True).start()
        except RuntimeError as error:  # there is no other thread to be had
            self.kill()
            self._ours.close()
            self._process.kill()
            self._process.wait()
            raise OSError(errno.EAGAIN, str(error)) from error

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alone(self) -> bool:
        """Whether the guard has nobody but the worker itself."""
        return len(tree.descendants(self.pid)) <= 1

    async def begin(self) -> None:
        self._reader, self._writer = await asyncio.open_unix_connection(sock=self._ours)
        self._say(Begin([os.path.abspath(entry) for entry in sys.path], sys.argv))

    async def run(self, place: Place, execute: TaskExecute, key: Key, hearer: Hearer) -> Outcome:
        """How it ended; None: by itself after a cancel. Raises `TaskError` if the process ended under it."""
        self._say(Run(place, execute))
        while (content := await next_message(self._reader)) is not None:
            word: FromWorker = read_word(content)
            match word:
                case Began():
                    hearer.started(key)
                case Told(percent, message, log):
                    hearer.progressed(key, percent, message, log)
                case Saved(data):
                    hearer.checkpointed(key, bytes(data))
                case Ended(outcome):
                    return _outcome.decode(outcome)
                case _:
                    assert_never(word)
        self.kill()
        code = await asyncio.shield(self.gone)
        raise TaskError("WORKER_DIED", f"the process that ran it {_told(code)}")

    def cancel(self, grace_ms: int) -> None:
        """Ask, and after the grace, kill."""
        self._say(Cancel())
        self._loop.call_later(grace_ms / 1000, self.kill)

    def kill(self) -> None:
        """With all it started; `gone` says when that is done."""
        if not self._is_killed:
            self._is_killed = True
            os.close(self._pipe)

    def _say(self, message: ToWorker) -> None:
        assert self._writer is not None, "it was begun"
        if not self._writer.is_closing():
            self._writer.write(packed(message))

    def _wait(self) -> None:
        """In a thread of its own: no loop has the same way to wait for a process on every machine."""
        code = self._process.wait()
        with contextlib.suppress(RuntimeError):  # a process may outlive the loop
            self._loop.call_soon_threadsafe(self._went, code)

    def _went(self, code: int) -> None:
        self.kill()
        if self._writer is not None:
            self._writer.close()
        else:
            self._ours.close()
        if not self.gone.done():
            self.gone.set_result(code)


class Pool:
    def __init__(self, *, count: int, idle_max: int) -> None:
        """At most `count` processes at a time, of which `idle_max` are kept while nothing runs in them."""
        self._count = count
        self._idle_max = idle_max
        self._idle: list[Worker] = []
        self.workers: set[Worker] = set()

    async def take(self) -> Worker:
        """One that is idle, else a new one. Raises `TaskError`, or `NotNow` if the machine has run out of something."""
        while self._idle:
            worker = self._idle.pop()
            if not worker.gone.done():
                return worker
        if len(self.workers) >= self._count:
            raise TaskError("WORKER_NOT_STARTED", f"there are {self._count} processes already")
        try:
            worker = Worker()
        except OSError as error:
            told = f"no process could be started: {error}"
            raise (NotNow(told) if passes(error) else TaskError("WORKER_NOT_STARTED", told)) from error
        self.workers.add(worker)
        worker.gone.add_done_callback(lambda _: self.workers.discard(worker))
        await worker.begin()
        return worker

    def give_back(self, worker: Worker) -> None:
        """It is kept for the next task, unless the last one left something running in it."""
        if len(self._idle) < self._idle_max and not worker.gone.done() and worker.is_alone:
            self._idle.append(worker)
        else:
            worker.kill()

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()


def _told(code: int) -> str:
    number = -code if code < 0 else code - KILLED
    try:
        return f"was ended by {signal.Signals(number).name}"
    except ValueError:
        return f"exited with {code}"
