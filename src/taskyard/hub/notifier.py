"""Sends what the core has written down to be told (`core/notifications.py`), as the hub that leads, after the commit.

    commit ──▶ observed here ──▶ sent ──▶ reported ──▶ commit

A delivery that was sent and whose report did not reach the disk is sent again, under the same id: at least once. What
is remembered here is soft: after a start, and after a failed commit, all that waits is taken from the state anew.

One user's deliveries to one host stand in one line. A line has so many requests under way at a time, and rests
when its host fails several times in a row; then one request tries it, or one that a person asks for before
(`notice_line.py`). Lines take turns, and no user has more than a quarter of all requests under way. So a receiver that
hangs holds up nobody but itself, and many of one user's nobody but that user.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final, Protocol

import msgspec

from taskyard.core.changes import Batch
from taskyard.core.commands import Command
from taskyard.core.notices import PENDING, Delivery, NotificationRecord
from taskyard.core.notification_commands import ReportDelivery
from taskyard.core.settings import Notifications, Settings
from taskyard.core.state import Now, State
from taskyard.gateway.destinations import Allowed, BadDestination, read_allowed, read_destination
from taskyard.gateway.port import Unavailable
from taskyard.gateway.present import event_answer
from taskyard.gateway.views import DeliveryView
from taskyard.hub.notice_line import Line, is_asked_for
from taskyard.hub.outbound import Answer, Outbound, Request, Unreached
from taskyard.store.port import Identity, Numbered
from taskyard.vocabulary import Keeps
from taskyard.vocabulary.notices import CALLED
from taskyard.wire import webhooks
from taskyard.wire.fields import instant_of
from taskyard.wire.notifications import Notice

LOOK_S: Final = 1.0
# How long a state that was loaded anew may go unnoticed.
REPORT_AGAIN_S: Final = 1.0
USER_SHARE: Final = 4
# The part of all requests that one user may have under way: a quarter.
TOO_MANY_REQUESTS: Final = 429
SERVER_ERROR: Final = 500

_encode: Final = msgspec.json.Encoder().encode


class Leader(Protocol):
    """The hub whose deliveries these are."""

    @property
    def state(self) -> State: ...

    @property
    def identity(self) -> Identity: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def ready(self) -> bool: ...

    async def ask(self, command: Command) -> object: ...


class Notifier:
    def __init__(self, hub: Leader, outbound: Outbound, clock: Callable[[], Now]) -> None:
        self._hub = hub
        self._outbound = outbound
        self._clock = clock
        self._news = asyncio.Event()
        self._state: State | None = None
        self._lines: dict[tuple[str, str], Line] = {}
        self._ready: deque[tuple[str, str]] = deque()
        self._timers: list[tuple[int, tuple[str, str]]] = []
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._of_user: Counter[str] = Counter()
        """How many of them are each user's."""
        self._held: dict[str, list[tuple[str, str]]] = {}
        """User to the lines that wait until they have fewer."""
        self._allowed: tuple[Notifications, Allowed] | None = None

    def observe(self, batch: Batch) -> None:
        """A commit is released: deliveries that it wrote may be due."""
        for each in batch.kept:
            if each.kind is Keeps.DELIVERY and each.record is not None:
                self._line_up(each.name)

    def shown(self, delivery: Delivery) -> DeliveryView:
        """What people see of it: it may be under way, or wait for a host that is left alone."""
        if delivery.status is not PENDING:
            return DeliveryView(delivery)
        line = self._lines.get(self._place_of(delivery))
        rests_until = 0 if line is None or is_asked_for(delivery) else line.rests_until
        is_held = rests_until > self._clock().wall
        return DeliveryView(delivery, delivery.id in self._sending, rests_until if is_held else None)

    async def run(self) -> None:
        """Until it is cancelled; what is under way then is sent again by whoever leads next."""
        try:
            async with asyncio.TaskGroup() as sends:
                while True:
                    self._pump(sends)
                    await self._until_news()
        finally:
            self._sending.clear()

    async def _until_news(self) -> None:
        wait_s = LOOK_S
        if self._timers and self._hub.ready:
            wait_s = min(max(self._timers[0][0] - self._clock().wall, 0) / 1000, LOOK_S)
        try:
            async with asyncio.timeout(wait_s):
                await self._news.wait()
        except TimeoutError:
            return
        finally:
            self._news.clear()

    # Lines.

    def _pump(self, sends: asyncio.TaskGroup) -> None:
        """Send what is due, one of each line in turn, as far as there is room. Who does not lead for sure, does not."""
        if not self._hub.ready:
            return
        if self._state is not self._hub.state:
            self._take_up(self._hub.state)
        now_ms = self._clock().wall
        while self._timers and self._timers[0][0] <= now_ms:
            _, place = heappop(self._timers)
            if place in self._lines:
                self._lines[place].wakes_at = None
                self._stir(place)
        while self._ready and len(self._sending) < self._hub.settings.notifications.total_max:
            place = self._ready.popleft()
            self._serve(place, self._lines[place], now_ms, sends)

    def _take_up(self, state: State) -> None:
        """Another state was loaded: what waits in it, as far as it is on disk, is all there is to send."""
        self._state = state
        for line in self._lines.values():
            line.waiting.clear()
        durable_seq = self._hub.identity.seq
        for delivery in state.deliveries.values():
            if delivery.seq <= durable_seq:
                self._line_up(delivery.id)

    def _line_up(self, delivery_id: str) -> None:
        delivery = self._hub.state.deliveries.get(delivery_id)
        if delivery is None or delivery.status is not PENDING or delivery_id in self._sending:
            return
        place = self._place_of(delivery)
        line = self._lines.setdefault(place, Line())
        line.put(delivery)
        self._stir(place)

    def _place_of(self, delivery: Delivery) -> tuple[str, str]:
        return delivery.user_id, _host_of(self._record(delivery).url)

    def _record(self, delivery: Delivery) -> NotificationRecord:
        return self._hub.state.notifications[delivery.user_id][delivery.notification_id].record

    def _stir(self, place: tuple[str, str]) -> None:
        line = self._lines[place]
        if not line.is_ready:
            line.is_ready = True
            self._ready.append(place)
        self._news.set()

    def _serve(self, place: tuple[str, str], line: Line, now_ms: int, sends: asyncio.TaskGroup) -> None:
        """Send the next one of this line, if it is time. Its turn comes again after the others'."""
        line.is_ready = False
        numbers, (user_id, _) = self._hub.settings.notifications, place
        if self._of_user[user_id] >= max(numbers.total_max // USER_SHARE, 1):
            self._held.setdefault(user_id, []).append(place)
            return
        if not line.may_send(now_ms, numbers.parallel_max):
            # Whichever request ends stirs it; if there is none, it rests.
            if not line.sending:
                self._wake_at(line.rests_until, place, line)
            return
        delivery = self._next_of(line, now_ms)
        if delivery is not None:
            line.sending += 1
            self._of_user[user_id] += 1
            request = request_of(delivery, self._record(delivery), now_ms, numbers.timeout_s)
            self._sending[delivery.id] = sends.create_task(self._send(delivery.id, request, place, line))
            self._stir(place)
        elif line.waiting:
            self._wake_at(line.waiting[0][0], place, line)
        elif not line.sending:
            del self._lines[place]

    def _wake_at(self, at: int, place: tuple[str, str], line: Line) -> None:
        if line.wakes_at is None or at < line.wakes_at:
            line.wakes_at = at
            heappush(self._timers, (at, place))

    def _next_of(self, line: Line, now_ms: int) -> Delivery | None:
        """What is due by what the state says of it now: it may have been sent, put off or deleted meanwhile."""
        while line.waiting and line.waiting[0][0] <= now_ms:
            _, delivery_id = heappop(line.waiting)
            delivery = self._hub.state.deliveries.get(delivery_id)
            if delivery is None or delivery.status is not PENDING or delivery_id in self._sending:
                continue
            if delivery.next_at <= now_ms:
                return delivery
            line.put(delivery)
        return None

    # Sending.

    async def _send(self, delivery_id: str, request: Request, place: tuple[str, str], line: Line) -> None:
        outcome = await self._outbound.fetch(request, self._allowed_by(self._hub.settings.notifications))
        line.note(self._clock().wall, has_failed=_tells_of_host(outcome))
        await self._report(report_of(delivery_id, outcome))
        line.sending -= 1
        del self._sending[delivery_id]
        self._let_go(place[0])
        # Its report may have been released before, when it still counted as being sent.
        self._line_up(delivery_id)
        self._stir(place)

    def _let_go(self, user_id: str) -> None:
        """A user has one request less under way."""
        self._of_user[user_id] -= 1
        if not self._of_user[user_id]:
            del self._of_user[user_id]
        for place in self._held.pop(user_id, ()):
            self._stir(place)

    async def _report(self, report: ReportDelivery) -> None:
        """Until it is on disk. Meanwhile it is not sent again here, and holds its place."""
        while True:
            try:
                await self._hub.ask(report)
                return
            except Unavailable:
                await asyncio.sleep(REPORT_AGAIN_S)

    def _allowed_by(self, numbers: Notifications) -> Allowed:
        if self._allowed is None or self._allowed[0] is not numbers:
            self._allowed = numbers, read_allowed(numbers.allow, numbers.ports)
        return self._allowed[1]


def request_of(delivery: Delivery, record: NotificationRecord, now_ms: int, timeout_s: float) -> Request:
    """What is sent, signed as of now."""
    event = delivery.event
    answer = event_answer(Numbered(delivery.epoch, delivery.seq, delivery.index, event))
    body = _encode(Notice(type=CALLED[event.name], timestamp=instant_of(event.at), data=answer))
    key, timestamp = webhooks.key_of(record.secret), str(now_ms // 1000)
    assert key is not None, "a secret was looked at when it was given"
    headers = {
        "Content-Type": "application/json",
        webhooks.ID: delivery.id,
        webhooks.TIMESTAMP: timestamp,
        webhooks.SIGNATURE: webhooks.signature_of(key, delivery.id, timestamp, body),
    }
    return Request(url=record.url, headers=headers, body=body, timeout_s=timeout_s)


def report_of(delivery_id: str, outcome: Answer | Unreached) -> ReportDelivery:
    """What a receiver says is not kept: its user could read by it what the hub can reach and others cannot."""
    if isinstance(outcome, Unreached):
        return ReportDelivery(delivery_id, error=outcome.reason)
    error = None if outcome.is_ok else f"It answered {outcome.status}."
    return ReportDelivery(delivery_id, outcome.status, error, outcome.retry_after_ms or 0)


def _host_of(url: str) -> str:
    try:
        return read_destination(url).host
    except BadDestination:
        # An older release took it; the sending says what is wrong with it.
        return ""


def _tells_of_host(outcome: Answer | Unreached) -> bool:
    """Whether it is the host that fails. An address that is refused, or not found there, says nothing of its others."""
    if isinstance(outcome, Unreached):
        return not outcome.is_refused
    return outcome.status >= SERVER_ERROR or outcome.status == TOO_MANY_REQUESTS
