"""`[agents.NAME]`: what is read of it, and what is said of each mistake."""

from pathlib import Path
from typing import Any

import pytest

from taskyard.daemon.command.checking import BadAgents, faults_in, faults_of, read_agents
from taskyard.daemon.command.configuration import Agent, over
from taskyard.daemon.command.recipes import RECIPES

SECTION = """
profile = "service"
[limits]
running_total = 5
[agents.reviewer]
command = ["review", "--model", "{model}", "{flags}"]
types = ["review"]
timeout_s = 60
[agents.reviewer.models]
small = "review-small-2"
[agents.reviewer.flags]
strict = ["--strict"]
[agents.claude]
models = ["opus"]
[agents.mine]
recipe = "codex"
directory = "/srv/x"
[agents.mine.environment]
A = "b"
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "taskyard.toml"
    path.write_text(text)
    return path


def test_the_section_is_read_and_the_rest_is_the_hubs(tmp_path: Path) -> None:
    agents = read_agents(written(tmp_path, SECTION))
    assert agents["reviewer"].model_names == {"small": "review-small-2"}
    assert (agents["reviewer"].types, agents["reviewer"].timeout_s) == (("review",), 60)


def test_a_section_keeps_of_its_recipe_what_it_does_not_say(tmp_path: Path) -> None:
    agents = read_agents(written(tmp_path, SECTION))
    claude, mine = agents["claude"], agents["mine"]
    assert (claude.command, claude.output) == (RECIPES["claude"].command, "claude")
    assert claude.model_names == {"opus": "opus"}
    assert (mine.command, mine.directory, mine.environment) == (RECIPES["codex"].command, "/srv/x", {"A": "b"})


def test_a_section_called_like_a_recipe_can_have_a_command_of_its_own_and_keeps_the_rest(tmp_path: Path) -> None:
    text = '[agents.claude]\ncommand = ["/opt/claude", "--print", "--output-format", "stream-json", "--verbose"]\n'
    claude = read_agents(written(tmp_path, text))["claude"]
    assert claude.command[0] == "/opt/claude"
    assert (claude.output, claude.inherit) == ("claude", RECIPES["claude"].inherit)


def test_variables_and_words_are_added_to_the_recipes() -> None:
    whole = over(RECIPES["claude"], Agent(inherit=("GITHUB_TOKEN",), rate_limit_words=("slow down",)))
    assert {"ANTHROPIC_API_KEY", "GITHUB_TOKEN"} <= set(whole.inherit)
    assert {"usage limit reached", "slow down"} <= set(whole.rate_limit_words)


def test_what_is_by_name_is_added_to_the_recipes() -> None:
    whole = over(RECIPES["gemini"], Agent(exit_codes={"42": "MINE", "7": "OTHER"}, flags={"x": ("-x",)}))
    assert whole.exit_codes["42"] == "MINE"
    assert whole.exit_codes.keys() >= {"41", "7"}
    assert whole.flags.keys() >= {"plan", "x"}


def test_without_a_file_there_are_none(tmp_path: Path) -> None:
    assert read_agents(tmp_path / "taskyard.toml") == {}


@pytest.mark.parametrize("text", ["[agents.x]\ncomand = []", "[agents.x", 'agents = "x"', "[agents.x]\nstdin = 'all'"])
def test_a_file_that_cannot_be_read_is_said_with_its_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadAgents, match=r"taskyard\.toml is not valid: "):
        read_agents(written(tmp_path, text))


def test_a_file_nobody_may_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadAgents, match="cannot be read"):
        read_agents(tmp_path)


def test_every_fault_is_told_not_only_the_first(tmp_path: Path) -> None:
    with pytest.raises(BadAgents) as bad:
        read_agents(written(tmp_path, '[agents.x]\n[agents.y]\nrecipe = "hal"\n[agents."a b"]\ncommand = ["c"]'))
    assert "agents.x needs a command or a recipe; agents.y.recipe: known are claude" in str(bad.value)
    assert "agents.a b: a name has 1 to 64 letters" in str(bad.value)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_recipes_have_no_fault(recipe: str) -> None:
    assert list(faults_of(RECIPES[recipe])) == []
    assert list(faults_in({"x": Agent(recipe=recipe)})) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"command": ("x",) * 300}, "command has more than 256 arguments"),
        ({"command": ("x", "{prompt}")}, 'must stand behind "--"'),
        ({"types": ("",)}, "types: a type has 1 to 255 characters"),
        ({"models": ("--danger",)}, "begins with a dash"),
        ({"models": (" -x",)}, "begins with a dash"),
        ({"models": {"a": "-b"}}, "begins with a dash"),
        ({"models": ("a\x1b[2J",)}, "control character"),
        ({"default_model": "a"}, "default_model must be one of models"),
        ({"flags": {"": ("-x",)}}, "may be empty"),
        ({"flags": {"x": ("",)}}, "may be empty"),
        ({"inherit": ("TASKYARD_KEY",)}, "TASKYARD_KEY is the daemon's own"),
        ({"environment": {"taskyard_hub": "x"}}, "taskyard_hub is the daemon's own"),
        ({"environment": {"A=B": "x"}}, "is not the name of a variable"),
        ({"environment": {"A": "x\0"}}, "a value has a zero byte"),
        ({"exit_codes": {"0": "X"}}, "is not a number from 1 to 255"),
        ({"exit_codes": {"x": "X"}}, "is not a number from 1 to 255"),
        ({"exit_codes": {"1000": "X"}}, "is not a number from 1 to 255"),
        ({"exit_codes": {"1": "not so"}}, "is written LIKE_THIS"),
        ({"rate_limit_words": (" ",)}, "would be found everywhere"),
        ({"directory": "here"}, "directory must be a whole path"),
        ({"network": False}, 'need sandbox = "bubblewrap"'),
        ({"hidden": ("/x",)}, 'need sandbox = "bubblewrap"'),
        ({"hidden": ("x",), "sandbox": "bubblewrap"}, "hidden: each is a whole path"),
        ({"writable": ("~/x",), "sandbox": "bubblewrap"}, "writable: each is a whole path"),
        ({"timeout_s": 0}, "timeout_s must be above 0"),
        ({"timeout_s": float("inf")}, "timeout_s must be above 0"),
        ({"memory_mb": 0}, "memory_mb must be from 1"),
        ({"processes": -1}, "processes must be from 1"),
        ({"log_bytes": 10**12}, "log_bytes must be at most"),
    ],
)
def test_what_makes_no_sense_is_said_with_its_place(given: dict[str, Any], said: str) -> None:
    faults = list(faults_in({"x": Agent(**{"command": ("agent",), **given})}))
    assert len(faults) == 1
    assert faults[0].startswith("agents.x.")
    assert said in faults[0]
