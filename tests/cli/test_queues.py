import json
from datetime import timedelta

import pytest

from taskyard.sdk.clock import now
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub, problem

OLLAMA = {
    "name": "ollama",
    "models": ["llama3", "qwen"],
    "max_concurrent": 1,
    "state": "open",
    "until": None,
    "waiting": 7,
    "running": 1,
}
DEFAULT = {**OLLAMA, "name": "default", "models": [], "max_concurrent": None, "state": "paused", "waiting": 0}


def test_queues_are_listed(hub: StubHub, cli: Cli) -> None:
    until = (now() + timedelta(minutes=2.5)).isoformat()
    cooling = {**OLLAMA, "name": "cloud", "state": "cooling", "until": until}
    trying = {**OLLAMA, "name": "far", "state": "cooling"}
    hub.on("GET", "queues", Reply(body=[OLLAMA, cooling, trying, DEFAULT]))
    assert cli("queues") == (
        0,
        "NAME     STATE                    WAITING  RUNNING  AT A TIME   MODELS\n"
        "ollama   open                     7        1        1           llama3, qwen\n"
        "cloud    cooling, over in 2 min   7        1        1           llama3, qwen\n"
        "far      cooling, one task tries  7        1        1           llama3, qwen\n"
        "default  paused                   0        1        any number  -\n",
        "Waiting and running count your own tasks alone.\n",
    )


@pytest.mark.parametrize(
    ("user", "whose"), [("ann", "the tasks of ann alone"), ("*", "everybody's tasks")], ids=["one", "everybody"]
)
def test_an_admin_sees_anybodys_tasks_in_them(hub: StubHub, cli: Cli, user: str, whose: str) -> None:
    hub.on("GET", "queues", Reply(body=[]))
    assert cli("queues", "--user", user).err == f"Waiting and running count {whose}.\n"
    assert hub.calls[-1].query == {"user": user}


@pytest.mark.parametrize("arguments", [["--json"], ["ls", "--json"]])
def test_queues_alone_is_queues_ls(hub: StubHub, cli: Cli, arguments: list[str]) -> None:
    hub.on("GET", "queues", Reply(body=[OLLAMA]))
    assert json.loads(cli("queues", *arguments).out) == [OLLAMA]


def test_the_help_of_queues_names_what_can_be_done(cli: Cli) -> None:
    said = cli("queues", "--help").out
    assert all(f"\n  {command} " in said for command in ("ls", "set", "rm"))


def test_a_queue_is_set(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "queues", Reply(body=[DEFAULT]))
    hub.on("PUT", "queues/ollama", Reply(body=OLLAMA))
    arguments = ["queues", "set", "ollama", "--models", "llama3, qwen", "--max-concurrent", "1"]
    assert cli(*arguments) == (0, "ollama runs 1 at a time, for llama3, qwen.\n", "")
    assert hub.calls[-1].body == {"models": ["llama3", "qwen"], "max_concurrent": 1}
    assert json.loads(cli(*arguments, "--json").out) == OLLAMA


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        (["--max-concurrent", "5"], {"models": ["llama3", "qwen"], "max_concurrent": 5}),
        (["--models", "phi"], {"models": ["phi"], "max_concurrent": 1}),
        (["--models", ""], {"models": [], "max_concurrent": 1}),
    ],
)
def test_what_is_not_said_stays_as_it_is(hub: StubHub, cli: Cli, arguments: list[str], body: dict[str, object]) -> None:
    hub.on("GET", "queues", Reply(body=[OLLAMA]))
    hub.on("PUT", "queues/ollama", Reply(body={**OLLAMA, "models": []}))
    assert cli("queues", "set", "ollama", *arguments).out == "ollama runs 1 at a time, for no models.\n"
    assert hub.calls[-1].body == body


def test_a_new_queue_without_models_has_none(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "queues", Reply(body=[]))
    hub.on("PUT", "queues/new", Reply(body=OLLAMA))
    assert cli("queues", "set", "new", "--models", "phi").code == 0
    assert hub.calls[-1].body == {"models": ["phi"], "max_concurrent": None}
    assert cli("queues", "set", "new", "--max-concurrent", "2").code == 0
    assert hub.calls[-1].body == {"models": [], "max_concurrent": 2}


@pytest.mark.parametrize("arguments", [[], ["--max-concurrent", "0"]])
def test_a_change_that_says_nothing_or_nonsense_is_wrong_use(hub: StubHub, cli: Cli, arguments: list[str]) -> None:
    assert cli("queues", "set", "ollama", *arguments).code == 2
    assert hub.calls == []


def test_a_queue_is_removed(hub: StubHub, cli: Cli) -> None:
    hub.on("DELETE", "queues/ollama", Reply(body={"ok": True}))
    assert cli("queues", "rm", "ollama") == (0, "What was set of ollama is removed.\n", "")
    assert json.loads(cli("queues", "rm", "ollama", "--json").out) == {"ok": True}
    hub.on("DELETE", "queues/ollama", problem(409, "QUEUE_IN_USE", "2 open tasks are in the queue ollama."))
    refused = cli("queues", "rm", "ollama")
    assert (refused.code, refused.out) == (1, "")
    assert "2 open tasks" in refused.err


def test_a_queue_is_paused_and_resumed(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "queues/ollama/pause", Reply(body={**OLLAMA, "state": "paused"}))
    hub.on("POST", "queues/ollama/resume", Reply(body=OLLAMA))
    assert cli("pause", "ollama").out == (
        "ollama is paused: what runs goes on, nothing new starts.\nGo on with: taskyard resume ollama\n"
    )
    assert json.loads(cli("pause", "ollama", "--json").out)["state"] == "paused"
    assert cli("resume", "ollama") == (0, "ollama is open.\n", "")
    assert json.loads(cli("resume", "ollama", "--json").out) == OLLAMA


def test_a_queue_that_is_not_there_is_a_no(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "queues/nowhere/pause", problem(404, "QUEUE_NOT_FOUND", "There is no queue nowhere."))
    assert cli("pause", "nowhere").code == 1
