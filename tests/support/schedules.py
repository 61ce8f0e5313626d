"""A hub with schedules, spoken to in their words."""

from taskyard.core.effects import Answer, Done
from taskyard.core.schedule_commands import ChangeSchedule, CreateSchedule, DeleteSchedule, RunSchedule
from taskyard.core.schedule_records import (
    HttpProbe,
    RunsRecord,
    ScheduleRecord,
    Skip,
    TaskProbe,
    Template,
    What,
)
from taskyard.core.settings import Schedules, Settings
from taskyard.core.task import Kind, Needs, Task, Terms
from taskyard.vocabulary import Level, SourceType
from taskyard.vocabulary.schedules import CatchUp
from tests.support.harness import HubHarness

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def a_what(*, type: str = "general", ceiling: Level | None = None, **fields: object) -> What:
    kind = Kind(Needs(type), source=SourceType.SCHEDULE)
    return What(b"{}", Template(kind, Terms(), b"{}", **fields), ceiling)  # type: ignore[arg-type]


def a_probe(*, timeout_s: int = 30) -> TaskProbe:
    return TaskProbe(a_what(type="probe"), timeout_s * 1000)


def a_request(*, timeout_s: int = 30) -> HttpProbe:
    return HttpProbe("https://example.com/anything-new", timeout_s * 1000)


class Scheduled(HubHarness):
    """A harness that knows of schedules; `every` is in seconds."""

    def __init__(self, settings: Settings | None = None, *, is_metered: bool = False, **numbers: float) -> None:
        settings = settings or Settings(schedules=Schedules(**numbers))  # type: ignore[arg-type]
        super().__init__(settings, users=("ann", "bob"), is_metered=is_metered)
        self._made = 0

    def offer_schedule(
        self, *, every: float | None = None, cron: str | None = None, user: str = "ann", **fields: object
    ) -> tuple[ScheduleRecord, Answer]:
        self._made += 1
        fields.setdefault("what", a_what())
        fields.setdefault("name", f"schedule {self._made}")
        every_ms = None if every is None else round(every * 1000)
        record = ScheduleRecord(
            f"s-{self._made}",
            user,
            every=None if every is None else f"{every:g}s",
            every_ms=every_ms,
            cron=cron,
            **fields,  # type: ignore[arg-type]
        )
        return record, self.ask(CreateSchedule(record, "ann"))

    def schedule(self, **fields: object) -> ScheduleRecord:
        record, answer = self.offer_schedule(**fields)  # type: ignore[arg-type]
        assert answer == Done(), answer
        return record

    def change_schedule(self, record: ScheduleRecord, **fields: object) -> Answer:
        return self.ask(ChangeSchedule(record.user_id, record.id, "ann", **fields))  # type: ignore[arg-type]

    def delete_schedule(self, record: ScheduleRecord) -> Answer:
        return self.ask(DeleteSchedule(record.user_id, record.id, "ann"))

    def run_now(self, record: ScheduleRecord, **fields: object) -> Answer:
        self._ids += 1
        return self.ask(RunSchedule(record.user_id, record.id, f"task-{self._ids:06d}", **fields))  # type: ignore[arg-type]

    def sleep(self, *, s: float) -> None:
        """The hub is away: time passes, and nothing acts until it is back. Its state is that of its disk."""
        now = self.now.__class__(self.now.wall + round(s * 1000), self.now.mono + round(s * 1000))
        other = self.restarted()
        self.core, self.state = other.core, other.state
        self.now = now
        self.advance()

    def shift_calendar(self, *, s: float) -> None:
        """Only the wall clock is put forth or back."""
        self.now = self.now.__class__(self.now.wall + round(s * 1000), self.now.mono)
        self.advance()

    # Looking

    def runs(self, record: ScheduleRecord) -> RunsRecord:
        return self.state.schedule_runs[record.id]

    def last_skip(self, record: ScheduleRecord) -> Skip:
        skip = self.runs(record).last_skip
        assert skip is not None
        return skip

    def made(self, record: ScheduleRecord) -> list[Task]:
        """Every task that it made, also those that have ended."""
        rows = [row for batch in self.batches for row in (*batch.created, *batch.ended)]
        tasks = {row.task.id: row.task for row in rows if row.task.schedule_id == record.id}
        return [task for task in tasks.values() if task.kind.needs.type != "probe"]

    def finish(self, record: ScheduleRecord, **fields: object) -> None:
        """Whatever it made that waits for a daemon or is held by one is completed."""
        for task_id in list(self.state.unfinished.get(record.id, ())):
            task = self.state.tasks[task_id]
            if task.attempts and task.kind.needs.type != "probe":
                self.run(task)
                self.complete(task, **fields)  # type: ignore[arg-type]

    def probing(self, record: ScheduleRecord) -> Task:
        probing = self.runs(record).probing
        assert probing is not None
        assert probing.task_id is not None
        return self.state.tasks[probing.task_id]


__all__ = ["DAY", "HOUR", "MINUTE", "CatchUp", "Scheduled", "a_probe", "a_request", "a_what"]
