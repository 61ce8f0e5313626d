"""Schedules beside the life of the yard, with dice of their own: made and removed while hubs die and clocks jump.

Their tasks name a daemon that nobody is, so they end as they begin and concern nobody else. Of each schedule every due
time must be settled once on disk: the runs made and the runs skipped are together what came due, after every commit.
"""

from random import Random
from typing import TYPE_CHECKING, Final

from msgspec.json import decode

from taskyard.core.changes import Batch
from taskyard.core.commands import Command
from taskyard.core.effects import Answer
from taskyard.core.schedule_commands import ChangeSchedule, CreateSchedule, DeleteSchedule
from taskyard.core.schedule_records import RunsRecord, ScheduleRecord, Template, What
from taskyard.core.task import Kind, Needs, Terms
from taskyard.vocabulary import EventName, Keeps, SourceType
from taskyard.vocabulary.schedules import CatchUp
from tests.simulation.history import History, Violation

if TYPE_CHECKING:
    from tests.simulation.world import World

WISH_MS: Final = 10_000
EVERY_S: Final = (2, 5, 30, 600)
OWN_MAX: Final = 4
WHAT: Final = What(b"{}", Template(Kind(Needs(target="nobody"), source=SourceType.SCHEDULE), Terms(), b"{}"))


class Timetables:
    def __init__(self, world: "World") -> None:
        self.world = world
        self._rng = Random(f"{world.seed} timetables")
        self._written: dict[str, ScheduleRecord] = {}
        """As they are on disk."""
        self._made: dict[str, set[int]] = {}
        """The due times that had their run."""
        self._skipped: dict[str, int] = {}

    def begin(self) -> None:
        self._later()

    def _later(self) -> None:
        self.world.clock.later(1 + int(self._rng.expovariate(1 / WISH_MS)), self._wish)

    def _wish(self) -> None:
        if self.world.is_healed:
            return
        known = [person.user_id for person in self.world.people if person.is_known]
        if known:
            self.world.ask(self._wish_of(self._rng.choice(known)), _hear)
        self._later()

    def _wish_of(self, user_id: str) -> Command:
        own = [record.id for record in self._written.values() if record.user_id == user_id]
        dice = self._rng.random()
        if not own or (dice < 0.5 and len(own) < OWN_MAX):
            every_s = self._rng.choice(EVERY_S)
            name, catch_up = f"s_{self.world.mint()}", self._rng.choice(list(CatchUp))
            record = ScheduleRecord(name, user_id, name, WHAT, f"{every_s}s", every_s * 1000, catch_up=catch_up)
            return CreateSchedule(record, user_id)
        chosen = self._rng.choice(own)
        if dice < 0.85:
            return ChangeSchedule(user_id, chosen, user_id, name=f"{chosen} {dice}")
        return DeleteSchedule(user_id, chosen, user_id)

    # What must hold.

    def committed(self, _history: History, batch: Batch) -> None:
        for event in batch.events:
            data = event.data or {}
            if event.name is EventName.SCHEDULE_RAN:
                self._ran(str(data["schedule_id"]), data["due_at"])
            elif event.name is EventName.SCHEDULE_SKIPPED:
                name, count = str(data["schedule_id"]), data["count"]
                assert isinstance(count, int)
                self._skipped[name] = self._skipped.get(name, 0) + count
        for kept in batch.kept:
            if kept.kind is Keeps.SCHEDULE:
                self._written.pop(kept.name, None)
                if kept.record is not None:
                    self._written[kept.name] = decode(kept.record, type=ScheduleRecord)
        for kept in batch.kept:
            if kept.kind is Keeps.SCHEDULE_RUNS and kept.record is not None:
                self._settled(self._written[kept.name], decode(kept.record, type=RunsRecord))

    def _ran(self, name: str, due_at: object) -> None:
        made = self._made.setdefault(name, set())
        if not isinstance(due_at, int) or due_at in made:
            raise Violation(f"{name} ran twice for {due_at}")
        made.add(due_at)

    def _settled(self, record: ScheduleRecord, runs: RunsRecord) -> None:
        assert record.every_ms is not None
        came_due = (runs.through - record.anchor) // record.every_ms
        settled = len(self._made.get(record.id, ())) + self._skipped.get(record.id, 0)
        if settled != came_due:
            raise Violation(f"of {record.id}, {came_due} runs came due and {settled} were settled")


def _hear(_answer: Answer | None) -> None:
    """What was asked for shows in what is committed."""
