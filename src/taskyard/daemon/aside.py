"""A loop of its own for other people's async functions, so that one that blocks it never holds up a heartbeat.

It cannot be helped that such a function holds up the others: they share a loop, as async functions do. But it can be
said, with the line that it stands at; also of a loop that is the daemon's and its caller's at once.
"""

import asyncio
import contextlib
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Final

import uvloop

LOOK_S: Final = 1.0
BLOCKED_S: Final = 5.0
"""How long a loop may stand still before it is said."""

logger = logging.getLogger("taskyard.daemon")


class Post:
    """Calls for a loop from other threads, in their order. Many at once cost one wake-up."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._calls: list[tuple[Callable[..., None], tuple[object, ...]]] = []

    def call(self, tell: Callable[..., None], *arguments: object) -> None:
        with self._lock:
            self._calls.append((tell, arguments))
            if len(self._calls) > 1:
                return
        # A thread may outlive the loop; then nobody is left to be told.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            calls, self._calls = self._calls, []
        for tell, arguments in calls:
            # At once, and not by `call_soon`: what another thread posts after one of these must not overtake it.
            try:
                tell(*arguments)
            except Exception as error:  # noqa: BLE001 - what one of them raises is not the others' business
                self._loop.call_exception_handler({"message": f"{tell!r} failed", "exception": error})


class Watch:
    """Says when a loop stands still, from a thread of its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop, thread_id: int, *, follows: str) -> None:
        """`follows`: what comes of it, as the end of a sentence."""
        self._loop = loop
        self._thread_id = thread_id
        self._follows = follows
        self._turned_at = time.monotonic()
        self._closed = threading.Event()
        threading.Thread(target=self._look_on, name="taskyard-watch", daemon=True).start()

    def close(self) -> None:
        self._closed.set()

    def _look_on(self) -> None:
        is_said = False
        looked_at = self._turned_at
        while not self._closed.wait(LOOK_S):
            now = time.monotonic()
            if now - looked_at > BLOCKED_S:
                self._turned_at = now  # we stood still ourselves: the whole process was stopped
            looked_at = now
            stood_s = now - self._turned_at
            if stood_s < BLOCKED_S:
                is_said = False
            elif not is_said:
                is_said = True
                logger.warning(
                    "an async function has blocked its loop for %.0f s, at %s: let it await, make it a plain function, "
                    "or run it with process=True. Meanwhile %s",
                    stood_s,
                    self._where(),
                    self._follows,
                )
            with contextlib.suppress(RuntimeError):  # it may be closed before we are
                self._loop.call_soon_threadsafe(self._turned)

    def _turned(self) -> None:
        self._turned_at = time.monotonic()

    def _where(self) -> str:
        frame = sys._current_frames().get(self._thread_id)
        stack = traceback.extract_stack(frame) if frame is not None else []
        return f"{stack[-1].filename}:{stack[-1].lineno}" if stack else "a place unknown"


class Aside:
    """Begun when it is first needed."""

    def __init__(self) -> None:
        """Raises `RuntimeError` if this machine has no more threads; nothing is left of it then."""
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self.post = Post(self.loop)
        thread = threading.Thread(target=self._run, name="taskyard-functions", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # there is no other thread to be had, and so nobody to close it
            self.loop.close()
            raise
        assert thread.ident is not None, "it was started"
        try:
            self._watch = Watch(self.loop, thread.ident, follows="no other async function goes on; the daemon does")
        except RuntimeError:
            self.post.call(self.loop.stop)
            raise

    def close(self) -> None:
        """Functions that still run are asked to stop, and nobody waits for them."""
        self._watch.close()
        self.post.call(self.loop.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(self._wind_up())
        finally:
            self.loop.close()

    async def _wind_up(self) -> None:
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
