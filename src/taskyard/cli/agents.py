"""Which agents a daemon serves: ready ones and configured ones by name, and a program from the command line."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from taskyard.daemon.command.configuration import Agent


COMMAND: Final = "-- COMMAND"
_RUNS: Final = "is the path right, and the file executable (chmod +x)?"


class TakesCommand(TyperCommand):
    """A command whose only arguments stand behind `--`: elsewhere a word is most likely a slip of the pen."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [self.options_metavar or "", "[-- COMMAND ARG…]"]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = list(args)
        rest = super().parse_args(ctx, args)
        command = ctx.params.get("command") or []
        if command and given[: -len(command)][-1:] != ["--"]:
            raise typer.BadParameter(
                f"{command[0]} is not known here; a program to run tasks with stands behind --, with its arguments",
                param_hint=COMMAND,
            )
        return rest


def agents_of(
    *,
    names: list[str],
    run: str | None,
    arguments: list[str],
    command: list[str],
    types: list[str] | None,
    models: list[str] | None,
    config: Path,
) -> "list[Agent]":
    """`command` is a program with its arguments, in the place of `run` and `arguments`.

    Raises `typer.BadParameter` for what cannot be served, before anything was begun.
    """
    from taskyard.daemon.command.checking import BadAgents

    if arguments and run is None:
        raise typer.BadParameter("these are the arguments of --run FILE", param_hint="--argument")
    if command and run is not None:
        raise typer.BadParameter("a daemon runs one of them: leave --run FILE or the command out", param_hint=COMMAND)
    option = "--run"
    if command:
        run, arguments, option = command[0], command[1:], COMMAND
    try:
        agents = [_named(name, config) for name in dict.fromkeys(names)]
    except BadAgents as error:
        raise typer.BadParameter(str(error), param_hint="--agent") from error
    if run is not None:
        agents.append(_from_command_line(run, arguments))
    for agent in agents:
        _check_program(agent, option if run is not None and agent is agents[-1] else "--agent")
    if len(agents) == 1:
        agents = [_limited(agents[0], types, models)]
    elif len(agents) > 1 and (types is not None or models is not None):
        raise typer.BadParameter(
            "several agents are served: say in the configuration file which types and models each has",
            param_hint="--types" if types is not None else "--models",
        )
    _check(agents)
    return agents


def _named(name: str, config: Path) -> "Agent":
    from taskyard.daemon.command.checking import BadAgents, read_agents
    from taskyard.daemon.command.recipes import RECIPES

    known = {**RECIPES, **read_agents(config)}
    if name not in known:
        raise BadAgents(
            f"there is no agent {name}: {config} has no section agents.{name}; ready are {', '.join(RECIPES)}"
        )
    return known[name]


def _from_command_line(run: str, arguments: list[str]) -> "Agent":
    from taskyard.daemon.command.configuration import Agent

    # A path is meant from here; a daemon's work runs elsewhere.
    program = str(Path(run).expanduser().resolve()) if "/" in run else run
    return Agent(command=(program, *arguments))


def _limited(agent: "Agent", types: list[str] | None, models: list[str] | None) -> "Agent":
    from msgspec.structs import replace

    if types is not None:
        agent = replace(agent, types=tuple(types))
    if models:
        known = agent.model_names
        agent = replace(agent, models={name: known.get(name, name) for name in models}, default_model=models[0])
    return agent


def _check_program(agent: "Agent", option: str) -> None:
    from taskyard.daemon.process.interpreter import lack_of

    program = agent.command[0]
    if (found := shutil.which(program)) is not None:
        if (lack := lack_of(found)) is not None:
            raise typer.BadParameter(f"{program} cannot be run: {lack}", param_hint=option)
        _check_sandbox(agent, Path(found).resolve())
        return
    instead = {
        "--run": f"{_RUNS} Arguments go into --argument",
        COMMAND: _RUNS,
        "--agent": "install it, or write the whole path as the first word of its command",
    }
    raise typer.BadParameter(f"{program} is not a program on this machine: {instead[option]}", param_hint=option)


def _check_sandbox(agent: "Agent", program: Path) -> None:
    from taskyard.daemon.process.sandbox import MISSING, OWN_TMP, Bubblewrap

    if agent.sandbox != "bubblewrap":
        return
    sandbox = Bubblewrap(writable=agent.writable, hidden=agent.hidden)
    if not sandbox.is_installed:
        raise typer.BadParameter(MISSING, param_hint="--agent")
    if sandbox.hides(program):
        raise typer.BadParameter(
            f"{program} cannot be seen in its sandbox, which has a {OWN_TMP} of its own and nothing of what is hidden: "
            "keep the program elsewhere",
            param_hint="--agent",
        )


def _check(agents: "list[Agent]") -> None:
    from taskyard.daemon.command.checking import faults_of

    served: set[str] = set()
    for agent in agents:
        if faults := list(faults_of(agent)):
            raise typer.BadParameter("; ".join(faults), param_hint="--agent")
        if agent.directory is not None and not Path(agent.directory).is_dir():
            raise typer.BadParameter(
                f"{agent.directory} is not a directory on this machine: make it, or leave directory out",
                param_hint="--agent",
            )
        types = set(agent.types or ("*",))
        if both := sorted(served & types):
            what = "all types" if both == ["*"] else ", ".join(both)
            raise typer.BadParameter(f"two agents serve {what}: give each types of its own", param_hint="--agent")
        served |= types
