"""One hub as its gateway sees it (`gateway/port.py`): the loop, the outbox, and what stands around them."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TypeVar

from taskyard.core.commands import Command, SubmitTasks
from taskyard.core.effects import Signal, Submitted
from taskyard.core.forecast import Forecast
from taskyard.core.idle import Overview
from taskyard.core.pressure import signal_for
from taskyard.core.schedule_commands import RunSchedule
from taskyard.core.settings import Settings
from taskyard.core.state import Now, State
from taskyard.core.why import Why
from taskyard.core.yard_commands import ChangeSettings
from taskyard.gateway import views
from taskyard.gateway.figures import Figures
from taskyard.gateway.port import RETRY_AFTER_S, Answered, Session, Subscriber, Unavailable
from taskyard.hub.askers import read_answer
from taskyard.hub.clock import read_clock
from taskyard.hub.damage import Damage
from taskyard.hub.directory import CommittedDirectory
from taskyard.hub.explain import forecast_of, heirs, idle_because, overview_of, ties, why_of
from taskyard.hub.history import History
from taskyard.hub.lineage import Guard
from taskyard.hub.loop import Loop
from taskyard.hub.metrics import Metrics
from taskyard.hub.notification_views import delivery_of, delivery_page, notification_views
from taskyard.hub.notifier import Notifier
from taskyard.hub.observe import Log
from taskyard.hub.outbound import Outbound
from taskyard.hub.outbox import Outbox
from taskyard.hub.prober import Prober
from taskyard.hub.readers import Readers
from taskyard.hub.schedule_views import schedule_view, schedule_views
from taskyard.hub.spent import Spent
from taskyard.hub.stamps import Stamps
from taskyard.hub.sweep import EVERY_S, Sweep
from taskyard.hub.traces import Traces
from taskyard.hub.views import (
    breaker_view,
    breaker_views,
    daemon_views,
    hook_views,
    queue_views,
    receiver_of,
    template_views,
    usage_view,
    usage_views,
)
from taskyard.store.port import Identity, Reader, RecordDamaged, Store, StoreBroken, StoreUnavailable
from taskyard.store.rewind import Missing, Sighting
from taskyard.vocabulary import ENDED, Refusal, Status
from taskyard.vocabulary.notices import DeliveryStatus

T = TypeVar("T")


class Hub(Stamps):
    def __init__(
        self,
        store: Store,
        settings: Settings,
        log: Log,
        *,
        secret: bytes,
        archive_after_s: float = 7 * 86_400,
        events_s: float = 7 * 86_400,
        daemons_s: float = 30 * 86_400,
        sweep_s: float = EVERY_S,
        clock: Callable[[], Now] = read_clock,
        traces: Traces | None = None,
        outbound: Outbound | None = None,
        damage: Damage | None = None,
    ) -> None:
        super().__init__(secret)
        self._settings = settings
        self.url = ""
        """Where it is reached, once that is known."""
        self._started_at = clock().wall
        self.is_prepared = True
        """False while whoever starts it still makes what a first caller needs (the owner's key)."""
        self.is_trusted: Callable[[], bool] = lambda: True
        """False: another hub may lead by now, and nothing here is certain."""
        self.members: Callable[[], Awaitable[list[views.HubView]]] | None = None
        """Asks which hubs there are; None: this is the only one."""
        self._clock = clock
        self._sweep = Sweep(self, clock, every_s=sweep_s)
        self.keep_for(archive_after_s=archive_after_s, events_s=events_s, daemons_s=daemons_s)
        self.damage = damage or Damage(log)
        self._readers = Readers(store.reader, self.damage)
        self._spent = Spent()
        self._outbox = Outbox(settings, log, self._tokens, self._readers)
        self._loop = Loop(store, settings, log, self._outbox, self._readers, mint=self._mint, clock=clock)
        self._outbox.on_failure = self._loop.fail
        self.guard = Guard(self, self._outbox, log)
        self._metrics = Metrics(clock)
        self._outbox.observers.append(self._metrics.observe)
        self.commits = self._outbox.observers
        """Told of every commit that is released."""
        self._loop.on_commit = self._metrics.committed
        self.history = History(self, self._metrics, log, clock)
        outbound = outbound or Outbound()
        self._notifier = Notifier(self, outbound, clock)
        self._outbox.on_probe = Prober(self, outbound).ask
        self._outbox.observers.append(self._notifier.observe)
        if traces is not None:
            self._outbox.observers.append(traces.observe)
            self._outbox.handed_context = traces.handed_context

    async def start(
        self,
        *,
        new_era: bool = False,
        seen: Sequence[Sighting] = (),
        on_open: Callable[[], None] = lambda: None,
    ) -> None:
        """Open the store, load the state, begin. `new_era`: it is an older copy, and that is meant.

        `seen` is what is known of this yard's log: `Rewound` if this store lacks any of it. `on_open` is called between
        opening and loading, which may take a while.
        """
        await self._loop.start(new_era=new_era, seen=seen, on_open=on_open)
        self._loop.beside.run(self._sweep.run())
        self._loop.beside.run(self._metrics.watch_loop())
        self._loop.beside.run(self.history.run())
        self._loop.beside.run(self._notifier.run())

    async def stop(self) -> None:
        """Askers still waiting are told to try again."""
        await self._loop.stop()

    def keep_for(self, *, archive_after_s: float, events_s: float, daemons_s: float) -> None:
        """How long ended tasks stay where they are, and events and silent daemons at all: from the next sweep on."""
        self._sweep.keep_for(archive_after_s=archive_after_s, events_s=events_s, daemons_s=daemons_s)

    async def change_settings(self, settings: Settings, names: tuple[str, ...]) -> None:
        """Decided and committed in order with everything else; returns when they hold. Raises `Unavailable`."""
        # Should the state have to be loaded anew meanwhile, it begins with these.
        self._loop.adopt(settings)
        await self.ask(ChangeSettings(settings, names))
        self._settings = settings
        self._outbox.adopt(settings)

    def watch(self, work: Coroutine[None, None, None]) -> None:
        """Run this beside the hub until it ends or the hub does; should it fail, so does the hub."""
        self._loop.beside.run(work)

    @property
    def identity(self) -> Identity:
        return self._loop.identity

    @property
    def missing(self) -> Missing | None:
        return self.guard.missing

    @property
    def settings(self) -> Settings:
        return self._settings

    @property
    def directory(self) -> CommittedDirectory:
        return self._outbox.directory

    @property
    def ready(self) -> bool:
        """Whether it can be used: open, and whoever starts it has no more to prepare."""
        return self._loop.is_open and self.is_prepared and self.is_trusted()

    @property
    def failure(self) -> "asyncio.Future[None]":
        """Set when the process must be stopped by whoever runs the hub."""
        return self._loop.failure

    @property
    def state(self) -> State:
        """For views and checks; nothing outside the loop may change it."""
        return self._loop.core.state

    @property
    def deposed(self) -> "asyncio.Future[None]":
        """Done when another hub leads."""
        return self._loop.deposed

    def depose(self, reason: str) -> None:
        self._loop.depose(reason)

    def announce(self, url: str) -> None:
        """It is reached here."""
        self.url = url

    async def hand_over(self) -> None:
        """There is nobody to hand over to: a hub on a file is the only one."""

    async def retire(self) -> None:
        """Lead no more, with nothing lost and nobody refused who was already answered for."""
        await self._loop.retire()

    async def ask(self, command: Command, *, request: str = "", again: bool = False) -> Answered:
        """Under the name of `request` the answer is found again by whoever asks again, here or of the next leader."""
        given = await self._answer_to(request) if again else None
        if request and isinstance(command, SubmitTasks):
            # A task's id says its place in the line, so it is ours to give: a gateway's clock may be wrong.
            for draft in command.drafts:
                draft.id = self.mint()
        elif request and isinstance(command, RunSchedule):
            command.task_id = self.mint()
        answered = await self._loop.ask(command, request) if given is None else given
        if not self.is_trusted():
            # What needed no commit may be answered otherwise by whoever leads; what was committed is found there.
            raise Unavailable(Refusal.OUTCOME_UNKNOWN, RETRY_AFTER_S)
        return answered

    async def submit(
        self, command: SubmitTasks, *, request: str = "", again: bool = False
    ) -> tuple[Answered, Forecast | None]:
        answered = await self.ask(command, request=request, again=again)
        answer, written = answered
        if not isinstance(answer, Submitted) or len(answer.ids) != 1:
            return answered, None
        [task_id] = answer.ids
        if task_id in written and written[task_id].task.status is not Status.QUEUED:
            return answered, None
        return answered, await self.forecast(task_id)

    async def _answer_to(self, request: str) -> Answered | None:
        # First to what is under way: what is not, and came here at all, is on disk.
        under_way = self._outbox.askers.follow(request)
        if under_way is not None:
            return await under_way
        given = await self.answer_given(request)
        if given is not None and not self._loop.is_open:
            # What can be read counts once it was loaded: until then a failover may lose it.
            raise Unavailable(Refusal.OUTCOME_UNKNOWN, RETRY_AFTER_S)
        return given

    async def answer_given(self, request: str) -> Answered | None:
        """What was answered to a request that changed something, with the tasks that it made."""
        answer = await self.read(lambda reader: reader.request(request))
        return None if answer is None else (read_answer(answer), {})

    def tell(self, command: Command) -> None:
        self._loop.tell(command)

    @property
    def backlog(self) -> int:
        return self._loop.backlog

    async def read(self, look: Callable[[Reader], T]) -> T:
        try:
            return await self._readers.read(look)
        except StoreUnavailable as error:
            raise Unavailable(Refusal.STORE_UNAVAILABLE, RETRY_AFTER_S) from error
        except StoreBroken as error:
            self.judge(error)
            raise

    def judge(self, error: StoreBroken) -> None:
        """Stop and raise `Unavailable` if the hub decides by what cannot be read. Else only its reader hears of it."""
        if isinstance(error, RecordDamaged) and error.task_id not in self.state.tasks:
            return
        # What is not what was written is never served, and nothing is built upon it.
        self._loop.fail(error)
        raise Unavailable(Refusal.STORE_UNAVAILABLE, RETRY_AFTER_S) from error

    async def write_beside(self, work: Callable[[Store], None]) -> None:
        await self._loop.write_beside(work)

    def attach(self, session: Session) -> None:
        self._outbox.sessions[session.id] = session

    def detach(self, session: Session) -> None:
        self._outbox.sessions.pop(session.id, None)

    def subscribe(self, subscriber: Subscriber) -> None:
        self._outbox.subscribers[id(subscriber)] = subscriber

    def unsubscribe(self, subscriber: Subscriber) -> None:
        self._outbox.subscribers.pop(id(subscriber), None)

    async def takes_work(self) -> bool:
        return self.ready

    async def caught_up(self) -> None:
        """Always: whoever has subscribed here is offered the next release."""

    async def daemons(self) -> list[views.DaemonView]:
        return daemon_views(self.state)

    async def why(self, task_id: str, names: Mapping[str, str]) -> Why | None:
        return why_of(self._loop.core, self._clock(), task_id, names)

    async def forecast(self, task_id: str) -> Forecast | None:
        return forecast_of(self._loop.core, self._clock(), task_id)

    async def idle_because(self, daemon_ids: Sequence[str], viewer: str | None) -> dict[str, str]:
        return idle_because(self._loop.core, self._clock(), daemon_ids, viewer)

    async def overview(self, user_id: str) -> Overview:
        return overview_of(self._loop.core, self._clock(), user_id)

    async def heirs(self, task_ids: Sequence[str]) -> list[str]:
        return heirs(self._loop.core, task_ids)

    async def ties(self, task_ids: Sequence[str]) -> list[str]:
        return ties(self._loop.core, task_ids)

    async def queues(self, user_id: str | None) -> list[views.QueueView]:
        return queue_views(self.state, user_id, self._clock().wall)

    async def pressure(self, user_id: str) -> Signal:
        return signal_for(self.state, self.state.users[user_id], self._clock())

    async def redeem(self, ticket_id: str, expires_at: int) -> bool:
        return self._spent.spend(ticket_id, expires_at=expires_at, now_ms=self.now_ms())

    async def breakers(self, user_id: str | None) -> list[views.BreakerView]:
        return breaker_views(self.state, user_id, self.now_ms())

    async def breaker(self, user_id: str, type: str) -> views.BreakerView:
        return breaker_view(self.state, user_id, type, self.now_ms())

    async def schedules(self, user_id: str | None) -> list[views.ScheduleView]:
        return schedule_views(self.state, user_id)

    async def schedule(self, user_id: str, schedule: str) -> views.ScheduleView | None:
        return schedule_view(self.state, user_id, schedule)

    async def hooks(self, user_id: str | None) -> list[views.HookView]:
        return hook_views(self.state, user_id, self.now_ms())

    async def receiver(self, hook_id: str) -> views.Receiver | None:
        return receiver_of(self.state, hook_id, self.now_ms())

    async def templates(self, user_id: str | None, names: Sequence[str] | None) -> list[views.TemplateView]:
        return template_views(self.state, user_id, names)

    async def usage(self, user_id: str) -> views.UsageView:
        return usage_view(self.state, user_id, self._clock())

    async def usages(self, user_ids: Sequence[str]) -> dict[str, views.UsageView]:
        return usage_views(self.state, user_ids, self._clock())

    async def notifications(self, user_id: str) -> list[views.NotificationView]:
        return notification_views(self.state, user_id)

    async def deliveries(
        self,
        user_id: str,
        notification_id: str,
        status: DeliveryStatus | None,
        before: str | None,
        limit: int,
    ) -> list[views.DeliveryView] | None:
        found = delivery_page(self.state, user_id, notification_id, status=status, before=before, limit=limit)
        return None if found is None else [self._notifier.shown(delivery) for delivery in found]

    async def delivery(self, user_id: str, notification_id: str, delivery_id: str) -> views.DeliveryView | None:
        found = delivery_of(self.state, user_id, notification_id, delivery_id)
        return None if found is None else self._notifier.shown(found)

    async def hubs(self) -> list[views.HubView]:
        if self.members is not None:
            return await self.members()
        here = self.identity
        return [
            views.HubView(here.cluster_id, self.url, leader=True, epoch=here.epoch, since=self._started_at, lag_ms=0)
        ]

    async def figures(self) -> Figures:
        return await self._metrics.figures(self.state)

    async def progress(self, task_ids: Sequence[str]) -> dict[str, views.ProgressView]:
        view = self._outbox.progress.view
        return {task_id: found for task_id in task_ids if (found := view(task_id)) is not None}

    async def ended(self, task_id: str, wait_s: float) -> None:
        """Returns when the task has ended or the time is up. Raises `Unavailable` when another hub leads."""
        try:
            async with asyncio.timeout(wait_s):
                while not await self._has_ended(task_id):
                    pass
        except TimeoutError:
            return

    async def _has_ended(self, task_id: str) -> bool:
        """Now; else False when it is time to look again."""
        waiter = self._outbox.wait_for_end(task_id)
        try:
            stored = await self.read(lambda reader: reader.find(user_id=None, task=task_id))
            if stored is None or stored.task.status in ENDED:
                return True
            await asyncio.wait((waiter, self.deposed), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._outbox.stop_waiting(task_id, waiter)
        if self.deposed.done():
            raise Unavailable(Refusal.NO_LEADER, RETRY_AFTER_S)
        return False

    def now_ms(self) -> int:
        return self._clock().wall
