"""A loop of its own for other people's async functions, so that one that blocks it never holds up a heartbeat.

It cannot be helped that such a function holds up the others: they share a loop, as async functions do. But it can be
said, with the line that it stands at.
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


class Aside:
    """Begun when it is first needed. Made on the daemon's loop, which looks after it."""

    def __init__(self) -> None:
        self._home = asyncio.get_running_loop()
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self.post = Post(self.loop)
        self._thread = threading.Thread(target=self._run, name="taskyard-functions", daemon=True)
        self._thread.start()
        self._alive_at = time.monotonic()
        self._is_said = False
        self._looking = self._home.call_later(LOOK_S, self._look)

    def close(self) -> None:
        """Functions that still run are asked to stop, and nobody waits for them."""
        self._looking.cancel()
        self.post.call(self._end)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(self._wind_up())
        finally:
            self.loop.close()

    def _end(self) -> None:
        self.loop.stop()

    async def _wind_up(self) -> None:
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def _look(self) -> None:
        stood_s = time.monotonic() - self._alive_at
        if stood_s >= BLOCKED_S and not self._is_said:
            self._is_said = True
            logger.warning(
                "an async function has blocked all the others for %.0f s, at %s: let it await, make it a plain "
                "function, or run it with process=True. The daemon itself goes on",
                stood_s,
                self._where(),
            )
        self.post.call(self._is_alive)
        self._looking = self._home.call_later(LOOK_S, self._look)

    def _is_alive(self) -> None:
        self._alive_at = time.monotonic()
        self._is_said = False

    def _where(self) -> str:
        frame = sys._current_frames().get(self._thread.ident or 0)
        stack = traceback.extract_stack(frame) if frame is not None else []
        return f"{stack[-1].filename}:{stack[-1].lineno}" if stack else "a place unknown"
