"""`python -m tests.acceptance.due --kills N`: hubs are killed just when schedules are due, on each engine; of two
hubs on one database always the one that leads.

The tasks end as they begin, so that no run holds up the next, and their ids tell which due time each was made for.
Afterwards every due time has had its run, none has had two, and whatever came due while the hub was up was made within
a second.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from taskyard.sdk.answers import TaskRecord
from taskyard.sdk.client import Client
from taskyard.sdk.schedules import ScheduleRecord
from tests.support.engines import Engine
from tests.support.live import STUBBORN, LiveHub, LiveYard, live_yard, wait_until
from tests.support.postgres import new_yard

LEAD_S: Final = 1.0
"""The lease of a hub that leads."""
INTERVALS_S: Final = (1, 1, 1, 2, 3)
AROUND_S: Final = (-0.05, 0.05)
"""When a kill falls, from the due time on."""
ON_TIME_MS: Final = 1000
GO_ON_S: Final = 60.0


class Made(NamedTuple):
    """A run that was made: of which schedule, when it was due, and when it was there."""

    schedule: str
    due_ms: int
    at_ms: int


class Away(NamedTuple):
    """From a kill until the hub took work again."""

    begin_ms: int
    end_ms: int


def a_task(schedule: str) -> dict[str, object]:
    """Nobody by that name is known, so it ends at once."""
    return {"input": "now", "type": schedule, "requirements": {"target_daemon": "nobody"}}


def due_ms_of(task_id: str) -> int:
    """A run's id begins with its due time."""
    return int(task_id.replace("-", "")[:12], 16)


def made_by(client: Client) -> list[Made]:
    return [_made(task) for task in client.tasks(status="permanently_failed")]


def _made(task: TaskRecord) -> Made:
    assert task.created_at is not None
    return Made(task.type, due_ms_of(task.id), round(task.created_at.timestamp() * 1000))


def kill_when_due(hub: LiveHub, schedule: ScheduleRecord, dice: random.Random) -> Away:
    """Waits for its next due time, and no longer than a moment after it."""
    assert schedule.created_at is not None
    since_ms, now_ms = round(schedule.created_at.timestamp() * 1000), time.time() * 1000
    due_ms = since_ms + (int(now_ms - since_ms) // 1000 + 1) * 1000
    time.sleep(max(0.0, due_ms / 1000 + dice.uniform(*AROUND_S) - time.time()))
    begin_ms = round(time.time() * 1000)
    hub.restart()
    return Away(begin_ms, round(time.time() * 1000))


def broken_rules(schedules: Sequence[ScheduleRecord], made: Sequence[Made]) -> list[str]:
    """Each rule that does not hold, in a sentence."""
    found = []
    for schedule, every_s in zip(schedules, INTERVALS_S, strict=True):
        assert schedule.created_at is not None
        since_ms, every_ms = round(schedule.created_at.timestamp() * 1000), every_s * 1000
        had = sorted(run.due_ms for run in made if run.schedule == schedule.name)
        if len(set(had)) != len(had):
            found.append(f"{schedule.name} had a run twice")
        expected = list(range(since_ms + every_ms, max(had, default=0) + 1, every_ms))
        if had != expected:
            found.append(
                f"{schedule.name} lacks {sorted({*expected} - {*had})[:3]}, has {sorted({*had} - {*expected})[:3]}"
            )
    return found


def late_runs(made: Sequence[Made], aways: Sequence[Away]) -> list[str]:
    """Runs that came late though the hub was up, which on a busy machine they may."""
    return [
        f"{run.schedule} came {run.at_ms - run.due_ms} ms after its time"
        for run in made
        if not any(away.begin_ms - ON_TIME_MS <= run.due_ms <= away.end_ms for away in aways)
        and not 0 <= run.at_ms - run.due_ms <= ON_TIME_MS
    ]


def hubs_of(yard: LiveYard, count: int, lead_s: float) -> list[LiveHub]:
    settings = f"[cluster]\nlease_s = {lead_s:g}\n"
    if count == 1:
        return [yard.hub(settings=settings)]
    database = new_yard()
    return [yard.hub(f"hub{number}", settings=settings, database=database) for number in range(count)]


def leader_of(client: Client, hubs: Sequence[LiveHub]) -> LiveHub:
    """Whoever decides. Of one alone there is nothing to ask."""
    if len(hubs) == 1:
        return hubs[0]
    addresses = {hub.address for hub in client.hubs() if hub.leader}
    return next((hub for hub in hubs if hub.url in addresses), hubs[0])


class Outcome(NamedTuple):
    broken: list[str]
    late: list[str]
    runs: int


def run_due(yard: LiveYard, *, kills: int, seed: int, hubs: int = 1, lead_s: float = LEAD_S) -> Outcome:
    members, dice = hubs_of(yard, hubs, lead_s), random.Random(seed)
    everywhere = ",".join(hub.url for hub in members)
    with Client(everywhere, members[0].key, retry=STUBBORN, patience=STUBBORN) as client:
        schedules = [
            client.add_schedule(f"s{n}", a_task(f"s{n}"), every=f"{every_s}s", catch_up="all")
            for n, every_s in enumerate(INTERVALS_S)
        ]
        aways = [kill_when_due(leader_of(client, members), dice.choice(schedules[:3]), dice) for _ in range(kills)]
        wait_until(lambda: _go_on(client, aways[-1]), within_s=GO_ON_S, what="a new run of each", every_s=0.5)
        for schedule in schedules:
            client.change_schedule(schedule.name, enabled=False)
        made = made_by(client)
        found = broken_rules(schedules, made)
        shown = client.schedules()
        if client.run_schedule("s0").type != "s0" or len(client.next_runs("s0", count=3)) != 3:
            found.append("a run now is not what was asked for")
    if sum(each.skipped for each in shown):
        found.append(f"runs were skipped: {[each.last_skip for each in shown]}")
    if sum(each.runs for each in shown) != len(made):
        found.append(f"{sum(each.runs for each in shown)} runs were counted, and {len(made)} made")
    return Outcome(found, late_runs(made, aways), len(made))


def _go_on(client: Client, last: Away) -> bool:
    """Whether each schedule had a run that came due after this."""
    return len({run.schedule for run in made_by(client) if run.due_ms > last.end_ms}) == len(INTERVALS_S)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    kills: int = parser.parse_args(arguments).kills
    failed = False
    places = ((Engine.SQLITE, 1), (Engine.POSTGRES, 1), (Engine.POSTGRES, 2))
    for number, (engine, hubs) in enumerate(places):
        with tempfile.TemporaryDirectory() as directory, live_yard(Path(directory), engine) as yard:
            outcome = run_due(yard, kills=kills, seed=number, hubs=hubs)
        found = outcome.broken + outcome.late
        print(
            f"{engine}, {hubs} hubs: {kills} kills around due times, {outcome.runs} runs; "
            f"broken: {'; '.join(found) or 'nothing'}",
            flush=True,
        )
        failed |= bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
