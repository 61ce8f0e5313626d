"""The daemon's side of the protocol, as a machine without I/O.

Everything that happens comes in as a call: a connection opened or closed, a message arrived, work began or
ended, time passed. Everything that should happen then comes out of `take()`. The machine reads no clock and
rolls no dice of its own, so the simulator drives the very rules that the real daemon runs. After any call,
`take()` and carry out; `due_at` says when to call `tick`.

What it promises:

1. An outcome is told at once, kept until the hub acknowledges it, and told again after every welcome. What the
   hub does not acknowledge soon, or cannot be told, is on disk: `ledger.py`. A crash before that, while the
   hub has not got the message either, costs the work one more run. Acceptance is not written down: a process
   that dies is known by its new `boot_id`, and what it ran by a list without it.
2. An attempt starts once. A repeated `task.execute` is answered with the attempt's present state.
3. Of what changes between two `take()` the hub hears the newest: work that ends at once is told by its outcome
   alone.
4. What the hub misses while it has not welcomed us is not queued: state is told anew. `hello` lists every
   attempt, and after the welcome each one says what changed since.
5. Nothing is called stopped before it has stopped. Work that ends well although it was to be stopped is
   told as the result it is; the hub decides what it is worth.
"""

from collections.abc import Callable, Iterable
from random import Random
from typing import Final, TypeAlias, assert_never

from taskyard.daemon import slots, stopping
from taskyard.daemon.attempt import Attempt, Ending, offered
from taskyard.daemon.departure import Departure
from taskyard.daemon.introduction import Settings, heartbeat, hello, objection_to
from taskyard.daemon.lease import Lease
from taskyard.daemon.ledger import Ledger
from taskyard.daemon.orders import Key, Memory, Orders, Start
from taskyard.daemon.outcome import cut_text, pack
from taskyard.daemon.redial import CLOSE_CODES, DELAY_MS_MAX, Redial
from taskyard.daemon.telling import Telling
from taskyard.vocabulary import InventoryState, InventoryVerdict, OnLoss
from taskyard.wire import frames
from taskyard.wire.frames import TaskCompleted, TaskFailed, TaskRejected, ToDaemon

Ended: TypeAlias = TaskCompleted | TaskFailed | TaskRejected

_encode: Final = frames.encode


class Protocol:
    def __init__(self, settings: Settings, *, rng: Random, memory: Memory | None = None) -> None:
        self.settings = settings
        self.ledger = Ledger(memory or Memory())
        self.live: dict[Key, Attempt] = {}
        """Accepted or running: what occupies a slot."""
        self.trouble: str | None = None
        """Why no new work is taken, other than draining; set by a shell whose journal cannot write."""
        self._telling = Telling()
        self._lease = Lease()
        self._redial = Redial(rng)
        self._departure: Departure | None = None
        self._error: frames.Error | None = None
        self._orders = Orders()

    @property
    def welcomed(self) -> bool:
        return self._telling.welcomed

    def take(self) -> Orders:
        """What to do now. Each order is handed out once."""
        orders, self._orders = self._orders, Orders()
        orders.send = self._telling.take(self.live)
        if orders.leave is not None:
            self.ledger.hurry()
        orders.batch = self.ledger.take()
        orders.settled = self.ledger.take_settled()
        orders.lease_until = self._lease.take_new_end()
        return orders

    def take_starts(self) -> list[Start]:
        """The work to start, ahead of the rest: what ends at once is then told by its outcome alone."""
        starts, self._orders.start = self._orders.start, []
        return starts

    def adopt(self, start: Start) -> bool:
        """Work that an earlier process left running, or whose end it did not tell: to be called before `connected`.

        False: its outcome is known already, or nobody can say what it is.
        """
        offer = offered(start.execute)
        if offer is None or start.key in self.live or start.key in self.ledger.ended:
            return False
        attempt, start.task = offer
        attempt.state = InventoryState.RUNNING
        self.live[attempt.key] = attempt
        self._orders.start.append(start)
        return True

    # --- the connection ------------------------------------------------------------------------------------

    def woke(self) -> None:
        """The machine slept, or this process was stopped: whatever waits for a later try is tried now."""
        self._redial.hurry()

    def introduce(self, settings: Settings) -> None:
        """The daemon is another one from now on: it says so in a new `hello`, and what it runs goes on."""
        self.settings = settings
        self._redial.hurry()
        self._orders.hang_up = True

    def connected(self, now_ms: int) -> None:
        self._error = None
        self._lease.said_hello(now_ms)
        for attempt in self.live.values():
            attempt.told = attempt.state
        self._telling.send(hello(self.settings, self.ledger, self.live))

    def disconnected(self, *, close_code: int | None = None, reason: str = "") -> None:
        """The connection ended, or could not be made. What was not sent is told anew after a welcome."""
        if self._error is not None:
            close_code = CLOSE_CODES.get(self._error.code.lower(), close_code)
            reason = self._error.message
        final = self._redial.refusal(close_code, reason)
        self._fall_silent()
        if final is not None:
            self._orders.leave = final
        else:
            within_ms = self._lease.redial_ms if self.live or self.ledger.ended else DELAY_MS_MAX
            self._orders.connect_in_ms = self._redial.delay_ms(close_code, within_ms=within_ms)

    def _fall_silent(self) -> None:
        """What was said last may not have arrived. Until a welcome there is nothing but `hello`, and no heartbeat."""
        self._telling.fall_silent()
        self._lease.fell_silent()
        self.ledger.hurry()

    # --- what the hub says ---------------------------------------------------------------------------------

    def received(self, messages: Iterable[ToDaemon], now_ms: int) -> None:
        """The messages of one frame."""
        self._error = None  # only the last thing a hub says can be why it then hangs up
        forgot, telling = False, self._telling
        for message in messages:
            if self._orders.hang_up:
                break
            if not telling.welcomed and not isinstance(message, frames.Welcome | frames.Rejoin | frames.Error):
                continue
            match message:
                case frames.TaskExecute():
                    self._execute(message, now_ms)
                case frames.Ack():
                    if self.ledger.heard(message, now_ms):
                        forgot = self.ledger.forget((message.task_id, message.attempt), now_ms) or forgot
                case frames.CancelTask():
                    self._cancel(message)
                case frames.HeartbeatAck():
                    if self.ledger.heard(message, now_ms):
                        self._begin(self._lease.answered(now_ms), now_ms)
                case frames.Welcome():
                    self._welcome(message, now_ms)
                case frames.Rejoin():  # another hub leads now, and knows nothing of this connection
                    self._fall_silent()
                    self.connected(now_ms)
                case frames.Error():
                    self._error = message
                case frames.SlowDown() | frames.Backpressure():
                    pass  # for those who submit; the hub itself holds back what it sends to us
                case _:
                    assert_never(message)
        if forgot:
            self._tell_owed()
            if self._departure is not None:
                self._left_work(now_ms)

    def _welcome(self, message: frames.Welcome, now_ms: int) -> None:
        if (objection := objection_to(message, self.ledger)) is not None:
            self._orders.leave = objection
            return
        if not self.ledger.heard(message, now_ms):
            self._orders.hang_up = True  # a deposed leader that does not know it yet
            return
        self._telling.welcomed = True
        self._redial.welcomed()
        self._lease.welcomed(heartbeat_s=message.heartbeat_s, lease_s=message.lease_s, now_ms=now_ms)
        self.ledger.is_daemon(message.daemon_id)
        for judgement in message.inventory:
            self._judge((judgement.task_id, judgement.attempt), judgement.verdict, now_ms)
        self._tell_anew()

    def _judge(self, key: Key, verdict: InventoryVerdict, now_ms: int) -> None:
        match verdict:
            case InventoryVerdict.CONTINUE | InventoryVerdict.SEND_RESULT:
                pass  # what ended is told below, asked for or not: it may have ended since `hello`
            case InventoryVerdict.ABORT | InventoryVerdict.FORGET:
                if (attempt := self.live.get(key)) is not None:
                    self._orders.stop.append(stopping.abort(attempt))
                elif verdict is InventoryVerdict.FORGET and self.ledger.forget(key, now_ms):
                    self._left_work(now_ms)
            case _:
                assert_never(verdict)

    def _tell_anew(self) -> None:
        """What `hello` could not say, or what changed since."""
        if self.draining:
            self._telling.tell(frames.Drain())
        for attempt in self.live.values():
            if attempt.told is not attempt.state:
                self._telling.tell_state(attempt)
            self._telling.tell_checkpoint(attempt)
        self.ledger.tell_all_anew()
        self._tell_owed()

    def _tell_owed(self) -> None:
        for key in self.ledger.untold():
            self._telling.tell_outcome(self.ledger.ended[key])

    def _execute(self, message: frames.TaskExecute, now_ms: int) -> None:
        if (offer := offered(message)) is None:
            return
        attempt, task = offer
        key = attempt.key
        if (known := self.live.get(key)) is not None:
            self._telling.tell_state(known)
            return
        if (outcome := self.ledger.ended.get(key)) is not None:
            self._telling.tell_outcome(outcome)
            return
        if (objection := self._objection(attempt, now_ms)) is not None:
            self._telling.tell(frames.TaskRejected(*key, objection))
            return
        self.live[key] = attempt
        self._orders.start.append(Start(key, message, task))
        self._telling.tell_state(attempt)

    def _objection(self, attempt: Attempt, now_ms: int) -> str | None:
        """Why this daemon cannot take another attempt now."""
        if self._lease.is_fenced(now_ms):
            return "lease ran out"  # this process was stopped; by now the hub has given the task to another
        if self._departure is not None:
            return "draining"
        if self.trouble is not None:
            return self.trouble
        if not slots.has_room(self.live, self.settings.slots, attempt):
            return "slots full"
        if self.ledger.ended_bytes >= self.settings.spool_bytes_max:
            return "spool full"
        if attempt.key[1] > 1 and (stops := stopping.abort_older(self.live, attempt.key)):
            self._orders.stop += stops
            return "an older attempt is still stopping" if attempt.exclusive else None
        return None

    def _cancel(self, message: frames.CancelTask) -> None:
        key = (message.task_id, message.attempt)
        if (attempt := self.live.get(key)) is not None:
            self._orders.stop.append(stopping.cancel(attempt, message))
        elif key not in self.ledger.ended:
            # Never arrived here, or died with an earlier process: not running is what the hub waits for.
            self._telling.tell(frames.TaskCancelled(*key, message.reason))

    # --- what the work says --------------------------------------------------------------------------------

    def work_started(self, key: Key, now_ms: int) -> None:
        self.live[key].begin(now_ms)
        self._telling.tell_running(self.live[key])

    def work_starts(self, key: Key) -> None:
        """It begins when the hub has heard of it: then it is among `Orders.begin`."""
        self._telling.tell_running(self.live[key])
        self._lease.hearing.wait(key)

    def _begin(self, keys: list[Key], now_ms: int) -> None:
        for key in keys:
            if (attempt := self.live.get(key)) is not None and attempt.ending is None:
                attempt.begin(now_ms)
                self._orders.begin.append(key)

    def work_progressed(
        self, key: Key, now_ms: int, *, percent: float | None = None, message: str | None = None, log: str = ""
    ) -> None:
        """Soft news: thinned out, and lost while there is no connection."""
        if (attempt := self.live.get(key)) is None:
            return
        attempt.note(percent, message, log)
        if now_ms >= attempt.progress_at:
            self._telling.tell_progress(attempt, now_ms)

    def work_checkpointed(self, key: Key, data: bytes) -> None:
        """`data` is JSON. The newest one is kept, and told again after a reconnect."""
        if (attempt := self.live.get(key)) is None:
            return
        attempt.checkpoint = data
        self._telling.tell_checkpoint(attempt)

    def work_ended(self, message: Ended, now_ms: int) -> None:
        """It succeeded or failed by itself, asked to stop or not; or it could not be begun here."""
        key = (message.task_id, message.attempt)
        attempt = self.live[key]
        if isinstance(message, TaskRejected):
            self._give_back(key, TaskRejected(*key, cut_text(message.reason)), now_ms)
            return
        if attempt.has_news:
            self._telling.tell_progress(attempt, now_ms)
        outcome, whole = pack(message)
        if whole is not None:
            self._orders.keep.append(whole)
        self._spool(key, outcome, now_ms)

    def work_stopped(self, key: Key, now_ms: int) -> None:
        """It stopped because it was told to, without an outcome of its own."""
        attempt = self.live[key]
        if attempt.has_news:
            self._telling.tell_progress(attempt, now_ms)
        told = attempt.told_as()
        if isinstance(told, TaskFailed):
            self._spool(key, _encode(told), now_ms)
        else:
            self._give_back(key, told, now_ms)

    def _give_back(self, key: Key, told: frames.TaskCancelled | TaskRejected, now_ms: int) -> None:
        """Nothing came of it that would have to be kept."""
        del self.live[key]
        self.ledger.settled.append(key)
        self._telling.tell(told)
        self._left_work(now_ms)

    def _spool(self, key: Key, outcome: bytes, now_ms: int) -> None:
        """Tell the outcome, and keep it until it is acknowledged."""
        del self.live[key]
        self.ledger.end(key, outcome, now_ms)
        self._telling.tell_outcome(outcome)
        if self._orders.keep or not self._telling.welcomed:
            self.ledger.hurry()
        if self._departure is not None:
            self._left_work(now_ms)

    # --- time ----------------------------------------------------------------------------------------------

    @property
    def wants_beat(self) -> bool:
        """Whether `tick` is due now, whatever `due_at` says: work waits to be heard of."""
        return self._lease.wants_beat

    @property
    def due_at(self) -> int | None:
        """When `tick` has something to do, unless something else happens first."""
        instants = [self._lease.beat_at, self._lease.deaf_at, self.ledger.write_at]
        if self._departure is not None:
            instants += [self._departure.hand_back_at, self._departure.gone_at]
        instants += [self._lease.fence_at] if self._to_fence() else []
        instants += slots.instants(self.live)
        return min((instant for instant in instants if instant is not None), default=None)

    def tick(self, now_ms: int, memory_free_mb: Callable[[], int | None] = lambda: None) -> None:
        """How much memory is free is asked for when it is to be told."""
        lease = self._lease
        if lease.is_beat_due(now_ms):
            self._telling.send(heartbeat(self.settings, memory_free_mb(), self.ledger, self.live))
            lease.sent_beat(now_ms)
        if lease.is_deaf(now_ms):
            self._orders.hang_up = True
        if lease.is_fenced(now_ms):
            grace_ms = lease.grace_left_ms(now_ms)
            self._orders.stop += [stopping.fence(attempt, grace_ms) for attempt in self._to_fence()]
        for attempt in self.live.values():
            if attempt.deadline_at is not None and now_ms >= attempt.deadline_at:
                self._orders.stop += stopping.end(attempt, Ending.TIMED_OUT)
            if attempt.has_news and now_ms >= attempt.progress_at:
                self._telling.tell_progress(attempt, now_ms)
        if (write_at := self.ledger.write_at) is not None and now_ms >= write_at:
            self.ledger.hurry()
        if self._departure is not None:
            self._depart(self._departure, now_ms)

    def _to_fence(self) -> list[Attempt]:
        return stopping.to_fence(self.live, kills_on_loss=self.settings.on_loss is OnLoss.KILL)

    # --- leaving -------------------------------------------------------------------------------------------

    @property
    def draining(self) -> bool:
        return self._departure is not None

    def drain(self, now_ms: int, *, deadline_ms: int) -> None:
        """Take nothing new, finish until the deadline, then hand back what is left. Again: a new deadline."""
        if self._departure is None:
            self._telling.tell(frames.Drain())
        self._departure = Departure(deadline_ms)
        self._left_work(now_ms)

    def _depart(self, departure: Departure, now_ms: int) -> None:
        if departure.hand_back_at is not None and now_ms >= departure.hand_back_at:
            departure.hand_back_at = None
            for attempt in self.live.values():
                self._orders.stop += stopping.end(attempt, Ending.HANDED_BACK)
        if now_ms >= departure.gone_at:
            self._orders.leave = ""

    def _left_work(self, now_ms: int) -> None:
        if self._departure is not None and not self.live:
            self._departure.is_idle(now_ms)
            if not self.ledger.ended:
                self._orders.leave = ""
