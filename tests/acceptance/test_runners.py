"""Python functions and models with a real hub: what one attempt leaves reaches the next."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from taskyard.sdk.client import Client
from tests.acceptance.faults import settings
from tests.acceptance.guests import Guest
from tests.support.live import ROOT, Door, LiveYard, Process, environment, wait_online, wait_until
from tests.support.openai_server import ANSWER, OpenAIServer, an_openai_server

pytestmark = pytest.mark.takes(10)

LEASE_S = 5.0
WITHIN_S = 60.0
KEY = "sk-canary-0123456789abcdef"


@contextmanager
def functions_at_work(hub: Door, directory: Path) -> Iterator[Process]:
    env = environment(TASKYARD_HUB=hub.url, TASKYARD_KEY=hub.key, FUNCTIONS_DATA=str(directory / "functions"))
    command = [sys.executable, str(ROOT / "tests" / "support" / "functions_daemon.py")]
    daemon = Process(command, output=directory / "functions.out", env=env)
    try:
        yield daemon
    finally:
        daemon.end()


@pytest.mark.slow
def test_functions_hand_on_what_they_saved_and_leave_no_process_behind(
    guest: Guest, client: Client, tmp_path: Path
) -> None:
    # Given a program with functions that fail once, crash, split their task and hold out
    with functions_at_work(guest, tmp_path) as daemon:
        wait_online(client, 1)
        twice = [client.submit("go", type=f"twice-{kind}") for kind in ("thread", "async", "process")]
        crashed = client.submit("go", type="crashes")
        parent = client.submit("go", type="parent")

        # Then a checkpoint and the attempts before reach the next one
        for task in twice:
            assert task.wait(WITHIN_S).result == {"checkpoint": {"page": 7}, "before": ["MY_CODE"]}
        crash = crashed.wait(WITHIN_S)
        assert (crash.result, crash.attempts[0].error.code) == ("once more", "WORKER_DIED")
        assert parent.wait(WITHIN_S).result == "computed"

        # And of a function in a process nobody is left, whether it is cancelled or its daemon dies
        for end in ("cancel", "kill"):
            note = tmp_path / end
            task = client.submit(str(note), type="stubborn")
            family = [psutil.Process(pid) for pid in wait_for_family(note)]
            assert len(family) == 3
            if end == "cancel":
                client.cancel(task.id)
            else:
                daemon.kill()
            wait_until(lambda: not any(map(is_alive, family)), within_s=WITHIN_S, what=f"nobody after {end}")  # noqa: B023
            if end == "cancel":
                assert task.wait(WITHIN_S).status == "cancelled"


@pytest.mark.soak
def test_what_blocks_and_computes_for_two_leases_keeps_no_daemon_from_being_heard(
    yard: LiveYard, tmp_path: Path
) -> None:
    hub = yard.hub(settings=settings(LEASE_S))
    client = hub.client()
    with functions_at_work(hub, tmp_path):
        wait_online(client, 1)
        held = [client.submit(str(LEASE_S * 2), type=kind) for kind in ("blocks", "computes", "computes-process")]
        seen: set[str] = set()

        def all_have_ended() -> bool:
            seen.update(daemon.status for daemon in client.daemons())
            return all(task.refresh().status == "completed" for task in held)

        wait_until(all_have_ended, within_s=WITHIN_S, what="the end of what blocks and computes")
        assert seen <= {"online", "busy"}
        assert [[attempt.status for attempt in task.refresh().attempts] for task in held] == [["success"]] * 3


def wait_for_family(note: Path) -> list[int]:
    text = wait_until(lambda: note.exists() and note.read_text(), within_s=WITHIN_S, what="a note with process ids")
    return [int(pid) for pid in text.split()]


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OpenAIServer]:
    with an_openai_server(tmp_path) as running:
        yield running


@pytest.mark.slow
def test_models_do_the_tasks_of_a_user_and_an_attempt_hears_of_the_one_before(
    guest: Guest, client: Client, server: OpenAIServer, tmp_path: Path
) -> None:
    # Given a user with a daemon in another directory that has nothing else
    config = tmp_path / "models.toml"
    sections = {"well": 'types = ["ask"]', "keeps": 'types = ["keep"]', "limited-seconds": 'types = ["busy"]'}
    sections["slow"] = 'types = ["long"]'
    config.write_text(
        "".join(f'[openai.{name}]\nbase_url = "{server.url(name)}"\n{types}\n' for name, types in sections.items())
    )
    command = [sys.executable, "-m", "taskyard.cli", "daemon", "--name", "models", "--config", str(config)]
    command += [argument for name in sections for argument in ("--openai", name)]
    env = environment(
        **{"TASKYARD_HUB": guest.url, "TASKYARD_KEY": guest.key},
        **{"TASKYARD_DATA": str(tmp_path / "models"), "TASKYARD_OPENAI_KEY": KEY},
    )
    daemon = Process(command, output=tmp_path / "models.out", env=env)
    try:
        wait_online(client, 1)

        # When tasks are asked that go well, break off in their first attempt, and are refused for now
        asked = client.submit("Say hello.", type="ask", goal="a greeting", model="small")
        kept = client.submit("Say more.", type="keep")
        busy = client.submit("Hurry.", type="busy", queue="busy")

        # Then the first has its answer and what it cost
        done = asked.wait(WITHIN_S)
        assert (done.status, done.result) == ("completed", "".join(ANSWER))
        assert done.attempts[0].usage == {"input_tokens": 11, "output_tokens": 4}

        # And the second was shown what its first attempt had got to, and why that ended
        again = kept.wait(WITHIN_S)
        assert [attempt.status for attempt in again.attempts] == ["failed", "success"]
        assert "half an answer" in again.result
        assert "attempt 1: failed, CONNECTION_LOST" in again.result

        # And the third waits as long as its provider said, without an attempt burnt
        wait_until(lambda: busy.refresh().status == "pending" or None, within_s=WITHIN_S, what="a task that waits")
        assert "RATE_LIMITED" in str(busy.refresh().attempts[0].error)

        # And one that its owner cancels is not generated any further
        long = client.submit("Take your time.", type="long")
        wait_until(lambda: server.requests("slow/v1/chat"), within_s=WITHIN_S, what="a model that answers")
        client.cancel(long.id)
        assert long.wait(WITHIN_S).status == "cancelled"
        wait_until(lambda: server.was_left("slow"), within_s=WITHIN_S, what="a connection that was closed")

        # And the key is nowhere: neither in what the hub tells nor in what the daemon said
        told = str([client.task(task.id) for task in (asked, kept, busy)])
        assert KEY not in told + daemon.said
        assert client.daemons()[0].models == ["small", "large"]
    finally:
        daemon.end()
    assert not [path for path in (tmp_path / "models").rglob("*") if path.is_file() and KEY in read(path)]


def read(path: Path) -> str:
    return path.read_bytes().decode("latin-1") if os.access(path, os.R_OK) else ""
