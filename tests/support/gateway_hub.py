"""A hub for the gateway's tests: the real core over a real store, in memory unless told, one commit per command.

It has no loop and no committer; what the gateway is told by it is nevertheless decided by the core and read
from the store, so that a test of a route is a test of what the route does.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeVar

import msgspec

from taskyard.core.changes import Batch, Event, KeyRecord, UserRecord
from taskyard.core.commands import Command, SubmitTasks
from taskyard.core.effects import (
    Answer,
    AskProbe,
    CloseSession,
    Effect,
    Execute,
    Progressed,
    Refused,
    Reply,
    Signal,
    Submitted,
)
from taskyard.core.forecast import Forecast
from taskyard.core.hub import Core
from taskyard.core.idle import Overview
from taskyard.core.lookups import Lookup, merge, missing
from taskyard.core.notices import Delivery
from taskyard.core.pressure import signal_for
from taskyard.core.settings import Settings
from taskyard.core.state import Now
from taskyard.core.why import Why
from taskyard.core.yard_commands import CreateKey, CreateUser
from taskyard.gateway import views
from taskyard.gateway.auth import KEY_PREFIX, hash_of
from taskyard.gateway.figures import Figures
from taskyard.gateway.port import Answered, Session, Subscriber, Unavailable
from taskyard.hub.directory import CommittedDirectory
from taskyard.hub.explain import forecast_of, heirs, idle_because, overview_of, ties, why_of
from taskyard.hub.ids import mint_secret
from taskyard.hub.metrics import Metrics
from taskyard.hub.notification_views import delivery_of, delivery_page, notification_views
from taskyard.hub.release import CLOSE_CODES, Frames
from taskyard.hub.revisit import state_of
from taskyard.hub.schedule_views import schedule_view, schedule_views
from taskyard.hub.spent import Spent
from taskyard.hub.stamps import Stamps
from taskyard.hub.views import (
    breaker_view,
    breaker_views,
    hook_views,
    queue_views,
    receiver_of,
    usage_view,
    usage_views,
)
from taskyard.store.memory import MemoryStore
from taskyard.store.port import Identity, Numbered, Reader, Store, StoredTask
from taskyard.vocabulary import ENDED, DaemonStatus, EventName, Level, Scope, SourceType
from taskyard.vocabulary.notices import DeliveryStatus
from taskyard.wire import frames

T = TypeVar("T")
START_MS = 1_800_000_000_000


class GatewayHub(Stamps):
    def __init__(self, settings: Settings | None = None, store: Store | None = None) -> None:
        super().__init__(b"0" * 32)
        self.store: Store = store or MemoryStore()
        self.identity: Identity = self.store.open()
        self.settings = settings or Settings()
        self.directory = CommittedDirectory()
        self.ready = True
        self.down: Unavailable | None = None
        """Set it, and every question is answered with it."""
        self.told: list[Command] = []
        self.others: list[views.HubView] = []
        """Hubs of this yard that do not lead."""
        self.under_way: set[str] = set()
        """Deliveries that are being sent."""
        self.host_rests_until: int | None = None
        self.wall_ms = START_MS
        self._spent = Spent()
        self._frames = Frames(self.identity, self.settings, self._tokens)
        self._sessions: dict[int, Session] = {}
        self._subscribers: list[Subscriber] = []
        self._progress: dict[str, views.ProgressView] = {}
        self._ended: dict[str, asyncio.Event] = {}
        self.metrics = Metrics(self._now)
        self.core = self._restored()
        self._reader = self.store.reader()

    def close(self) -> None:
        self._reader.close()
        self.store.close()

    def _restored(self) -> Core:
        image = self.store.load()
        return Core(state_of(image, self.settings, self.identity, self._now()), Random(1))

    # --- what tests arrange ---

    def a_user(self, name: str) -> str:
        user_id = f"u_{name}"
        self._done(CreateUser(user_id=user_id, name=name, actor="test"))
        return user_id

    def a_key(
        self,
        user_id: str,
        *scopes: Scope,
        max_priority: Level | None = None,
        sources: tuple[SourceType, ...] | None = None,
        expires_at: int | None = None,
    ) -> str:
        secret = f"{KEY_PREFIX}{mint_secret()}"
        self._done(
            CreateKey(
                key_id=f"k_{self.mint()}",
                user_id=user_id,
                name="test",
                hash=hash_of(secret),
                scopes=scopes,
                actor="test",
                max_priority=max_priority,
                sources=sources,
                expires_at=expires_at,
            )
        )
        return secret

    def lead_moves(self) -> None:
        """Another hub leads: it has what was committed, and knows none of the sockets that stay."""
        self.store.close()
        self.identity = self.store.open()
        self._frames = Frames(self.identity, self.settings, self._tokens)
        self._spent = Spent()
        self.core = self._restored()
        for session in self._sessions.values():
            session.rejoin()

    def _done(self, command: Command) -> None:
        answer, _ = self.decide(command)
        assert not isinstance(answer, Refused), answer

    def decide(self, command: Command) -> tuple[Answer | None, dict[str, StoredTask]]:
        """One command, committed and released."""
        for _ in range(3):
            lookup = missing(self.core.state, command)
            if lookup is None:
                break
            command = msgspec.structs.replace(command, known=self._known(command, lookup))
        now = self._now()
        turn = self.core.turn(now)
        self.core.decide(turn, command)
        self.core.dispatch(turn)
        effects = turn.effects
        batch = self.core.cut(batch_id=self.mint(), now=now)
        if not batch.is_empty():
            self.store.write(batch)
            self.identity = Identity(self.identity.cluster_id, self.identity.epoch, batch.seq)
        self.core.forget(through_seq=self.identity.seq)
        return self._release(batch, effects)

    def _known(self, command: Command, lookup: Lookup) -> object:
        found = self._reader.known(user_id=lookup.user_id, ids=lookup.ids, refs=lookup.refs, keys=lookup.keys)
        return merge(command.known, lookup, found)  # type: ignore[union-attr]

    def _release(self, batch: Batch, effects: list[Effect]) -> tuple[Answer | None, dict[str, StoredTask]]:
        self.directory.update(batch.users, batch.keys)
        self.metrics.observe(batch)
        reader = self._reader
        answer = next((effect.answer for effect in effects if isinstance(effect, Reply)), None)
        for effect in effects:
            self._perform(effect, batch.seq, reader)
        self._publish([Numbered(batch.epoch, batch.seq, index, event) for index, event in enumerate(batch.events)])
        rows = (*batch.created, *batch.changed, *batch.ended, *batch.revived, *batch.amended)
        for row in rows:
            if row.task.status in ENDED and row.task.id in self._ended:
                self._ended[row.task.id].set()
        found = (reader.find(user_id=None, task=row.task.id) for row in rows)
        return answer, {one.task.id: one for one in found if one is not None}

    def _perform(self, effect: Effect, seq: int, reader: Reader) -> None:
        if isinstance(effect, Progressed):
            self._progress[effect.task_id] = views.ProgressView(effect.percent, effect.message)
            event = Event(
                EventName.TASK_PROGRESS, self.wall_ms, effect.user_id, effect.task_id, effect.number, effect.attempt
            )
            self._publish([Numbered(self.identity.epoch, seq, 0, event)])
        elif not isinstance(effect, Reply | AskProbe):
            session = self._sessions.get(effect.session)
            if session is None:
                return
            loads = reader.loads((effect.task_id,)) if isinstance(effect, Execute) else {}
            session.send([self._frames.of(effect, seq, loads)])
            if isinstance(effect, CloseSession):
                session.close(CLOSE_CODES.get(effect.code, frames.CLOSE_PROTOCOL), effect.message)

    def _publish(self, events: list[Numbered]) -> None:
        for subscriber in self._subscribers:
            subscriber.offer(events)

    def _now(self) -> Now:
        return Now(wall=self.wall_ms, mono=self.wall_ms)

    # --- the port ---

    async def ask(self, command: Command) -> Answered:
        if self.down is not None:
            raise self.down
        answer, written = self.decide(msgspec.structs.replace(command, reply_to=1))
        assert answer is not None, "whoever asks is answered"
        return answer, written

    async def submit(self, command: SubmitTasks) -> tuple[Answered, Forecast | None]:
        answer, written = await self.ask(command)
        forecast = await self.forecast(answer.ids[0]) if isinstance(answer, Submitted) and answer.ids else None
        return (answer, written), forecast

    def tell(self, command: Command) -> None:
        self.told.append(command)
        self.decide(command)

    async def read(self, look: Callable[[Reader], T]) -> T:
        return look(self._reader)

    def attach(self, session: Session) -> None:
        self._sessions[session.id] = session

    def detach(self, session: Session) -> None:
        self._sessions.pop(session.id, None)

    def subscribe(self, subscriber: Subscriber) -> None:
        self._subscribers.append(subscriber)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        self._subscribers.remove(subscriber)

    async def takes_work(self) -> bool:
        return self.ready

    async def caught_up(self) -> None:
        """Always: whoever has subscribed is offered the next event."""

    async def why(self, task_id: str, names: Mapping[str, str]) -> Why | None:
        return why_of(self.core, self._now(), task_id, names)

    async def forecast(self, task_id: str) -> Forecast | None:
        return forecast_of(self.core, self._now(), task_id)

    async def idle_because(self, daemon_ids: Sequence[str], viewer: str | None) -> dict[str, str]:
        return idle_because(self.core, self._now(), daemon_ids, viewer)

    async def overview(self, user_id: str) -> Overview:
        return overview_of(self.core, self._now(), user_id)

    async def heirs(self, task_ids: Sequence[str]) -> list[str]:
        return heirs(self.core, task_ids)

    async def ties(self, task_ids: Sequence[str]) -> list[str]:
        return ties(self.core, task_ids)

    async def daemons(self) -> list[views.DaemonView]:
        return [
            views.DaemonView(
                id=record.id,
                name=record.name,
                user_id=record.user_id,
                shared=record.shared,
                status=DaemonStatus.ONLINE if record.online else DaemonStatus.OFFLINE,
                capabilities=record.capabilities,
                models=record.models,
                types=record.types,
                active_tasks=len(daemon.holding),
                max_concurrent_tasks=record.slots,
                current_load=0.0,
                memory_free_mb=None,
                last_heartbeat=record.last_seen_at,
                connected_at=record.connected_at,
                version=record.version,
                running=[(task.id, 1) for task in daemon.holding.values()],
            )
            for daemon in self.core.state.daemons.values()
            for record in (daemon.record,)
        ]

    def shown(self, delivery: Delivery) -> views.DeliveryView:
        return views.DeliveryView(delivery, delivery.id in self.under_way, self.host_rests_until)

    async def notifications(self, user_id: str) -> list[views.NotificationView]:
        return notification_views(self.core.state, user_id)

    async def deliveries(
        self,
        user_id: str,
        notification_id: str,
        status: DeliveryStatus | None,
        before: str | None,
        limit: int,
    ) -> list[views.DeliveryView] | None:
        found = delivery_page(self.core.state, user_id, notification_id, status=status, before=before, limit=limit)
        return None if found is None else [self.shown(delivery) for delivery in found]

    async def delivery(self, user_id: str, notification_id: str, delivery_id: str) -> views.DeliveryView | None:
        found = delivery_of(self.core.state, user_id, notification_id, delivery_id)
        return None if found is None else self.shown(found)

    async def queues(self, user_id: str | None) -> list[views.QueueView]:
        return queue_views(self.core.state, user_id, self.wall_ms)

    async def pressure(self, user_id: str) -> Signal:
        return signal_for(self.core.state, self.core.state.users[user_id], self._now())

    async def redeem(self, ticket_id: str, expires_at: int) -> bool:
        if self.down is not None:
            raise self.down
        return self._spent.spend(ticket_id, expires_at=expires_at, now_ms=self.wall_ms)

    async def breakers(self, user_id: str | None) -> list[views.BreakerView]:
        return breaker_views(self.core.state, user_id, self.wall_ms)

    async def breaker(self, user_id: str, type: str) -> views.BreakerView:
        return breaker_view(self.core.state, user_id, type, self.wall_ms)

    async def schedules(self, user_id: str | None) -> list[views.ScheduleView]:
        return schedule_views(self.core.state, user_id)

    async def schedule(self, user_id: str, schedule: str) -> views.ScheduleView | None:
        return schedule_view(self.core.state, user_id, schedule)

    async def hooks(self, user_id: str | None) -> list[views.HookView]:
        return hook_views(self.core.state, user_id, self.wall_ms)

    async def receiver(self, hook_id: str) -> views.Receiver | None:
        if self.down is not None:
            raise self.down
        return receiver_of(self.core.state, hook_id, self.wall_ms)

    async def usage(self, user_id: str) -> views.UsageView:
        return usage_view(self.core.state, user_id, self._now())

    async def usages(self, user_ids: Sequence[str]) -> dict[str, views.UsageView]:
        return usage_views(self.core.state, user_ids, self._now())

    async def hubs(self) -> list[views.HubView]:
        return [*self.others, views.HubView("h_here", "http://here", leader=True, epoch=1, since=START_MS, lag_ms=250)]

    async def figures(self) -> Figures:
        return await self.metrics.figures(self.core.state)

    async def progress(self, task_ids: Sequence[str]) -> dict[str, views.ProgressView]:
        return {task_id: self._progress[task_id] for task_id in task_ids if task_id in self._progress}

    async def ended(self, task_id: str, wait_s: float) -> None:
        event = self._ended.setdefault(task_id, asyncio.Event())
        stored = await self.read(lambda reader: reader.find(user_id=None, task=task_id))
        if stored is not None and stored.task.status in ENDED:
            return
        try:
            async with asyncio.timeout(wait_s):
                await event.wait()
        except TimeoutError:
            return

    def now_ms(self) -> int:
        return self.wall_ms

    def token_for(self, task_id: str, attempt: int) -> str:
        return self._tokens.make(task_id, attempt)

    def user(self, user_id: str) -> UserRecord:
        user = self.directory.user(user_id)
        assert user is not None
        return user

    def key_named(self, secret: str) -> KeyRecord:
        key = self.directory.key_by_hash(hash_of(secret))
        assert key is not None
        return key
