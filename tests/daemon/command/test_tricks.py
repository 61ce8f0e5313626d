"""200 inputs full of tricks through every runner: nothing reaches a program but its own arguments and its input."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.command.environment import USUAL
from taskyard.daemon.command.placeholders import filled
from taskyard.daemon.command.recipes import RECIPES
from taskyard.daemon.prompt import prompt_of, text_of
from taskyard.daemon.task import read_task
from taskyard.wire.frames import TaskCompleted
from tests.daemon.command.workshop import Workshop, execute, workshop
from tests.support.tricks import tricky_tasks

pytestmark = pytest.mark.slow

SEED = 6
TASKS = 200
AT_A_TIME = 8

RECORDER = """#!/bin/sh
# Writes down what it was given: arguments, standard input, environment and directory.
place="$RECORDS/$TASKYARD_TASK_ID"
mkdir "$place"
printf '%s\\0' "$@" > "$place/argv"
cat > "$place/stdin"
cat "$TASKYARD_PROMPT_FILE" > "$place/prompt"
printf '%s' "$PWD" > "$place/cwd"
exec env -0 > "$place/env"
"""

BY_ARGUMENTS = Agent(command=("recorder", "--fixed", "--", "{title}", "{input}", "{type}"), stdin="task")
"""The way that has most to fear: a task's own words as arguments."""
AGENTS = {**{name: replace(RECIPES[name], output="text") for name in RECIPES}, "arguments": BY_ARGUMENTS}


def recorders(tmp_path: Path) -> str:
    place = tmp_path / "bin"
    place.mkdir()
    for name in {agent.command[0] for agent in AGENTS.values()}:
        (place / name).write_text(RECORDER)
        (place / name).chmod(0o755)
    return f"{place}:/usr/bin:/bin"


def is_for(name: str, number: int) -> bool:
    """All for the way that has most to fear; the recipes have no task's words among their arguments, and share them."""
    return name == "arguments" or list(RECIPES)[number % len(RECIPES)] == name


@pytest.mark.parametrize("name", AGENTS)
def test_a_program_is_given_its_own_arguments_and_the_input_and_nothing_else(tmp_path: Path, name: str) -> None:
    # Given a program that writes down what it is given, and tasks made of tricks
    records = tmp_path / "records"
    records.mkdir()
    own = {"PATH": recorders(tmp_path), "HOME": str(tmp_path), "TASKYARD_KEY": "the-daemon's-key", "LANG": "C.UTF-8"}
    agent = replace(AGENTS[name], environment={"RECORDS": str(records)}, keep="always")
    if name == "ollama":
        agent = replace(agent, models=("m",), default_model="m")
    tasks = {f"t{number}": task for number, task in enumerate(tricky_tasks(SEED, TASKS)) if is_for(name, number)}

    # When every one of them is run
    async def main() -> dict[Any, Any]:
        async with workshop(tmp_path, agent, own=own, patience_s=180) as shop:
            turn = asyncio.Semaphore(AT_A_TIME)
            await asyncio.gather(*(_one(shop, turn, task_id, task) for task_id, task in tasks.items()))
            return shop.told.outcomes

    outcomes = asyncio.run(main())

    # Then each one got exactly its own, or was refused and not run
    for task_id, task in tasks.items():
        outcome = outcomes[task_id, 1]
        if not isinstance(outcome, TaskCompleted):
            assert outcome.error.code == "INVALID_INPUT", outcome
            assert "\0" in task["title"] + task["input"]
            assert not (records / task_id).exists()
            continue
        _check(records / task_id, agent, task_id, task, tmp_path)
    # And no trick did anything beside
    assert list(tmp_path.rglob("PWNED*")) == []
    assert not Path("PWNED").exists()
    assert {entry.name for entry in tmp_path.iterdir()} == {"bin", "records", "processes", "workspaces"}


async def _one(shop: Workshop, turn: asyncio.Semaphore, task_id: str, task: dict[str, Any]) -> None:
    async with turn:
        await shop.outcome(shop.start(task_id, **task))


def _check(record: Path, agent: Agent, task_id: str, fields: dict[str, Any], tmp_path: Path) -> None:
    task = read_task(execute(task_id, 1, **fields))
    workspace = tmp_path / "workspaces" / f"{task_id}-1"
    own = workspace / ".taskyard" / f"{task_id}-1"
    values = {"prompt_file": str(own / "prompt.txt"), "type": "work", "title": text_of(task.title), "input": task.input}
    model = agent.default_model

    assert _parts(record / "argv") == filled(agent.command, values, model=model)[1:]
    assert (record / "cwd").read_text() == str(workspace)
    assert (record / "prompt").read_bytes() == prompt_of(task).encode()
    stdin = (record / "stdin").read_bytes()
    match agent.stdin:
        case "prompt":
            assert stdin == prompt_of(task).encode()
        case "task":
            assert {name: json.loads(stdin)[name] for name in fields} == {**fields}
        case "nothing":
            assert stdin == b""
    environment = dict(part.split("=", 1) for part in _parts(record / "env"))
    theirs = {name for name in environment if not name.startswith("TASKYARD_")}
    assert theirs <= {*USUAL, *agent.inherit, "RECORDS", "PWD", "OLDPWD", "_"}
    assert "TASKYARD_KEY" not in environment
    assert environment["TASKYARD_TASK_ID"] == task_id


def _parts(file: Path) -> list[str]:
    return file.read_bytes().decode().split("\0")[:-1]
