"""Runs tasks as Python functions: async ones on a loop, the others each in a thread, or in a process if asked.

Every attempt that was started is told to have ended exactly once: by its result, its error, or its stop.
A thread cannot be killed, so a function that ignores its cancel keeps its slot until it returns; the hub
is not told that something stopped which did not. A process can be, and is, with all it started.
"""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct

from taskyard.daemon.aside import Aside, Post, Watch
from taskyard.daemon.context import Context, News
from taskyard.daemon.orders import Key, Start, Stop
from taskyard.daemon.prints import capture, logged_to
from taskyard.daemon.task import (
    UNTELLABLE,
    NotNow,
    Task,
    TaskCancelled,
    TaskError,
    completed,
    failed,
    read_task,
    words_of,
)
from taskyard.daemon.threads import Threads
from taskyard.daemon.tracebacks import Tracebacks, traceback_of
from taskyard.daemon.workers.naming import Place, place_of
from taskyard.daemon.workers.pool import Pool, Worker
from taskyard.wire.frames import TaskCompleted, TaskFailed, TaskRejected, WireError

ANY_TYPE: Final = "*"

Function: TypeAlias = Callable[..., Any]
Outcome: TypeAlias = TaskCompleted | TaskFailed | TaskRejected


class Work(News, Protocol):
    """Who is told how the work goes. Called on the loop."""

    def started(self, key: Key) -> None: ...

    def when_heard(self, key: Key, then: Callable[[], None]) -> None:
        """Tells that it starts, and calls back once the hub has heard that, or has it stopped before."""

    def ended(self, message: Outcome) -> None: ...

    def stopped(self, key: Key) -> None: ...


class Served(Struct, frozen=True):
    """A task function, and how it wants to be called."""

    function: Function
    is_async: bool
    takes_context: bool
    place: Place | None = None
    """Where a process of its own finds it; None: it runs in this one."""
    may_block: bool = False
    """It is async and not ours: it runs on a loop of its own, unless the daemon's is its author's."""
    begins_later: bool = False
    """What it does has not begun when it is called; it says `context.begun()` when it has."""

    @property
    def prints(self) -> bool:
        """Whether what it prints and logs is its task's. What of ours runs on the loop has other ways to say it."""
        return self.may_block or not self.is_async


def served(function: Function, *, process: bool = False, may_block: bool = False) -> Served:
    """Look at a function once, so that no task has to. Raises `TypeError` for one that cannot be served."""
    takes = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD, parameter.VAR_POSITIONAL)
    ]
    if not takes:
        raise TypeError(f"{function!r} takes no argument; a task function takes the task, and maybe a context")
    call = function if inspect.isfunction(function) else getattr(function, "__call__", function)  # noqa: B004
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
    takes_context = len(takes) > 1 or takes[0].kind is inspect.Parameter.VAR_POSITIONAL
    begins_later = bool(getattr(function, "begins_later", False))
    return Served(function, is_async, takes_context, place_of(function) if process else None, may_block, begins_later)


class _Run(Struct, eq=False):
    """One attempt under way."""

    key: Key
    name: str
    """Its task's ref, for people."""
    context: Context | None = None
    task: asyncio.Task[None] | None = None
    worker: Worker | None = None
    aside: Aside | None = None
    """Where its task is, if not on the daemon's loop."""
    is_told: bool = False
    """Whether the hub has heard, or is about to, that it started."""
    begun: bool = False
    stopping: bool = False


class PythonRunner:
    def __init__(
        self, functions: Mapping[str, Served], work: Work, *, threads: int, idle_max: int = 4, apart: bool = False
    ) -> None:
        """At most so many threads, and as many processes, of which `idle_max` are kept for the next task.

        `apart`: async functions that may block are not on this loop, but on one in a thread of its own.
        """
        self._functions = functions
        self._work = work
        self._loop = asyncio.get_running_loop()
        self._apart = apart
        self._post = Post(self._loop)
        self._aside: Aside | None = None
        self._watch: Watch | None = None
        if not apart and any(function.is_async and function.may_block for function in functions.values()):
            follows = "the hub hears nothing of this daemon and may count its work as lost"
            self._watch = Watch(self._loop, threading.get_ident(), follows=follows)
        self._threads = Threads(threads)
        self.pool = Pool(count=threads, idle_max=idle_max)
        self._runs: dict[Key, _Run] = {}
        self._tracebacks = Tracebacks(self._loop.time)
        self._captures = False
        self._closed = False

    def start(self, start: Start) -> None:
        run = self._runs[start.key] = _Run(start.key, start.key[0])
        try:
            task = start.task or read_task(start.execute)
            run.name = task.ref or run.name
        except (ValueError, RecursionError) as error:
            self._end(run, failed_with(start.key, TaskError("INVALID_INPUT", f"the task cannot be read: {error}")))
            return
        function = self._functions.get(task.type) or self._functions.get(ANY_TYPE)
        if function is None:
            told = TaskError("TYPE_NOT_SERVED", f"this daemon has no function for {task.type!r}")
            self._end(run, failed_with(start.key, told))
            return
        if function.place is not None:
            run.task = self._loop.create_task(self._run_in_process(run, function.place, start))
            return
        if _is_another_try(run) and not function.begins_later:
            run.is_told = True
            self._work.when_heard(run.key, partial(self._begin_told, run, function, task))
        else:
            self._begin(run, function, task)

    def _begin_told(self, run: _Run, function: Served, task: Task) -> None:
        if run.stopping or self._closed:
            self._end(run, None)
        else:
            self._begin(run, function, task)

    async def _have_told(self, run: _Run) -> None:
        """For work in a process: that kills from beside us, and says that it begins when it already has."""
        heard = asyncio.Event()
        run.is_told = True
        self._work.when_heard(run.key, heard.set)
        await heard.wait()

    def _tell_started(self, run: _Run) -> None:
        if not run.is_told:
            run.is_told = True
            self._work.started(run.key)

    def _begin(self, run: _Run, function: Served, task: Task) -> None:
        if function.takes_context or function.prints:
            run.context = Context(run.key, self._work, self._loop)
        if function.prints and not self._captures:
            self._captures = True
            capture.begin()
        try:
            if function.is_async and function.may_block and self._apart:
                self._start_aside(run, function, task)
            elif function.is_async:
                run.task = self._loop.create_task(self._run_async(run, function, task))
            else:
                self._start_in_thread(run, function, task)
        except RuntimeError as error:  # there is no other thread to be had on this machine
            self._end(run, TaskRejected(*run.key, str(error)))

    def stop(self, stop: Stop) -> None:
        """Ask it to stop; after the grace, async work that holds out is asked once more, and a process killed."""
        run = self._runs.get(stop.key)
        if run is None:
            return
        run.stopping = True
        if run.context is not None:
            run.context.cancel()
        if run.aside is not None:
            run.aside.post.call(_cancel, run, stop.grace_ms / 1000)
        else:
            _cancel(run, stop.grace_ms / 1000)
        if run.worker is not None:
            run.worker.cancel(stop.grace_ms)

    def close(self) -> None:
        """The daemon leaves: what still runs is nobody's any more."""
        self._closed = True
        if self._captures:
            self._captures = False
            capture.end()
        self._threads.close()
        self.pool.close()
        if self._aside is not None:
            self._aside.close()
        if self._watch is not None:
            self._watch.close()
        for run in self._runs.values():
            if run.task is not None and run.aside is None:
                run.task.cancel()

    async def _run_async(self, run: _Run, function: Served, task: Task) -> None:
        if run.stopping:
            self._end(run, None)
            return
        run.begun = True
        if function.begins_later:
            assert run.context is not None, "who begins later has to say when"
            run.context.when_begun = partial(self._work.started, run.key)
        elif not run.is_told:
            self._work.started(run.key)
        self._end(run, await _awaited(run, function, task))

    def _start_aside(self, run: _Run, function: Served, task: Task) -> None:
        self._aside = self._aside or Aside()
        run.aside = self._aside
        self._tell_started(run)
        self._aside.post.call(self._create_aside, run, function, task)

    def _create_aside(self, run: _Run, function: Served, task: Task) -> None:
        run.task = asyncio.get_running_loop().create_task(self._run_aside(run, function, task))

    async def _run_aside(self, run: _Run, function: Served, task: Task) -> None:
        if run.stopping:
            self._post.call(self._end, run, None)
            return
        run.begun = True
        self._post.call(self._end, run, await _awaited(run, function, task))

    def _start_in_thread(self, run: _Run, function: Served, task: Task) -> None:
        """Told to have started before its first step: what kills its daemon then was not merely offered to it."""
        if self._threads.take():
            self._tell_started(run)
        self._threads.run(lambda: self._run_in_thread(run, function, task))

    def _run_in_thread(self, run: _Run, function: Served, task: Task) -> None:
        if run.stopping:
            self._post.call(self._end, run, None)
            return
        if not run.is_told:
            self._post.call(self._tell_started, run)
        outcome: Outcome | None
        try:
            with logged_to(run.context):
                takes_context = function.takes_context
                value = function.function(task, run.context) if takes_context else function.function(task)
            outcome = ended_with(run.key, value)
        except (asyncio.CancelledError, TaskCancelled):
            outcome = cancelled(run.key, is_stopping=run.stopping)
        except BaseException as error:  # noqa: BLE001 - whatever the function raises is its outcome, also an interrupt
            outcome = failed_with(run.key, error)
        self._post.call(self._end, run, outcome)

    async def _run_in_process(self, run: _Run, place: Place, start: Start) -> None:
        outcome: Outcome | None = None
        worker: Worker | None = None
        is_broken = False
        try:
            if not run.stopping:
                worker = await self.pool.take()
            if worker is not None and _is_another_try(run) and not run.stopping:
                await self._have_told(run)
            if worker is not None and not run.stopping:
                run.worker = worker
                outcome = await worker.run(place, start.execute, run.key, self._work)
        except TaskError as error:
            outcome = None if run.stopping else failed_with(run.key, error)
        except NotNow as reason:
            outcome = None if run.stopping else TaskRejected(*run.key, str(reason))
        except UNTELLABLE as error:
            is_broken = True
            told = TaskError("INVALID_RESULT", f"what its process said is not JSON: {error}", retryable=False)
            outcome = None if run.stopping else failed_with(run.key, told)
        if worker is not None and (run.stopping or is_broken):
            # Also if it stopped by itself: what it started may not have.
            worker.kill()
            await asyncio.shield(worker.gone)
        elif worker is not None:
            self.pool.give_back(worker)
        self._end(run, outcome)

    def _end(self, run: _Run, outcome: Outcome | None) -> None:
        """None: it stopped because it was asked to."""
        del self._runs[run.key]
        if self._closed:
            return
        if run.context is not None:
            run.context.finish()
        if outcome is None:
            self._work.stopped(run.key)
            return
        if isinstance(outcome, TaskFailed):
            self._tracebacks.tell(run.name, outcome)
        self._work.ended(outcome)


def _is_another_try(run: _Run) -> bool:
    """The last one may have killed its daemon in its first step: so the hub hears of this one first, and can count it.

    Of first tries it does not: short work would feel it.
    """
    return run.key[1] > 1


def _cancel(run: _Run, grace_s: float) -> None:
    """On the loop that its task is on."""
    # A coroutine cancelled before its first step would never run, and so never tell that it stopped.
    if run.task is not None and run.begun:
        run.task.cancel()
        run.task.get_loop().call_later(grace_s, run.task.cancel)


async def _awaited(run: _Run, function: Served, task: Task) -> Outcome | None:
    try:
        with logged_to(run.context if function.prints else None):
            called: Awaitable[object] = (
                function.function(task, run.context) if function.takes_context else function.function(task)
            )
            value = await called
        return ended_with(run.key, value)
    except (asyncio.CancelledError, TaskCancelled):
        return cancelled(run.key, is_stopping=run.stopping)
    except NotNow as reason:
        return None if run.stopping else TaskRejected(*run.key, str(reason))
    except BaseException as error:  # noqa: BLE001 - whatever the function raises is its outcome, also an interrupt
        return failed_with(run.key, error)


def cancelled(key: Key, *, is_stopping: bool) -> Outcome | None:
    """What work is told as that ended by a cancel: None if it was asked to stop."""
    return None if is_stopping else failed_with(key, TaskError("EXECUTION_ERROR", "the work cancelled itself"))


def ended_with(key: Key, value: object) -> Outcome:
    try:
        return completed(key[0], key[1], value)
    except UNTELLABLE as error:
        # Not retried: the function did its work, and would only do it again.
        return failed_with(key, TaskError("INVALID_RESULT", f"the result is not JSON: {error}", retryable=False))


def failed_with(key: Key, error: BaseException) -> TaskFailed:
    if isinstance(error, TaskError):
        return failed(*key, error)
    name, said = type(error).__name__, words_of(error)
    told = f"{name}: {said}" if said not in ("", name) else name
    return TaskFailed(*key, WireError("EXECUTION_ERROR", told, details={"traceback": traceback_of(error)}))
