"""Schedules against real hubs: each due time once, whatever dies and whatever the calendar does."""

import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from taskyard.sdk.client import Client
from tests.acceptance.due import a_task, due_ms_of, run_due
from tests.support.engines import Engine
from tests.support.live import STUBBORN, LiveHub, LiveYard, live_yard, wait_until

pytestmark = pytest.mark.takes(20)

MINUTE_MS = 60_000
LEAD_S = 10.0
"""A leader's lease, with room for a busy machine."""


@pytest.mark.slow
@pytest.mark.parametrize(("kept_in", "kills"), [(Engine.SQLITE, 2), (Engine.POSTGRES, 1)], ids=str)
def test_every_due_run_is_made_once_although_the_hub_is_killed_when_it_is_due(
    tmp_path: Path, kept_in: Engine, kills: int
) -> None:
    with live_yard(tmp_path, kept_in) as made:
        outcome = run_due(made, kills=kills, seed=7, lead_s=LEAD_S)
    assert not outcome.broken
    assert outcome.runs > 2 * kills


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
    assert due_ahead == list(range(due_ahead[0], due_ahead[-1] + 1, MINUTE_MS))


def made_in(hub: LiveHub, *, at_least: int) -> list[int]:
    """The due times of the runs that there are, once there are so many."""
    with hub.client(retry=STUBBORN) as client:
        wait_until(lambda: client.schedule("often").runs >= at_least, within_s=40, what=f"{at_least} runs")
        return sorted(due_ms_of(task.id) for task in client.tasks(type="often"))


@pytest.mark.slow
def test_a_probe_wakes_an_agent_only_when_there_is_something_to_do(yard: LiveYard, mailbox: str) -> None:
    # Given heartbeats whose probes are run by a daemon or ask an address, and find something or nothing
    port = urlsplit(mailbox).port
    allowed = f'[notifications]\nallow = ["127.0.0.0/8"]\nports = [{port}]\n'
    hub = yard.hub(options=(), settings=allowed)
    probes = {
        "mail": {"task": {"type": "echo", "input": "there is mail"}, "timeout": 20},
        "no mail": {"task": {"type": "echo", "input": ""}, "timeout": 20},
        "letters": {"url": f"{mailbox}/full"},
        "no letters": {"url": f"{mailbox}/empty"},
        "no such box": {"url": f"{mailbox}/nowhere"},
    }
    with hub.client(retry=STUBBORN) as client:
        for name, probe in probes.items():
            client.add_schedule(name, {"type": "echo", "title": name, "input": "work"}, every="1s", probe=probe)

        # When they have come due, those that found something make tasks
        wait_until(lambda: client.schedule("mail").runs, within_s=60, what="a run that its probe asked for")
        wait_until(lambda: client.schedule("letters").runs, within_s=60, what="a run that its probe asked for")

        # And the others make none, and say why not
        for name, reason in (
            ("no mail", "probe_said_no"),
            ("no letters", "probe_said_no"),
            ("no such box", "probe_failed"),
        ):
            wait_until(partial(_was_skipped, client, name, reason), within_s=60, what=f"{name} to be skipped")
        assert {each.name for each in client.schedules() if each.runs} == {"mail", "letters"}


def _was_skipped(client: Client, name: str, reason: str) -> bool:
    skip = client.schedule(name).last_skip
    return skip is not None and skip.reason == reason


class Box(BaseHTTPRequestHandler):
    """One address with something, one with nothing, and no others."""

    def do_GET(self) -> None:
        bodies = {"/full": b'["a letter"]', "/empty": b"[]"}
        body = bodies.get(self.path, b"")
        self.send_response(200 if self.path in bodies else 404)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def mailbox() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Box) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
