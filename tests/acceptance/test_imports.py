"""Imports through the command line, against real hubs: whole, once, and whatever happens in between."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from taskyard.cli.main import run
from taskyard.sdk.client import Client
from tests.support.engines import Engine
from tests.support.foreign_queues import (
    LOKI_STATUSES,
    a_directory_of_model_queues,
    a_loki_directory,
    a_loki_task,
    written,
)
from tests.support.live import ROOT, LiveHub, LiveYard, Said, environment, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.takes(35)]
MANY = {Engine.SQLITE: 10_000, Engine.POSTGRES: 1_500}
"""What an import does does not depend on the engine; that a killed one loses nothing does."""


def at(hub: LiveHub, *arguments: str) -> Said:
    """A command of the command line, in this process: there are many of them, and each start takes half a second."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([*arguments, "--hub", hub.url, "--key", hub.key])
    return Said(code, out.getvalue(), err.getvalue())


def imported(hub: LiveHub, *arguments: str) -> dict[str, object]:
    said = at(hub, "import", *arguments, "--json")
    assert said.code == 0, said
    return dict(json.loads(said.out))


def statuses(client: Client) -> dict[str, str]:
    """By what each task was called where it comes from."""
    found = [task for archived in (False, True) for task in client.tasks(archived=archived)]
    return {next(iter(task.metadata.values()), {}).get("id", "-"): task.status for task in found}


def test_directories_of_other_queues_come_in_whole_and_once(yard: LiveYard) -> None:
    # Given a hub, and two directories as their documents describe them
    hub = yard.hub()
    loki = str(a_loki_directory(yard.directory / ".loki"))
    queues = str(a_directory_of_model_queues(yard.directory / "queues"))

    # When they are looked at, and taken in, one file being broken at first
    assert imported(hub, "loki", loki, "--dry-run")["new"] == 9
    letters = yard.directory / ".loki" / "queue" / "dead-letter.json"
    whole = letters.read_text()
    letters.write_text(whole[:-9])
    with hub.client() as client:
        assert list(client.tasks()) == []
        in_part = at(hub, "import", "loki", loki, "--json")
        assert (in_part.code, json.loads(in_part.out)["new"], letters.read_text()) == (6, 5, whole[:-9])
        letters.write_text(whole)
        assert imported(hub, "loki", loki)["new"] == 4

        # Then every task stands as it stood, in our words
        assert statuses(client) == LOKI_STATUSES
        assert [breaker.type for breaker in client.breakers()] == ["eng-backend"]
        assert imported(hub, "model-queues", queues)["new"] == 10
        assert {queue.name for queue in client.queues()} >= {"ollama-local", "ollama-remote"}

        # And a second time changes nothing
        before = [(task.ref, task.status) for task in client.tasks()]
        assert imported(hub, "loki", loki)["new"] == imported(hub, "model-queues", queues)["new"] == 0
        assert [(task.ref, task.status) for task in client.tasks()] == before


@contextmanager
def importing(hub: LiveHub, path: Path) -> "Iterator[subprocess.Popen[bytes]]":
    command = [sys.executable, "-m", "taskyard.cli", "import", "loki", str(path)]
    env = environment(TASKYARD_HUB=hub.url, TASKYARD_KEY=hub.key)
    with subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as child:
        yield child


def test_ten_thousand_tasks_come_in_although_the_hub_is_killed_in_the_middle(yard: LiveYard) -> None:
    # Given ten thousand tasks, each waiting for the one before it in its row of ten
    many = MANY[yard.engine]
    tasks = [
        a_loki_task(f"t{n:05d}", dependencies=[f"t{n - 1:05d}"] if n % 10 else [], idempotencyKey=None)
        for n in range(many)
    ]
    done = [task | {"completedAt": "2026-03-04T17:10:00Z"} for task in tasks[::10]]
    written(yard.directory / "queue" / "pending.json", [task for n, task in enumerate(tasks) if n % 10])
    written(yard.directory / "queue" / "completed.json", done)
    hub = yard.hub()

    # When the hub is killed while they come in
    with hub.client() as client, importing(hub, yard.directory) as child:
        wait_until(lambda: next(client.tasks(limit=1), None), within_s=60, what="the first of them", every_s=0.005)
        hub.kill()
        assert child.wait(120) in (0, 3)
    hub.start()

    # Then asking again goes on where it was, and all are there once
    with hub.client() as client:
        there = imported(hub, "loki", str(yard.directory))
        assert there["there"] != 0
        assert there["new"] == many - int(str(there["there"]))
        newest = next(client.tasks(limit=1))
    # Numbers are given once and without a gap, so the newest tells how many there are.
    assert newest.ref == f"T-{many}"
    assert imported(hub, "loki", str(yard.directory))["there"] == many
