"""Those who want to be told, and whoever tells them: an outbox beside the life of the yard, with dice of its own.

The sender does as the hub's: it takes what is on disk and due, sends it, and reports; a crash may come between any
two of these. What is told must be an event that is on disk, under one id, and in the end each is told or dead.
"""

from random import Random
from typing import TYPE_CHECKING, Final

from msgspec.json import decode

from taskyard.core.changes import Batch, Event
from taskyard.core.commands import Command
from taskyard.core.effects import Answer
from taskyard.core.notices import PENDING, Delivery, NotificationRecord
from taskyard.core.notification_commands import (
    ChangeNotification,
    CreateNotification,
    DeleteNotification,
    ReportDelivery,
    ResendDelivery,
)
from taskyard.core.state import State
from taskyard.vocabulary import Keeps
from taskyard.vocabulary.notices import NOTICES, NoticeName
from tests.simulation.history import History, Violation

if TYPE_CHECKING:
    from tests.simulation.world import World

WISH_MS: Final = 8_000
SEND_MS: Final = 2_000
SENT_MAX: Final = 20
URL: Final = "https://hooks.example/"
EVENTS: Final = (NoticeName.TASK_COMPLETED, NoticeName.TASK_PERMANENTLY_FAILED, NoticeName.TASK_BLOCKED)


class Notices:
    def __init__(self, world: "World") -> None:
        self.world = world
        self._rng = Random(f"{world.seed} notices")
        self._wanted: dict[str, NotificationRecord] = {}
        """As they are on disk."""
        self._told: dict[str, tuple[int, int, int]] = {}
        """What was sent, by its id: the place of its event."""

    def begin(self) -> None:
        self._later(WISH_MS, self._wish)
        self._later(SEND_MS, self._send)

    def _later(self, mean_ms: int, act: object) -> None:
        self.world.clock.later(1 + int(self._rng.expovariate(1 / mean_ms)), act)  # type: ignore[arg-type]

    # What people wish.

    def _wish(self) -> None:
        if self.world.is_healed:
            return
        known = [person.user_id for person in self.world.people if person.is_known]
        if known:
            self._ask(self._wish_of(self._rng.choice(known)))
        self._later(WISH_MS, self._wish)

    def _wish_of(self, user_id: str) -> Command:
        own = [record.id for record in self._wanted.values() if record.user_id == user_id]
        dice = self._rng.random()
        if not own or dice < 0.4:
            events = tuple(self._rng.sample(EVENTS, self._rng.randint(1, len(EVENTS))))
            return CreateNotification(f"n_{self.world.mint()}", user_id, URL, events, "s", user_id)
        chosen = self._rng.choice(own)
        if dice < 0.6:
            return ChangeNotification(chosen, user_id, user_id, events=(self._rng.choice(EVENTS),))
        if dice < 0.8:
            sent = [each for each in self._told if each.startswith(f"d_{chosen.partition('_')[2]}-")]
            return ResendDelivery(chosen, self._rng.choice(sent) if sent else "d_none", user_id, user_id)
        return DeleteNotification(chosen, user_id, user_id)

    # What the sender does.

    def _send(self) -> None:
        self._later(SEND_MS, self._send)
        hub = self.world.hub
        if not hub.is_up or hub.is_shut:
            return
        waiting = hub.core.state.deliveries.values()
        due = [
            each
            for each in waiting
            if each.status is PENDING and each.next_at <= hub.now.wall and each.seq <= hub.committer.durable_seq
        ]
        for delivery in due[:SENT_MAX]:
            self._receive(delivery)
            # A receiver that fails, and a hub that dies before it has said how it went.
            if self._rng.random() < 0.9 or self.world.is_healed:
                is_taken = self.world.is_healed or self._rng.random() < 0.7
                self._ask(
                    ReportDelivery(delivery.id, 204 if is_taken else 500, None if is_taken else "It answered 500.")
                )

    def _receive(self, delivery: Delivery) -> None:
        place = delivery.epoch, delivery.seq, delivery.index
        if self._told.setdefault(delivery.id, place) != place:
            raise Violation(f"{delivery.id} told of {self._told[delivery.id]} and then of {place}")

    def _ask(self, command: Command) -> None:
        self.world.ask(command, _hear)

    # What must hold.

    def committed(self, _history: History, batch: Batch) -> None:
        """Each event has its deliveries in its very commit, by what was wished for on disk; and there are no others."""
        made = {
            (record.notification_id, record.seq, record.index): record.event
            for kept in batch.kept
            if kept.kind is Keeps.DELIVERY and kept.record is not None
            if (record := decode(kept.record, type=Delivery)).seq == batch.seq
        }
        for kept in batch.kept:
            if kept.kind is Keeps.NOTIFICATION:
                self._wanted.pop(kept.name, None)
                if kept.record is not None:
                    self._wanted[kept.name] = decode(kept.record, type=NotificationRecord)
        expected = {
            (record.id, batch.seq, index): event
            for index, event in enumerate(batch.events)
            for record in self._wanted.values()
            if _wants(record, event)
        }
        if made != expected:
            raise Violation(f"commit {batch.seq}: deliveries {sorted(made)} for what should be {sorted(expected)}")

    def left(self, state: State) -> list[str]:
        return [f"{each.id} is not told" for each in state.deliveries.values() if each.status is PENDING]


def _wants(record: NotificationRecord, event: Event) -> bool:
    return event.user_id == record.user_id and NOTICES.get(event.name) in record.events


def _hear(_answer: Answer | None) -> None:
    """Nobody remembers what came of it: what is on disk says so."""
