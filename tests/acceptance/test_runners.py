"""Python functions and models with a real hub: what one attempt leaves reaches the next, and nothing starves a beat."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from tests.support.live import (
    ROOT,
    SHORT_LEASES,
    LiveHub,
    LiveYard,
    Process,
    environment,
    wait_online,
    wait_until,
)
from tests.support.openai_server import ANSWER, OpenAIServer, an_openai_server

pytestmark = pytest.mark.takes(45)

SETTINGS = SHORT_LEASES.replace("lease_s = 2", "lease_s = 5") + "[retry]\ndelay_s = 0.1\n[queues.busy]\nmodels = []\n"
LEASE_S = 5.0
WITHIN_S = 60.0
KEY = "sk-canary-0123456789abcdef"


def a_functions_daemon(hub: LiveHub, directory: Path) -> Process:
    env = environment(TASKYARD_HUB=hub.url, TASKYARD_KEY=hub.key, FUNCTIONS_DATA=str(directory / "functions"))
    command = [sys.executable, str(ROOT / "tests" / "support" / "functions_daemon.py")]
    return Process(command, output=directory / "functions.out", env=env)


@pytest.mark.slow
def test_a_checkpoint_and_previous_attempts_reach_the_next_attempt_of_functions_and_no_beat_is_missed(
    yard: LiveYard, tmp_path: Path
) -> None:
    # Given a program with functions that fail once, block their loop, compute, crash and split their task
    hub = yard.hub(settings=SETTINGS)
    client = hub.client()
    daemon = a_functions_daemon(hub, tmp_path)
    try:
        wait_online(client, 1)
        twice = [client.submit("go", type=f"twice-{kind}") for kind in ("thread", "async", "process")]
        crashed = client.submit("go", type="crashes")
        parent = client.submit("go", type="parent")
        for task in twice:
            assert task.wait(WITHIN_S).result == {"checkpoint": {"page": 7}, "before": ["MY_CODE"]}
        crash = crashed.wait(WITHIN_S)
        assert (crash.result, crash.attempts[0].error.code) == ("once more", "WORKER_DIED")
        assert parent.wait(WITHIN_S).result == "computed"

        # When some of them block and compute for longer than a lease
        long = str(LEASE_S * 2)
        held = [client.submit(long, type=kind) for kind in ("blocks", "computes", "computes-process")]

        # Then the hub hears the daemon all along, and each ends well in its first attempt
        seen: set[str] = set()

        def all_have_ended() -> bool:
            seen.update(daemon.status for daemon in client.daemons())
            return all(task.refresh().status == "completed" for task in held)

        wait_until(all_have_ended, within_s=WITHIN_S, what="the end of what blocks and computes")
        assert seen <= {"online", "busy"}
        assert [[attempt.status for attempt in task.refresh().attempts] for task in held] == [["success"]] * 3
    finally:
        daemon.end()


@pytest.mark.slow
def test_nothing_is_left_of_a_function_in_a_process_when_it_is_cancelled_or_its_daemon_killed(
    yard: LiveYard, tmp_path: Path
) -> None:
    hub = yard.hub(settings=SETTINGS)
    client = hub.client()
    daemon = a_functions_daemon(hub, tmp_path)
    try:
        wait_online(client, 1)
        for end in ("cancel", "kill"):
            # Given a function that holds out, and its children
            note = tmp_path / end
            task = client.submit(str(note), type="stubborn")
            family = [psutil.Process(pid) for pid in wait_for_family(note)]
            assert len(family) == 3

            # When it is cancelled, or its daemon dies
            if end == "cancel":
                client.cancel(task.id)
            else:
                daemon.kill()

            # Then nobody of them is alive
            wait_until(lambda: not any(map(is_alive, family)), within_s=WITHIN_S, what=f"nobody after {end}")  # noqa: B023
            if end == "cancel":
                assert task.wait(WITHIN_S).status == "cancelled"
    finally:
        daemon.end()


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
def test_models_do_the_tasks_of_another_user_and_an_attempt_hears_of_the_one_before(
    yard: LiveYard, server: OpenAIServer, tmp_path: Path
) -> None:
    # Given another user with a key of their own, and a daemon in another directory that has nothing else
    hub = yard.hub(settings=SETTINGS)
    admin = hub.client()
    ada = admin.add_user("ada")
    key = str(admin.add_key(ada.id, name="work", scopes=["tasks", "daemon"]).key)
    config = tmp_path / "models.toml"
    sections = {"well": 'types = ["ask"]', "keeps": 'types = ["keep"]', "limited-seconds": 'types = ["busy"]'}
    sections["slow"] = 'types = ["long"]'
    config.write_text(
        "".join(f'[openai.{name}]\nbase_url = "{server.url(name)}"\n{types}\n' for name, types in sections.items())
    )
    command = [sys.executable, "-m", "taskyard.cli", "daemon", "--name", "models", "--config", str(config)]
    command += [argument for name in sections for argument in ("--openai", name)]
    env = environment(
        TASKYARD_HUB=hub.url, TASKYARD_KEY=key, TASKYARD_DATA=str(tmp_path / "ada"), TASKYARD_OPENAI_KEY=KEY
    )
    daemon = Process(command, output=tmp_path / "models.out", env=env)
    try:
        client = hub.client(key=key)
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
    assert not [path for path in (tmp_path / "ada").rglob("*") if path.is_file() and KEY in read(path)]


def read(path: Path) -> str:
    return path.read_bytes().decode("latin-1") if os.access(path, os.R_OK) else ""
