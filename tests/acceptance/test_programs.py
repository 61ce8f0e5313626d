"""Programs as agents with a real hub: connected by another user from another directory, as docs/agents.md says."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from taskyard.sdk.client import Client
from tests.acceptance.guests import Guest
from tests.support.live import LiveHub, Process, environment, wait_until

pytestmark = pytest.mark.takes(8)

PATIENCE_S = 60.0

COUNTER = """#!/bin/sh
echo "working on $TASKYARD_TASK_REF"
words=$(wc -w)
echo "{\\"words\\": $((words))}"
"""
STUMBLER = f"""#!{sys.executable}
# Fails the first time, having saved where it was; tells what it knows the second time.
import json, os, sys, urllib.request

prompt = sys.stdin.read()
assert sys.argv[1:] == ["--", "A book"]
attempt = int(os.environ["TASKYARD_ATTEMPT"])
url = os.environ["TASKYARD_HUB"] + "/api/v1/tasks/" + os.environ["TASKYARD_TASK_ID"] + "/progress"
head = {{"Authorization": "Bearer " + os.environ["TASKYARD_TASK_TOKEN"], "Content-Type": "application/json"}}
body = json.dumps({{"percent": 50, "message": "half way"}}).encode()
urllib.request.urlopen(urllib.request.Request(url, body, head, method="POST")).close()
if attempt == 1:
    with open(os.environ["TASKYARD_CHECKPOINT"], "w") as file:
        json.dump({{"page": 7}}, file)
    print("the disk is on fire", file=sys.stderr)
    sys.exit(75)
with open(os.environ["TASKYARD_CHECKPOINT"]) as file:
    found = json.load(file)
open("notes.txt", "w").write("made by the agent")
answer = {{"result": {{"found": found, "prompt": prompt}}, "summary": "went on", "usage": {{"input_tokens": 5}}}}
with open(os.environ["TASKYARD_RESULT"], "w") as file:
    json.dump(answer, file)
"""


@contextmanager
def serving(
    guest: Guest, directory: Path, program: str, *options: str, arguments: tuple[str, ...] | None = None
) -> Iterator[None]:
    """A daemon with this program for an agent, by `--run`; or behind `--` with arguments."""
    directory.mkdir()
    (directory / "agent").write_text(program)
    (directory / "agent").chmod(0o755)
    agent = str(directory / "agent")
    runs = ["--run", agent, *options] if arguments is None else [*options, "--", agent, *arguments]
    command = ["taskyard.cli", "daemon", "--name", directory.name, *runs]
    env = environment(TASKYARD_HUB=guest.url, TASKYARD_KEY=guest.key, TASKYARD_DATA=str(directory / "data"))
    daemon = Process([sys.executable, "-m", *command], output=directory / "out", env=env)
    try:
        yield
        assert daemon.terminate() == 0
    finally:
        daemon.end()


def ended(client: Client, task_id: str) -> Any:
    def look() -> Any:
        task = client.task(task_id)
        return task if task.status in ("completed", "permanently_failed", "cancelled") else None

    return wait_until(look, within_s=PATIENCE_S, what="the task to end")


@pytest.mark.slow
def test_a_shell_script_is_an_agent_for_the_user_whose_key_it_has(
    guest: Guest, client: Client, shared_hub: LiveHub, tmp_path: Path
) -> None:
    # Given a daemon of a user with a script
    with serving(guest, tmp_path / "count", COUNTER, "--types", "count"), shared_hub.client() as admin:
        # When they hand in a task of its type, and somebody else does too
        mine = client.submit("How many words are these? $(rm -rf /) `x`", type="count")
        others = admin.submit("not for that agent", type="count")

        # Then theirs is done, with what it printed as log
        task = ended(client, mine.id)
        assert (task.status, task.result) == ("completed", {"words": 9})
        log = "\n".join(line.text for line in client.log(mine.id))
        assert log == f'working on {mine.ref}\n{{"words": 9}}'
        # And the other one is not
        assert admin.task(others.id).status == "queued"
        admin.cancel(others.id)


@pytest.mark.slow
def test_what_an_attempt_saved_reaches_the_next_one(guest: Guest, client: Client, tmp_path: Path) -> None:
    with serving(guest, tmp_path / "stumble", STUMBLER, "--types", "stumble", arguments=("--", "{title}")):
        # When an agent fails at first, having saved where it was
        mine = client.submit("Read the book.", type="stumble", title="A book", goal="Know it.")
        task = ended(client, mine.id)

        # Then the next attempt went on from there, and was told of the first one
        assert task.status == "completed", task
        assert task.result["found"] == {"page": 7}
        assert "TEMPORARY_FAILURE: it exited with 75" in task.result["prompt"]
        assert "# Goal\n\nKnow it.\n" in task.result["prompt"]
        first, second = task.attempts
        assert (first.error.code, second.status) == ("TEMPORARY_FAILURE", "success")
        assert "the disk is on fire" in first.error.message
        assert task.result_summary == "went on"
        assert task.files_changed == ["notes.txt"]
