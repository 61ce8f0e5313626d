"""Schedules against real hubs: each due time once, whatever dies and whatever the calendar does."""

import sys
from pathlib import Path

import pytest

from tests.acceptance.due import a_task, due_ms_of, run_due
from tests.support.engines import Engine
from tests.support.live import STUBBORN, LiveHub, LiveYard, live_yard, wait_until

MINUTE_MS = 60_000


@pytest.mark.slow
@pytest.mark.parametrize(("where", "kills"), [((Engine.SQLITE, 0), 3), ((Engine.POSTGRES, 2), 2)], ids=str)
def test_every_due_run_is_made_once_although_the_hub_is_killed_when_it_is_due(
    tmp_path: Path, where: tuple[Engine, int], kills: int
) -> None:
    engine, gateways = where
    with live_yard(tmp_path, engine, gateways=gateways) as made:
        broken, runs = run_due(made, kills=kills, seed=7)
    assert not broken
    assert runs > 2 * kills


@pytest.mark.slow
def test_a_calendar_an_hour_ahead_and_back_again_repeats_and_drops_nothing(tmp_path: Path) -> None:
    # Given a hub with a run every minute, all of which are to be made up
    with live_yard(tmp_path) as yard:
        hub = yard.hub()
        with hub.client() as client:
            client.add_schedule("often", a_task("often"), every="1m", catch_up="all")
        hub.kill()

        # When its machine's calendar is put forth by an hour, and back again
        ahead = yard.hub(port=hub.port, prefix=(sys.executable, "-m", "tests.support.shifted", "1"))
        due_ahead = made_in(ahead, at_least=60)
        ahead.kill()
        hub.start()
        due_after = made_in(hub, at_least=60)

    # Then each of the hour's runs was made once, and none again
    assert due_ahead == due_after
    assert due_ahead == list(range(due_ahead[0], due_ahead[0] + 60 * MINUTE_MS, MINUTE_MS))


def made_in(hub: LiveHub, *, at_least: int) -> list[int]:
    """The due times of the runs that there are, once there are so many."""
    with hub.client(retry=STUBBORN) as client:
        wait_until(lambda: client.schedule("often").runs >= at_least, within_s=20, what=f"{at_least} runs")
        return sorted(due_ms_of(task.id) for task in client.tasks(type="often"))


@pytest.mark.slow
def test_a_probe_wakes_an_agent_only_when_there_is_something_to_do(yard: LiveYard) -> None:
    # Given a heartbeat whose probe a daemon runs: one that finds something, one that finds nothing
    hub = yard.hub(options=())
    with hub.client(retry=STUBBORN) as client:
        for name, found in (("busy", "there is mail"), ("idle", "")):
            probe = {"task": {"type": "echo", "input": found}, "timeout": 20}
            client.add_schedule(name, {"type": "echo", "title": name, "input": "work"}, every="1s", probe=probe)

        # When they have come due
        wait_until(lambda: client.schedule("busy").runs >= 1, within_s=20, what="a run that its probe asked for")
        wait_until(lambda: client.schedule("idle").skipped >= 1, within_s=20, what="a skip that its probe asked for")

        # Then only the first has made tasks
        assert client.schedule("idle").runs == 0
        assert {task.title for task in client.tasks(q="work")} == {"busy"}
