"""A yard in the middle of a working day: `python -m tests.dashboard.demo` starts one, and prints how to get in.

Everything in it went the way that work goes: people with plans were made, queues set, a week was imported
(`demo_past.py`), and daemons run what is there now (`demo_day.py`). So every page has something of every kind to show:
what runs and how far it is, what waits and for what, what failed, who is idle and why.
"""

import argparse
import contextlib
import signal
import tempfile
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from taskyard.sdk.client import Client
from taskyard.wire.fields import BATCH_TASKS_MAX
from taskyard.wire.imports import Import
from tests.dashboard import demo_day, demo_figures, demo_past
from tests.dashboard.yard import PATIENT, SETTINGS, Yard
from tests.support.live import LiveYard, live_yard


class Demo:
    """Brings a yard to where a demonstration begins."""

    def __init__(self, live: LiveYard, *, port: int | None = None) -> None:
        self.now = datetime.now(UTC)
        self.past = {name: demo_past.history_of(name, self.now) for name in demo_day.PLANS}
        self.people: dict[str, Client] = {}
        self.yard = Yard(live, settings=SETTINGS + PATIENT, port=port, prepare=self._write_figures)

    def _write_figures(self, data: Path) -> None:
        tasks = [task for tasks in self.past.values() for task in tasks]
        slots = sum(slots for _, slots, _, _ in demo_day.DAEMONS)
        demo_figures.write_past(data, tasks, slots=slots, daemons=len(demo_day.DAEMONS))

    def make(self) -> None:
        for name, slots, can, types in demo_day.DAEMONS:
            self.yard.crew(name, slots=slots, can=can, types=types, wait=False)
        self._people_and_queues()
        self._week()
        self.yard.until(self._everybody_is_there, "every daemon")
        self.yard.client.drain(demo_day.DRAINED)
        self._minute()
        self._verdicts()
        self._day()
        self._schedules()

    def path_of(self, status: str, *, person: str = "ada", titled: str = "") -> str:
        """The page of the newest task of a person's that stands so and is called so, as the owner gets there."""
        found = self.people[person].tasks(status=status)
        task = next(task for task in found if (task.title or "").startswith(titled))
        return f"/tasks/{task.id}?user={task.user_id}"

    def _everybody_is_there(self) -> bool:
        return len(self.yard.client.daemons()) == len(demo_day.DAEMONS)

    def _people_and_queues(self) -> None:
        for name, (models, at_a_time) in demo_day.QUEUES.items():
            self.yard.client.put_queue(name, models=models, max_concurrent=at_a_time)
        for name, plan in demo_day.PLANS.items():
            self.people[name] = self.yard.hub.client(key=self.yard.person(name, plan=plan))

    def _week(self) -> None:
        for name, tasks in self.past.items():
            for first in range(0, len(tasks), BATCH_TASKS_MAX):
                piece = tasks[first : first + BATCH_TASKS_MAX]
                carried = {"origin": f"demo-{name}", "tasks": piece}
                self.people[name].import_piece(msgspec.json.decode(msgspec.json.encode(carried), type=Import))

    def _minute(self) -> None:
        """What has just been done, and what has just gone wrong."""
        done = self.people["mira"].submit_batch([demo_day.quick(number) for number in range(12)])
        self.people["ada"].submit_batch(demo_day.failures())
        refused = self.people["grace"].submit_batch([demo_day.refused_by_its_provider()])
        self._until_none(self.people["mira"], done, "queued", "scheduled", "running")
        self.yard.until(self._breaker_has_opened, "a breaker that opened")
        self._until_none(self.people["grace"], refused, "scheduled", "running")
        self.yard.client.pause_queue("gpt")

    def _breaker_has_opened(self) -> bool:
        return any(breaker.state == "open" for breaker in self.people["ada"].breakers())

    def _until_none(self, person: Client, batch: object, *statuses: str) -> None:
        names = [task.id for task in batch.tasks]  # type: ignore[attr-defined]

        def have_settled() -> bool:
            return all(person.task(name).status not in statuses for name in names)

        self.yard.until(have_settled, f"{len(names)} tasks no longer {statuses}")

    def _verdicts(self) -> None:
        ada = self.people["ada"]
        for kind, verdict, terms in demo_day.VERDICTS:
            letter = next(task for task in ada.dead_letters() if task.type == kind)
            ada.review(letter.id, verdict, **terms)

    def _day(self) -> None:
        for name, tasks in demo_day.running().items():
            batch = self.people[name].submit_batch(tasks)
            self._until_none(self.people[name], batch, "queued", "scheduled")
        for name, tasks in demo_day.waiting(self.now).items():
            self.people[name].submit_batch(tasks)
        ada = self.people["ada"]
        failed = next(iter(ada.dead_letters()))
        announced = "Tell sales that the contacts are in"
        ada.submit(f"{announced}.", title=announced, type="docs", depends_on=[failed.id], on_depends_fail="block")

    def _schedules(self) -> None:
        ada = self.people["ada"]
        for name, when, task in demo_day.SCHEDULES:
            made = ada.add_schedule(name, {"input": f"{name}.", "title": name, **task}, **when)
            for _ in range(demo_day.RUNS[name]):
                ada.run_schedule(made.id)


@contextlib.contextmanager
def demo_yard(directory: Path, *, port: int | None = None) -> Iterator[Demo]:
    """One that is ready to be looked at."""
    directory.mkdir(exist_ok=True)
    with live_yard(directory) as live:
        demo = Demo(live, port=port)
        try:
            demo.make()
            yield demo
        finally:
            demo.yard.end()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.dashboard.demo")
    parser.add_argument("--port", type=int, default=None)
    asked = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with tempfile.TemporaryDirectory() as directory, demo_yard(Path(directory), port=asked.port) as demo:
        print(f"Sign in at {demo.yard.link()}\n  or at {demo.yard.url} with {demo.yard.hub.key}", flush=True)
        stop.wait()


if __name__ == "__main__":
    main()
