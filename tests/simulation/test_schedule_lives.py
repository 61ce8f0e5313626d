"""Schedules through many lives: crashes that lose the last commit, calendars that jump, owners who change their minds.

After each life every due time was settled once: of each stretch in which a schedule's times did not change, the runs
made and the runs skipped are together exactly what came due.
"""

import random

import pytest

from taskyard.core.effects import Done
from taskyard.core.schedule_records import ScheduleRecord
from taskyard.core.state import Now
from taskyard.vocabulary import EventName
from taskyard.vocabulary.schedules import CatchUp, SkipReason
from tests.support.schedules import Scheduled, a_probe

STEPS = 120
EVERY_S = (1, 7, 60, 600)


class Life:
    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.hub = Scheduled(catch_up_max=20, late_after_s=30)
        self.hub.daemon(slots=3)
        self.beats = [
            self.hub.schedule(
                every=self.dice.choice(EVERY_S),
                catch_up=self.dice.choice(list(CatchUp)),
                max_lateness_ms=self.dice.choice((None, None, 45_000)),
            )
            for _ in range(4)
        ]
        self.beats.append(self.hub.schedule(every=20, probe=a_probe(timeout_s=15)))

    def run(self) -> None:
        acts = (self.wait, self.wait, self.wait, self.crash, self.lose_a_commit, self.jump, self.work, self.rename)
        for _ in range(STEPS):
            self.dice.choice(acts)()

    def wait(self) -> None:
        self.hub.live(s=self.dice.choice((0.3, 2, 20, 90)))

    def crash(self) -> None:
        """Everything decided is on disk, and what is read from there is what was in memory; then the hub is away."""
        memory, disk = self.hub.state, self.hub.restarted().state
        for part in ("schedules", "schedule_names", "schedule_runs", "unfinished"):
            assert getattr(memory, part) == getattr(disk, part), part
        self.hub.sleep(s=self.dice.choice((0, 3, 40, 400)))
        self.hub.daemon(slots=3)

    def lose_a_commit(self) -> None:
        """Time comes, and the hub dies before what it decided is on disk."""
        hub, was = self.hub, len(self.hub.batches)
        hub.advance(s=self.dice.choice((1, 10)))
        lost = self.dice.randrange(was, len(hub.batches) + 1)
        del hub.batches[lost:]
        hub.sleep(s=0)
        hub.daemon(slots=3)

    def jump(self) -> None:
        jump_ms = self.dice.choice((-3_600_000, -5_000, 5_000, 3_600_000))
        self.hub.now = Now(self.hub.now.wall + jump_ms, self.hub.now.mono)
        self.hub.advance()

    def work(self) -> None:
        for beat in self.beats:
            for task_id in list(self.hub.state.unfinished.get(beat.id, ())):
                task = self.hub.state.tasks[task_id]
                if task.attempts and task.attempts[-1].ended_at is None:
                    outcome = self.dice.choice((b'{"result":1}', b'{"result":0}'))
                    self.hub.complete(task, outcome=outcome)

    def rename(self) -> None:
        beat = self.dice.choice(self.beats)
        name = f"{beat.id} {self.dice.random()}"
        assert self.hub.change_schedule(beat, name=name) == Done()

    def check(self, beat: ScheduleRecord) -> None:
        hub, runs = self.hub, self.hub.runs(beat)
        told = [e for name in (EventName.SCHEDULE_RAN, EventName.SCHEDULE_SKIPPED) for e in hub.said(name)]
        mine = [event.data or {} for event in told if (event.data or {})["schedule_id"] == beat.id]
        made = [data["due_at"] for data in mine if "task_id" in data]
        skipped = [data for data in mine if "task_id" not in data]
        assert len(set(made)) == len(made), "no run is made twice"
        one_by_one = [data["due_at"] for data in skipped if data["reason"] != SkipReason.MISSED]
        assert not {*made} & {*one_by_one}, "no run is made and skipped"
        assert beat.every_ms is not None
        came_due = (runs.through - beat.anchor) // beat.every_ms
        settled = len(made) + sum(int(data["count"] or 0) for data in skipped) + (runs.probing is not None)
        assert settled == came_due, f"{came_due} came due, {settled} were settled"
        assert (runs.made, runs.skipped) == (len(made), sum(int(data["count"] or 0) for data in skipped))


@pytest.mark.parametrize("seed", range(8))
def test_every_due_time_is_settled_once_whatever_happens(seed: int) -> None:
    life = Life(seed)
    life.run()
    for beat in life.beats:
        life.check(beat)
