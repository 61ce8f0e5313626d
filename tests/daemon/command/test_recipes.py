"""Each ready recipe with a stand-in that behaves like the program it is for."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.command.recipes import RECIPES
from taskyard.wire.frames import WireUsage
from tests.daemon.command.workshop import Ran, run
from tests.support.stand_ins import ANSWER, on_path

pytestmark = pytest.mark.slow

USED = {
    "claude": WireUsage(3210, 40, 0.0125),
    "codex": WireUsage(500, 60),
    "gemini": WireUsage(700, 80),
    "aider": WireUsage(12_800, 1_633, 0.05),
    "ollama": WireUsage(26, 298),
}


def agent(recipe: str, **more: Any) -> Agent:
    models = {"ours": "theirs"} if recipe != "ollama" else {"ours": "llama3.2"}
    return replace(RECIPES[recipe], models=models, default_model="ours" if recipe == "ollama" else None, **more)


def ran(tmp_path: Path, made: Agent, prompt: str, **fields: Any) -> Ran:
    own = {"PATH": on_path(tmp_path / "bin"), "HOME": str(tmp_path), "TASKYARD_KEY": "secret"}
    return run(tmp_path, made, own=own, input=prompt, **fields)


@pytest.mark.parametrize("recipe", RECIPES)
def test_its_answer_and_what_it_used_are_told(tmp_path: Path, recipe: str) -> None:
    done = ran(tmp_path, agent(recipe), "please succeed")
    assert ANSWER in done.result if recipe == "aider" else done.result == ANSWER
    assert done.outcome.usage == USED[recipe]
    assert ANSWER in done.log


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_model_and_each_flag_are_options_that_it_knows(tmp_path: Path, recipe: str) -> None:
    # Given an agent that writes down what it is given
    record = tmp_path / "record.json"
    made = agent(recipe, environment={**RECIPES[recipe].environment, "RECORD": str(record)})

    # When a task asks for a model, and for each flag in turn
    for flag in made.flags:
        done = ran(tmp_path, made, "please succeed", model="ours", metadata={"flags": [flag]})
        given = json.loads(record.read_text())["argv"]

        # Then it is told the model by its own name and the arguments of the flag, and takes both
        assert ANSWER in str(done.result)
        assert made.model_names["ours"] in given
        assert "ours" not in given
        assert [part for part in given if part in made.flags[flag]] == list(made.flags[flag])


REFUSED = {
    "claude": {"exit_code": 1, "retry_after": "Sun, 17 Mar 2030 17:46:40 GMT"},
    "codex": {"exit_code": 1},
    "gemini": {"exit_code": 1},
    "ollama": {"exit_code": 1},
}


@pytest.mark.parametrize("recipe", REFUSED)
def test_its_providers_refusal_is_a_rate_limit(tmp_path: Path, recipe: str) -> None:
    error = ran(tmp_path, agent(recipe), "please refuse").error
    assert error.code == "RATE_LIMITED"
    assert error.details == REFUSED[recipe]


def test_when_to_come_back_stands_where_the_hub_looks_for_it(tmp_path: Path) -> None:
    assert "Please retry in 33.4s" in ran(tmp_path, agent("gemini"), "please refuse").error.message
    assert "Try again in 3 hours" in ran(tmp_path, agent("codex"), "please refuse").error.message


FAILED = {
    "claude": ("EXECUTION_ERROR", "error_max_turns"),
    "codex": ("EXECUTION_ERROR", "stream disconnected before completion"),
    "gemini": ("TURN_LIMIT_REACHED", "FatalTurnLimitedError: Reached max turns (code 53)"),
    "aider": ("EXECUTION_ERROR", "aider got no answer of its model"),
    "ollama": ("EXECUTION_ERROR", "llama runner process has terminated"),
}


@pytest.mark.parametrize("recipe", FAILED)
def test_its_failure_is_told_in_its_words(tmp_path: Path, recipe: str) -> None:
    error = ran(tmp_path, agent(recipe), "please fail").error
    code, words = FAILED[recipe]
    assert error.code == code
    assert words in error.message


@pytest.mark.parametrize("recipe", ["claude", "codex", "gemini"])
def test_where_nobody_signed_in_another_try_has_no_use(tmp_path: Path, recipe: str) -> None:
    assert ran(tmp_path, agent(recipe), "please sign out").error.code == "PERMISSION_DENIED"


def test_gemini_that_trusts_no_directory_is_set_up_wrongly(tmp_path: Path) -> None:
    distrusts = replace(agent("gemini"), environment={"GEMINI_CLI_TRUST_WORKSPACE": "false"})
    error = ran(tmp_path, distrusts, "please succeed").error
    assert error.code == "AGENT_MISCONFIGURED"
    assert "not running in a trusted directory" in error.message


def test_aider_that_got_no_answer_has_failed_although_it_exits_with_zero(tmp_path: Path) -> None:
    done = ran(tmp_path, agent("aider"), "please refuse")
    assert (done.error.code, done.error.details) == ("EXECUTION_ERROR", {"exit_code": 0})
    assert "The API provider has rate limited you." in done.log


def test_aider_changes_no_file_that_no_task_asked_for(tmp_path: Path) -> None:
    (tmp_path / "repository").mkdir()
    done = ran(tmp_path, agent("aider", directory=str(tmp_path / "repository")), "please succeed")
    assert ANSWER in done.result
    assert not (tmp_path / "repository" / ".gitignore").exists()


def test_what_claude_and_codex_do_is_told_in_words(tmp_path: Path) -> None:
    assert ran(tmp_path, agent("claude"), "please succeed").log == (
        'Let me look.\n→ Bash {"command":"ls"}\nThe answer is 42.'
    )
    log = ran(tmp_path, agent("codex"), "please succeed").log
    # What it writes to standard error comes between the others wherever it happens to.
    assert [line for line in log.splitlines() if line != "Reading prompt from stdin..."] == [
        "**Thinking**",
        "→ command_execution bash -lc ls",
        "The answer is 42.",
    ]


def test_ollama_without_a_model_says_what_to_do(tmp_path: Path) -> None:
    error = ran(tmp_path, RECIPES["ollama"], "please succeed").error
    assert error.code == "INVALID_INPUT"
    assert "set its default_model" in error.message
