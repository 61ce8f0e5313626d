"""Joins the machine to the world: a socket, a disk, a clock, and the work.

Nothing is decided here. Every event goes into `protocol.py`, and once per turn of the loop `_flush` carries
out what came of all of them: one batch for the journal, one frame for the hub.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final, Protocol

from websockets.asyncio.client import connect
from websockets.asyncio.server import broadcast
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from taskyard.daemon.clock import now_ms
from taskyard.daemon.framing import read_frame, write_frames
from taskyard.daemon.hub_address import is_local, socket_url
from taskyard.daemon.introduction import Settings
from taskyard.daemon.journal import Journal
from taskyard.daemon.line import Line
from taskyard.daemon.memory import memory_available_mb
from taskyard.daemon.orders import Batch, Key, Orders, Start, Stop
from taskyard.daemon.protocol import Ended
from taskyard.daemon.protocol import Protocol as Machine
from taskyard.daemon.python_runner import Work
from taskyard.daemon.redial import upgrade_refused
from taskyard.daemon.scribe import Scribe
from taskyard.wire import frames
from taskyard.wire.addresses import Turn, each_hub

RECEIVED_BYTES_MAX: Final = 4 * frames.FRAME_BYTES_MAX
# The hub keeps to FRAME_BYTES_MAX. A newer one that does not should not be hung up on for ever.
OUTBOX_BYTES_MAX: Final = 16 * 1024 * 1024
# A hub that does not read this much is not there. Hanging up loses nothing: state is told anew.
TICK_MS_MAX: Final = 250
TICK_MS_MIN: Final = 5
ASLEEP_MS: Final = 5_000
# A tick this late means that the machine slept or the process was stopped: no work of ours holds the loop so long.
OPEN_S: Final = 5.0
# Of a hub that takes connections and says nothing. Short of a lease by far, so that there is time for another.
FAREWELL_S: Final = 2.0

logger = logging.getLogger("taskyard.daemon")


class Runner(Protocol):
    """Runs the work. It tells each attempt's end exactly once, and never before it ended."""

    def start(self, start: Start) -> None: ...

    def stop(self, stop: Stop) -> None: ...

    def close(self) -> None: ...


class Keeper(Protocol):
    """Who keeps something of attempts beyond this process. Called on the loop."""

    def settled(self, key: Key) -> None:
        """Its outcome is on a disk, here or at the hub, or there is none."""

    def lease_lasts_until(self, until_ms: int) -> None:
        """By our clock, which counts sleep: what must not outlive the lease has to be gone by then."""

    def let_go(self) -> None:
        """Something is wrong with this process: the next one takes up what runs."""


class HubRefused(Exception):
    """No later try can succeed; the message says why."""


class Connection(Work):
    """One daemon's life: connects, reconnects, and returns when the machine says it is done."""

    def __init__(self, machine: Machine, journal: Journal, *, hub: str, key: str, keeper: Keeper | None = None) -> None:
        self.machine = machine
        self._keeper = keeper
        self._turn = Turn(each_hub(hub))
        self._headers = {"Authorization": f"Bearer {key}"}
        self._loop = asyncio.get_running_loop()
        self._socket: Line | None = None
        self._outbox: list[bytes] = []
        self._outbox_bytes = 0
        self._sending = False
        """Whether `_send` has messages that nothing may overtake."""
        self._outgoing = asyncio.Event()
        self._hung_up = False
        """Whether this connection ends because we want another one."""
        self._connect_in_ms = 0
        self._dial_now = asyncio.Event()
        self._flushing: asyncio.Handle | None = None
        self._tick_at = 0
        self._left: asyncio.Future[str] = self._loop.create_future()
        self._unheard: dict[Key, Callable[[], None]] = {}
        """What begins when the hub has heard of it, or ends when it is told to stop."""
        self._scribe = Scribe(journal, self)
        self._runner: Runner

    async def serve(self, make_runner: Callable[[Work], Runner]) -> None:
        """Returns when the daemon was asked to leave and has; `HubRefused` if the hub will not have it."""
        self._runner = make_runner(self)
        dialling = self._loop.create_task(self._dial_for_ever())
        dialling.add_done_callback(self._stopped_dialling)
        self._ticking = self._loop.call_soon(self._tick)
        try:
            reason = await self._until_left()
            if reason:
                raise HubRefused(reason)
            await self._say_farewell()
        finally:
            self._ticking.cancel()
            dialling.cancel()
            self._runner.close()
            await asyncio.gather(dialling, return_exceptions=True)
            self._write_what_is_owed()
            await asyncio.to_thread(self._scribe.close)

    async def _until_left(self) -> str:
        try:
            return await self._left
        except Exception:  # whatever is wrong with this process, the next one takes up what runs
            if self._keeper is not None:
                self._keeper.let_go()
            raise

    def drain(self, within_s: float) -> None:
        """Take nothing new, finish within this long, hand back what is left, leave."""
        now = now_ms()
        self.machine.drain(now, deadline_ms=now + int(within_s * 1000))
        self._tick()

    def introduce(self, settings: Settings) -> None:
        """What this daemon is and can do has changed: tell it in a new connection, while the work goes on."""
        if settings != self.machine.settings:
            self.machine.introduce(settings)
            self._hung_up = self._socket is not None
            self._wake()

    # --- once per turn of the loop -------------------------------------------------------------------------

    def _wake(self) -> None:
        if self._flushing is None:
            self._flushing = self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = None
        try:
            if self.machine.wants_beat:
                self.machine.tick(now_ms(), memory_available_mb)
            self._carry_out(self.machine.take())
        except Exception as error:  # noqa: BLE001 - the loop called us, and would go on as if nothing were
            self._fail(error)
        write_at = self.machine.ledger.write_at
        if write_at is not None and write_at < self._tick_at:
            self._tick_in(write_at - now_ms())

    def _carry_out(self, orders: Orders) -> None:
        if orders.batch is not None:
            self._scribe.write(orders.batch, orders.keep)
        for start in orders.start:
            self._runner.start(start)
        for stop in orders.stop:
            self._runner.stop(stop)
            self._begin(stop.key)
        for key in orders.begin:
            self._begin(key)
        if orders.send:
            self._post(orders.send)
        if self._keeper is not None:
            for key in orders.settled:
                self._keeper.settled(key)
            if orders.lease_until is not None:
                self._keeper.lease_lasts_until(orders.lease_until)
        if orders.connect_in_ms is not None:
            self._connect_in_ms = orders.connect_in_ms
        if self._socket is not None and (orders.hang_up or self._outbox_bytes > OUTBOX_BYTES_MAX):
            self._socket.transport.abort()
        if orders.leave is not None and not self._left.done():
            self._left.set_result(orders.leave)

    def _tick(self) -> None:
        """Let the machine see the clock, and plan when to do so again."""
        now = now_ms()
        if now - self._tick_at > ASLEEP_MS and self._tick_at > 0:
            self.machine.woke()
            if self._socket is None:
                self._dial_now.set()
        try:
            self.machine.tick(now, memory_available_mb)
            self._flush()
            due_at = self.machine.due_at
        except Exception as error:  # noqa: BLE001 - a timer has no caller; this one must not just stop
            self._fail(error)
        else:
            self._tick_in(TICK_MS_MAX if due_at is None else due_at - now)

    def _tick_in(self, ms: int) -> None:
        """Instead of when it was planned before."""
        self._ticking.cancel()
        if self._left.done():
            return
        ms = min(max(ms, TICK_MS_MIN), TICK_MS_MAX)
        self._tick_at = now_ms() + ms
        self._ticking = self._loop.call_later(ms / 1000, self._tick)

    def _stopped_dialling(self, dialling: asyncio.Task[None]) -> None:
        if not dialling.cancelled() and (error := dialling.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Something is wrong with this process; a new one knows what it owes from the journal."""
        if not self._left.done():
            self._left.set_exception(error)

    # --- the socket ----------------------------------------------------------------------------------------

    async def _dial_for_ever(self) -> None:
        while True:
            # A sleep would go on after the machine's own: this clock stands still meanwhile.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._dial_now.wait(), self._connect_in_ms / 1000)
            self._dial_now.clear()
            hub = self._turn.hub
            code, reason = await self._dial(socket_url(hub))
            # Whatever ended it, the next one is as good, and may be the one that is still there.
            self._turn.pass_over(hub)
            self.machine.disconnected(close_code=code, reason=reason)
            self._outbox.clear()
            self._outbox_bytes = 0
            self._sending = False
            self._flush()
            if not self._left.done() and not self._hung_up:
                logger.warning("not connected: %s; next try in %.1f s", reason, self._connect_in_ms / 1000)
            self._hung_up = False

    async def _dial(self, url: str) -> tuple[int | None, str]:
        """One connection from beginning to end; answers how it ended."""
        try:
            async with connect(
                url,
                create_connection=Line,
                additional_headers=self._headers,
                compression=None,
                max_size=RECEIVED_BYTES_MAX,
                ping_interval=None,  # heartbeats are the sign of life; a ping proves an open socket
                open_timeout=OPEN_S,
                close_timeout=FAREWELL_S,
                proxy=None if is_local(url) else True,
            ) as socket:
                assert isinstance(socket, Line), "made above"
                return await self._converse(socket)
        except InvalidStatus as refused:
            return upgrade_refused(refused.response.status_code, refused.response.body)
        except (TimeoutError, OSError, WebSocketException) as error:
            # It may quote the header that it is about, and the key is in that.
            said = str(error).replace(self._headers["Authorization"], "Bearer …")
            return None, said or type(error).__name__

    async def _converse(self, socket: Line) -> tuple[int | None, str]:
        self._socket = socket
        self.machine.connected(now_ms())
        self._wake()
        socket.take = self._take
        sending = self._loop.create_task(self._send(socket))
        try:
            while True:
                self._received(await socket.recv(decode=False))
        except ConnectionClosed as closed:
            received = closed.rcvd
            return (received.code, received.reason) if received else (None, "the connection broke")
        finally:
            self._socket = socket.take = None
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    def _take(self, frame: bytes) -> None:
        try:
            self._received(frame)
        except Exception as error:  # noqa: BLE001 - the transport called us, and would go on as if nothing were
            self._fail(error)

    def _received(self, frame: bytes) -> None:
        was_welcome = self.machine.welcomed
        self.machine.received(read_frame(frame), now_ms())
        if not was_welcome and self.machine.welcomed:
            logger.info("connected to %s", self._turn.hub)
        for start in self.machine.take_starts():
            self._runner.start(start)
        # After the first step of what was started: work that ends in it is told by its outcome alone.
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        self._wake()

    def _post(self, messages: list[bytes]) -> None:
        """At once if nothing is ahead of them; else by `_send`, which waits until the hub has read."""
        socket = self._socket
        if socket is not None and not self._sending and socket.transport.get_write_buffer_size() == 0:
            for frame in write_frames(messages):
                broadcast((socket,), frame, text=True)
            return
        self._outbox += messages
        self._outbox_bytes += sum(map(len, messages))
        self._sending = True
        self._outgoing.set()

    async def _send(self, socket: Line) -> None:
        while True:
            await self._outgoing.wait()
            self._outgoing.clear()
            messages, self._outbox = self._outbox, []
            self._outbox_bytes = 0
            for frame in write_frames(messages):
                await socket.send(frame, text=True)
            self._sending = bool(self._outbox)

    async def _say_farewell(self) -> None:
        """Let the last messages leave before the socket closes."""
        socket = self._socket
        if socket is None:
            return
        try:
            async with asyncio.timeout(FAREWELL_S):
                for frame in write_frames(self._outbox):
                    await socket.send(frame, text=True)
                await socket.close()
        except (TimeoutError, ConnectionClosed):
            logger.warning("the hub did not take the last messages; it will learn when the lease ends")

    def _write_what_is_owed(self) -> None:
        """However this ended: whoever leaves in good order has written everything by now."""
        self.machine.ledger.hurry()
        orders = self.machine.take()
        if orders.batch is not None:
            self._scribe.write(orders.batch, orders.keep)

    # --- what the work says, on the loop -------------------------------------------------------------------

    def started(self, key: Key) -> None:
        self.machine.work_started(key, now_ms())
        self._wake()

    def when_heard(self, key: Key, then: Callable[[], None]) -> None:
        self._unheard[key] = then
        self.machine.work_starts(key)
        self._wake()

    def _begin(self, key: Key) -> None:
        if (then := self._unheard.pop(key, None)) is not None:
            then()

    def progressed(self, key: Key, percent: float | None, message: str | None, log: str) -> None:
        self.machine.work_progressed(key, now_ms(), percent=percent, message=message, log=log)
        self._wake()

    def checkpointed(self, key: Key, data: bytes) -> None:
        self.machine.work_checkpointed(key, data)
        self._wake()

    def ended(self, message: Ended) -> None:
        self.machine.work_ended(message, now_ms())
        self._wake()

    def stopped(self, key: Key) -> None:
        self.machine.work_stopped(key, now_ms())
        self._wake()

    # --- what the scribe says, on its thread ---------------------------------------------------------------

    def journal_wrote(self, batches: list[Batch]) -> None:
        if self._keeper is not None:
            written = [(task_id, attempt) for batch in batches for task_id, attempt, _ in batch.ended]
            self._loop.call_soon_threadsafe(self._are_written, written)

    def journal_full(self, reason: str) -> None:
        self._loop.call_soon_threadsafe(self._is_full, reason)

    def journal_has_room(self) -> None:
        self._loop.call_soon_threadsafe(self._has_room)

    def journal_failed(self, error: Exception) -> None:
        # After a failed fsync nobody knows what the disk holds; a new process reads it and does.
        self._loop.call_soon_threadsafe(self._fail, error)

    def _are_written(self, keys: list[Key]) -> None:
        if self._keeper is not None:
            for key in keys:
                self._keeper.settled(key)

    def _is_full(self, reason: str) -> None:
        if self.machine.trouble is None:
            logger.error("the journal cannot be written (%s): taking no new work", reason)
        self.machine.trouble = f"journal: {reason}"

    def _has_room(self) -> None:
        self.machine.trouble = None
