"""`taskyard daemon --agent …` and `--run …`: which programs a daemon is handed, and what is said of those it is not."""

import re
import sys
from pathlib import Path

import pytest
import typer

from taskyard.cli import service
from taskyard.cli.agents import COMMAND, agents_of
from taskyard.daemon.command.configuration import Agent
from tests.support.stand_ins import on_path

MINE = """
[agents.mine]
command = ["cat", "{flags}"]
types = ["a", "b"]
[agents.mine.flags]
n = ["-n"]
[agents.claude]
models = ["opus"]
[agents.other]
recipe = "codex"
types = ["b"]
"""


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-ins are installed, and nothing else that an agent could be."""
    monkeypatch.setenv("PATH", on_path(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path)


def agents(
    *names: str,
    run: str | None = None,
    arguments: tuple[str, ...] = (),
    command: tuple[str, ...] = (),
    types: list[str] | None = None,
    models: list[str] | None = None,
    text: str = MINE,
) -> list[Agent]:
    Path("taskyard.toml").write_text(text)
    return agents_of(
        names=list(names),
        run=run,
        arguments=list(arguments),
        command=list(command),
        types=types,
        models=models,
        config=Path("taskyard.toml"),
    )


def test_an_agent_is_a_recipe_or_a_section_or_both() -> None:
    gemini, mine, claude = agents("gemini", "mine", "claude", text=MINE.replace('models = ["opus"]', 'types = ["c"]'))
    assert gemini.command[0] == "gemini"
    assert mine.types == ("a", "b")
    assert (claude.command[0], claude.types) == ("claude", ("c",))
    assert agents() == []


def test_a_program_from_the_command_line_is_found_from_where_one_is(tmp_path: Path) -> None:
    Path("agent.sh").write_text("#!/bin/sh\n")
    Path("agent.sh").chmod(0o755)
    (made,) = agents(run="./agent.sh", arguments=("-x", "--", "{prompt}"), types=["count"])
    assert made.command == (str(tmp_path / "agent.sh"), "-x", "--", "{prompt}")
    assert made.types == ("count",)
    assert agents(run="cat")[0].command == ("cat",)


def test_a_command_is_a_program_with_its_arguments(tmp_path: Path) -> None:
    Path("agent.sh").write_text("#!/bin/sh\n")
    Path("agent.sh").chmod(0o755)
    (made,) = agents(command=("./agent.sh", "-m", "{model}", "--", "{input}"), types=["count"], models=["llama3"])
    assert made.command == (str(tmp_path / "agent.sh"), "-m", "{model}", "--", "{input}")
    assert (made.types, made.default_model) == (("count",), "llama3")
    assert agents(command=("cat",), run=None) == agents(run="cat")
    with pytest.raises(typer.BadParameter) as refused:
        agents(command=("./absent.sh",))
    assert (refused.value.param_hint, "--argument" in refused.value.message) == (COMMAND, False)


def parsed(*arguments: str) -> list[str] | None:
    """What `taskyard daemon run` takes for its command."""
    command = typer.main.get_command(service.app)
    run = command.commands["run"]  # type: ignore[attr-defined]
    return run.make_context("run", list(arguments)).params["command"]


def test_what_stands_behind_two_dashes_is_the_command() -> None:
    command = ["claude", "-p", "--slots", "--", "{input}"]
    assert list(parsed("--slots", "2", "--", *command) or ()) == command
    assert not parsed("--slots", "2", "--")
    assert not parsed("--argument", "--", "--argument", "x")


@pytest.mark.parametrize("arguments", [("statsu",), ("--slots", "2", "claude"), ("claude", "--", "-p")])
def test_a_word_that_stands_elsewhere_is_no_command(arguments: tuple[str, ...]) -> None:
    with pytest.raises(typer.BadParameter, match="stands behind --"):
        parsed(*arguments)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("#!/opt/none/python9", "its first line asks for /opt/none/python9, which is not a program on this machine"),
        ("#!/usr/bin/env -S A=b python9 -u", "its first line asks for python9, which is not a program on this machine"),
        ("#!/bin/sh\r", r"its first line asks for '/bin/sh\r': save it with the line ends of Unix"),
    ],
)
def test_a_script_whose_interpreter_is_missing_is_refused_before_any_task_meets_it(line: str, said: str) -> None:
    Path("agent.sh").write_bytes(f"{line}\necho hi\n".encode())
    Path("agent.sh").chmod(0o755)
    with pytest.raises(typer.BadParameter, match=re.escape(said)) as refused:
        agents(run="./agent.sh")
    assert refused.value.message.startswith(f"{Path('agent.sh').resolve()} cannot be run: ")


def test_a_script_is_taken_whatever_stands_before_its_interpreter() -> None:
    for line in ("#! /bin/sh -e", "#!/usr/bin/env cat", "echo no first line at all", "#!"):
        Path("agent.sh").write_text(f"{line}\n")
        Path("agent.sh").chmod(0o755)
        assert len(agents(run="./agent.sh")) == 1


def test_types_and_models_can_be_said_on_the_command_line() -> None:
    (ollama,) = agents("ollama", types=["ask"], models=["llama3.2", "qwen2.5"])
    assert (ollama.types, ollama.default_model) == (("ask",), "llama3.2")
    assert ollama.model_names == {"llama3.2": "llama3.2", "qwen2.5": "qwen2.5"}


@pytest.mark.parametrize(
    ("names", "more", "said"),
    [
        (("hal",), {}, "there is no agent hal"),
        ((), {"arguments": ("-x",)}, "these are the arguments of --run FILE"),
        ((), {"run": "cat", "command": ("cat",)}, "leave --run FILE or the command out"),
        ((), {"command": ("cat",), "arguments": ("-x",)}, "these are the arguments of --run FILE"),
        ((), {"command": ("absent-program", "-x")}, "absent-program is not a program on this machine"),
        ((), {"command": ("cat", "{input}")}, 'must stand behind "--"'),
        ((), {"run": "./absent.sh"}, "is not a program on this machine"),
        ((), {"run": "absent-program"}, "is not a program on this machine"),
        ((), {"run": "cat", "arguments": ("{prompt}",)}, 'must stand behind "--"'),
        (("mine", "other"), {}, "two agents serve b"),
        (("codex", "gemini"), {}, "two agents serve all types"),
        (("mine", "gemini"), {"types": ["x"]}, "which types and models each has"),
        (("mine", "gemini"), {"models": ["x"]}, "which types and models each has"),
        (("ollama",), {"models": ["--evil"]}, "begins with a dash"),
        (("mine",), {"text": "[agents.mine]\ncommand = []"}, "agents.mine needs a command or a recipe"),
        (("mine",), {"text": "[agents.mine"}, "is not valid"),
        (
            ("mine",),
            {"text": '[agents.mine]\ncommand = ["cat"]\ndirectory = "/not/there"'},
            "/not/there is not a directory",
        ),
    ],
)
def test_what_cannot_be_served_is_said_before_anything_begins(
    names: tuple[str, ...], more: dict[str, object], said: str
) -> None:
    with pytest.raises(typer.BadParameter, match=re.escape(said)):
        agents(*names, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("run", ["./agent.sh", "./absent.sh", "./agent.sh --deep"])
def test_a_file_that_is_not_executable_is_no_program_and_said_under_the_option_it_came_with(run: str) -> None:
    Path("agent.sh").write_text("#!/bin/sh\n")
    with pytest.raises(
        typer.BadParameter, match=re.escape("executable (chmod +x)? Arguments go into --argument")
    ) as said:
        agents(run=run)
    assert said.value.param_hint == "--run"


BOXED = '[agents.mine]\ncommand = ["{program}"]\nsandbox = "bubblewrap"\n'


def a_program_at(place: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("#!/bin/sh\n")
    place.chmod(0o755)
    return place


def test_a_program_that_its_sandbox_hides_is_refused_at_the_start(tmp_path: Path) -> None:
    a_program_at(tmp_path / "bin" / "bwrap")
    inside = a_program_at(tmp_path / "hidden" / "agent.sh")
    text = BOXED.format(program=inside) + f'hidden = ["{inside.parent}"]\n'
    with pytest.raises(typer.BadParameter, match="cannot be seen in its sandbox"):
        agents("mine", text=text)
    assert agents("mine", text=f'{text}writable = ["{inside.parent}"]\n')
    assert agents("mine", text=BOXED.format(program="/bin/cat"))


def test_a_sandbox_that_is_not_installed_is_missed_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(typer.BadParameter, match="bubblewrap is not installed"):
        agents("mine", text=BOXED.format(program="/bin/cat"))


def test_an_interpreter_with_a_script_is_a_program() -> None:
    (made,) = agents(run=sys.executable, arguments=("-u", "/srv/agent.py"))
    assert made.command[1:] == ("-u", "/srv/agent.py")
