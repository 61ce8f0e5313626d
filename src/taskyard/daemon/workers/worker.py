"""`python -m taskyard.daemon.workers.worker SOCKET PIPE`: runs one function after another for its daemon.

Functions are called in the main thread, where they may expect to be. Another thread speaks with the daemon, so that a
cancel arrives and progress leaves while a function computes.
"""

import asyncio
import os
import queue
import socket
import sys
import threading
from collections.abc import Coroutine
from typing import Any, Final, assert_never

import msgspec
from msgspec import Raw

from taskyard.daemon.context import Context
from taskyard.daemon.orders import Key
from taskyard.daemon.prints import capture, logged_to
from taskyard.daemon.python_runner import Outcome, Served, cancelled, ended_with, failed_with, served
from taskyard.daemon.task import UNTELLABLE, Task, TaskCancelled, TaskError, read_task, words_of
from taskyard.daemon.workers.guard import guarded
from taskyard.daemon.workers.messages import (
    Began,
    Begin,
    Cancel,
    Ended,
    FromWorker,
    News,
    Run,
    Saved,
    ToWorker,
    next_message,
    packed,
    read_order,
)
from taskyard.daemon.workers.naming import Here, Place, function_at

UNSENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of news, for a daemon that does not read; more is not worth keeping."""


class Link:
    """The daemon, as seen from here. Its thread ends the process when the daemon is gone."""

    def __init__(self, number: int) -> None:
        self._socket = socket.socket(fileno=number)
        self.runs: queue.SimpleQueue[Run] = queue.SimpleQueue()
        self.loop = asyncio.new_event_loop()
        self.work: Work | None = None
        self._writer: asyncio.StreamWriter

    def start(self) -> None:
        threading.Thread(target=self._live, name="taskyard-link", daemon=True).start()

    def _live(self) -> None:
        self.loop.run_until_complete(self._listen())
        os._exit(0)

    async def _listen(self) -> None:
        reader, self._writer = await asyncio.open_unix_connection(sock=self._socket)
        while (content := await next_message(reader)) is not None:
            order: ToWorker = read_order(content)
            match order:
                case Begin(path, arguments):
                    sys.path[:] = path
                    sys.argv[:] = arguments
                case Run() as run:
                    self.work = Work((msgspec.json.decode(run.execute.task)["id"], run.execute.attempt), self)
                    self.runs.put(run)
                case Cancel():
                    if self.work is not None:
                        self.work.cancel()
                case _:
                    assert_never(order)

    def say(self, word: FromWorker) -> None:
        """From any thread; in the order of calls."""
        self.loop.call_soon_threadsafe(self.write, word)

    def write(self, word: FromWorker) -> None:
        is_news = isinstance(word, News)
        if not is_news or self._writer.transport.get_write_buffer_size() < UNSENT_BYTES_MAX:
            self._writer.write(packed(word))

    # --- what a context says, on the loop of this thread -----------------------------------------------------

    def progressed(self, key: Key, percent: float | None, message: str | None, log: str) -> None:
        self.write(News(percent, message, log))

    def checkpointed(self, key: Key, data: bytes) -> None:
        self.write(Saved(Raw(data)))


class Work:
    """One attempt."""

    def __init__(self, key: Key, link: Link) -> None:
        self.key = key
        self.context = Context(key, link, link.loop)
        self.is_cancelled = False
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[object]] | None = None

    def cancel(self) -> None:
        self.is_cancelled = True
        self.context.cancel()
        if (running := self._running) is not None and not running[0].is_closed():
            running[0].call_soon_threadsafe(running[1].cancel)

    def call(self, function: Served, task: Task) -> object:
        arguments = (task, self.context) if function.takes_context else (task,)
        if not function.is_async:
            return function.function(*arguments)
        return asyncio.run(self._awaited(function.function(*arguments)))

    async def _awaited(self, work: Coroutine[Any, Any, object]) -> object:
        running = asyncio.ensure_future(work)
        self._running = (asyncio.get_running_loop(), running)
        if self.is_cancelled:
            running.cancel()
        return await running


def outcome_of(work: Work, run: Run, link: Link, known: dict[Place, Served]) -> Outcome | None:
    """None: it stopped because it was asked to."""
    try:
        if run.place not in known:
            known[run.place] = served(function_at(run.place))
    except BaseException as error:  # noqa: BLE001 - whatever a module raises
        return failed_with(work.key, TaskError("WORKER_NOT_STARTED", f"its module cannot be imported: {error!r}"))
    try:
        task = read_task(run.execute)
        link.say(Began())
        with logged_to(work.context):
            value = work.call(known[run.place], task)
        return ended_with(work.key, value)
    except (asyncio.CancelledError, TaskCancelled):
        return cancelled(work.key, is_stopping=work.is_cancelled)
    except BaseException as error:  # noqa: BLE001 - whatever the function raises is its outcome, also an interrupt
        return failed_with(work.key, error)


def main() -> None:
    number, pipe = int(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(number, False)
    guarded(pipe)
    Here.is_worker = True
    link = Link(number)
    link.start()
    capture.begin()
    known: dict[Place, Served] = {}
    while True:
        run = link.runs.get()
        work = link.work
        assert work is not None, "it was made before its run was handed over"
        outcome = outcome_of(work, run, link, known)
        link.loop.call_soon_threadsafe(work.context.finish)
        link.say(Ended(_told(work, outcome)))


def _told(work: Work, outcome: Outcome | None) -> Raw:
    """What cannot be said between processes is told to the hub as that, and does not end this one."""
    try:
        return Raw(msgspec.json.encode(outcome))
    except UNTELLABLE as error:
        told = TaskError("INVALID_RESULT", f"the outcome is not JSON: {words_of(error)}", retryable=False)
        return Raw(msgspec.json.encode(failed_with(work.key, told)))


if __name__ == "__main__":
    main()
