"""Commands that bring a yard to life and keep it: `up`, `daemon`, `demo`, `backup`, `doctor`."""

import dataclasses
import logging
import os
import socket
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from taskyard.cli import output
from taskyard.cli.agents import agents_of
from taskyard.cli.card import task_table
from taskyard.cli.endpoints import endpoints_of
from taskyard.cli.options import DatabaseOption, JsonOption, Yard, expanded
from taskyard.vocabulary import OnLoss

if TYPE_CHECKING:
    from taskyard.daemon.command.configuration import Agent
    from taskyard.daemon.daemon import Daemon
    from taskyard.daemon.openai.agent import OpenAIAgent
    from taskyard.daemon.own_section import OwnSection

NO: Final = 1
WRONG_USE: Final = 2
NOT_ALLOWED: Final = 4

DataOption = Annotated[
    str | None,
    typer.Option("--data", metavar="DIR", envvar="TASKYARD_DATA", help="Where everything is kept."),
]

ConfigOption = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", envvar="TASKYARD_CONFIG", help="[taskyard.toml in the data]"),
]


@dataclasses.dataclass
class HubOptions:
    """As `hub.main.up` takes them. What is not given here may be in the configuration file."""

    data: DataOption = None
    host: Annotated[str | None, typer.Option("--host", envvar="TASKYARD_HOST", help="Where to listen [127.0.0.1].")] = (
        None
    )
    port: Annotated[int | None, typer.Option("--port", envvar="TASKYARD_PORT", min=0, max=65_535, help="[8420]")] = None
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile", metavar="local|service", envvar="TASKYARD_PROFILE", help="Whether you are limited too [local]."
        ),
    ] = None
    config: ConfigOption = None
    daemon: Annotated[bool, typer.Option("--daemon/--no-daemon", help="Bring up a local daemon too.")] = True
    database: DatabaseOption = None
    accept_rewind: Annotated[
        bool, typer.Option("--accept-rewind", help="This data is an older copy, and that is meant.")
    ] = False
    new_admin_key: Annotated[
        bool, typer.Option("--new-admin-key", help="Make another admin key, even if the yard has one.")
    ] = False


@expanded
def up(
    options: HubOptions,
    gateways: Annotated[str | None, typer.Option("--gateways", metavar="N", hidden=True)] = None,
) -> int:
    """Start a hub, and a local daemon with it."""
    if gateways is not None:
        output.note(
            "taskyard: --gateways is gone: to use more cores, run several hubs on PostgreSQL, on one machine as on "
            'many; see "More cores" in docs/operating.md.'
        )
        return WRONG_USE
    from taskyard.hub.main import up as start

    return start(**vars(options))


@dataclasses.dataclass
class DaemonOptions:
    name: Annotated[str | None, typer.Option("--name", help="Its name [this machine's].")] = None
    slots: Annotated[int | None, typer.Option("--slots", min=1, help="Tasks at a time [5].")] = None
    capabilities: Annotated[str | None, typer.Option("--capabilities", metavar="A,B", help="What it can do.")] = None
    models: Annotated[str | None, typer.Option("--models", metavar="M,N", help="Models it serves.")] = None
    types: Annotated[
        str | None, typer.Option("--types", metavar="T,U", help="Types it runs [what it can: of an agent, all].")
    ] = None
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="NAME",
            help="Run tasks with this agent: claude, codex, gemini, aider, ollama, "
            "or one of the configuration file. Can be repeated.",
        ),
    ] = None
    run: Annotated[
        str | None, typer.Option("--run", metavar="FILE", help="Run tasks with this program, without a shell.")
    ] = None
    argument: Annotated[
        list[str] | None, typer.Option("--argument", metavar="A", help="An argument of that program. Can be repeated.")
    ] = None
    openai: Annotated[
        list[str] | None,
        typer.Option(
            "--openai",
            metavar="URL",
            help="Run tasks with a model behind this OpenAI-compatible address, "
            "or one of that name in the configuration file. Can be repeated.",
        ),
    ] = None
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="M", help="A model of that address [all it has]. Can be repeated."),
    ] = None
    key_env: Annotated[
        str | None,
        typer.Option("--key-env", metavar="NAME", help="The variable with its key [TASKYARD_OPENAI_KEY]."),
    ] = None
    config: ConfigOption = None
    shared: Annotated[bool, typer.Option("--shared", help="For all users (needs an admin's key).")] = False
    ephemeral: Annotated[
        bool, typer.Option("--ephemeral", help="It does not come back: the hub forgets it when it is gone.")
    ] = False
    on_loss: Annotated[
        OnLoss,
        typer.Option("--on-loss", help="What becomes of agents when this daemon dies, or the hub is lost."),
    ] = OnLoss.CONTINUE
    away_s: Annotated[
        float, typer.Option("--away-s", min=0, help="How long they go on without a daemon; the next one takes them up.")
    ] = 300.0
    drain_s: Annotated[float, typer.Option("--drain-s", min=0, help="To finish in, when asked to leave.")] = 25.0
    quiet: Annotated[
        bool,
        typer.Option("--quiet", help="Say only what is wrong, and in a terminal not each task that begins or ends."),
    ] = False
    with_input: Annotated[
        bool, typer.Option("--with-input", hidden=True, help="Leave when standard input, a pipe, ends.")
    ] = False
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COMMAND ARG…", help="Run tasks with this program and these arguments, without a shell."
        ),
    ] = None


@expanded
def daemon(options: DaemonOptions, yard: Yard) -> int:
    """Run a daemon: with agents for real work, without any for tasks of the types echo and demo. Ctrl-C stops it."""
    from taskyard.daemon.connection import HubRefused
    from taskyard.daemon.journal import JournalLocked

    runner = make_daemon(options, yard=yard)
    log = logging.getLogger("taskyard.daemon")
    log.setLevel(logging.WARNING if options.quiet else logging.INFO)
    log.handlers = [Notes()]
    slots = "1 slot" if runner.slots == 1 else f"{runner.slots} slots"
    if not options.quiet:
        output.note(f"Daemon {runner.name} dials {runner.hub} with {slots}. Ctrl-C stops it.")
    try:
        leaves_with = sys.stdin.fileno() if options.with_input else None
        runner.run(drain_s=options.drain_s, anew=partial(_anew, options, yard), leaves_with=leaves_with)
    except HubRefused as error:
        output.note(f"taskyard: {str(error).removesuffix('.')}. {yard.about_key(runner.hub)}")
        return NOT_ALLOWED
    except JournalLocked as error:
        output.note(f"taskyard: {error}")
        return NO
    return 0


def _anew(options: DaemonOptions, yard: Yard) -> "Daemon":
    """As it would be made now: its file may say something else than before."""
    from taskyard.sdk.errors import TaskyardError

    try:
        return make_daemon(options, yard=yard)
    except typer.BadParameter as error:
        raise ValueError(error.message) from error
    except (TaskyardError, OSError) as error:
        raise ValueError(str(error)) from error


class Notes(logging.Handler):
    """What a library logs goes where everything said beside an answer goes."""

    def emit(self, record: logging.LogRecord) -> None:
        output.note(self.format(record))


def make_daemon(options: DaemonOptions, *, yard: Yard) -> "Daemon":
    return daemon_and_variables(options, yard=yard)[0]


def daemon_and_variables(options: DaemonOptions, *, yard: Yard) -> "tuple[Daemon, list[str]]":
    """Also which variables of the environment its agents read."""
    from taskyard.daemon.command.configuration import FILE_NAME
    from taskyard.daemon.openai.configuration import key_names
    from taskyard.sdk.credentials import data_directory

    if yard.user is not None:
        raise typer.BadParameter(
            "a daemon runs its key's tasks: give it a key of theirs, or --shared", param_hint="--user"
        )
    config = Path(options.config) if options.config else data_directory(yard.data) / FILE_NAME
    own = _own_section(config)
    types = list(own.types) or None if options.types is None else names_of(options.types)
    agents, endpoints = _runners(options, types, config)
    made = _bare_daemon(options, own, types, yard=yard)
    for agent in agents:
        made.use_program(agent)
    try:
        for endpoint in endpoints:
            made.use_model(endpoint)
    except ValueError as error:
        raise typer.BadParameter(f"{error}: give each types of its own", param_hint="--openai") from error
    if not agents and not endpoints:
        made.use_builtin()
    read = [name for agent in agents for name in agent.inherit]
    return made, [*read, *(name for endpoint in endpoints for name in key_names(endpoint.endpoint))]


def _runners(options: DaemonOptions, types: list[str] | None, config: Path) -> "tuple[list[Agent], list[OpenAIAgent]]":
    """Who runs its tasks: programs and models; without either, only the types that are built in can be asked for."""
    from taskyard.daemon.builtin import BUILTIN

    agents = agents_of(
        names=options.agent or [],
        run=options.run,
        arguments=options.argument or [],
        command=options.command or [],
        types=types,
        models=names_of(options.models),
        config=config,
    )
    endpoints = endpoints_of(
        asked=options.openai or [],
        models=options.model or (names_of(options.models) if options.openai and not agents else None),
        types=types,
        key_env=options.key_env,
        config=config,
    )
    if not agents and not endpoints and (unknown := sorted(set(types or ()) - set(BUILTIN))):
        raise typer.BadParameter(
            f"this daemon runs {', '.join(BUILTIN)}, not {', '.join(unknown)}: "
            "for others it needs --agent, --run, --openai or a command behind --",
            param_hint="--types",
        )
    return agents, endpoints


def _bare_daemon(options: DaemonOptions, own: "OwnSection", types: list[str] | None, *, yard: Yard) -> "Daemon":
    """One that has nothing to run tasks with yet."""
    from taskyard.daemon.daemon import Daemon
    from taskyard.sdk.credentials import data_directory, find_credentials

    credentials = find_credentials(yard.data, yard.hub, yard.key)
    name = options.name or socket.gethostname()
    return Daemon(
        credentials.hub,
        credentials.key,
        name=name,
        slots=options.slots or own.slots,
        capabilities=own.capabilities if options.capabilities is None else names_of(options.capabilities) or (),
        models=own.models if options.models is None else names_of(options.models) or (),
        types=types,
        data_dir=data_directory(yard.data) / "daemons" / name.replace(os.sep, "_"),
        shared=options.shared,
        ephemeral=options.ephemeral,
        on_loss=options.on_loss,
        away_s=options.away_s,
        # A file would grow by two lines a task, and the hub has all of it.
        narrates=sys.stderr.isatty() and not options.quiet,
    )


def _own_section(config: Path) -> "OwnSection":
    from taskyard.daemon.own_section import BadSection, read_own_section

    try:
        return read_own_section(config)
    except BadSection as error:
        raise typer.BadParameter(str(error), param_hint="--config") from error


def names_of(text: str | None) -> list[str] | None:
    """`a, b` as a list; None if nothing was said."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


@expanded
def demo(yard: Yard) -> None:
    """Fill the yard with a lively day's work."""
    from taskyard.cli.day import a_days_work
    from taskyard.sdk.clock import now

    batch = yard.client.submit_batch(a_days_work(now()))
    if yard.json:
        output.say_json(batch)
    else:
        task_table(batch.tasks)
        output.note(f"{len(batch.tasks)} tasks made. Watch them: taskyard watch")


@expanded
def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file that does not exist yet.")],
    data: DataOption = None,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Copy the hub's database to a new file. The hub may run meanwhile."""
    from taskyard.hub.backup import CannotBackUp, back_up
    from taskyard.hub.yard import DATABASE
    from taskyard.sdk.credentials import data_directory

    try:
        copy = back_up(data, file, database=database)
    except CannotBackUp as error:
        output.note(f"taskyard: {error}")
        return NO
    size = copy.stat().st_size
    if as_json:
        output.say_json({"file": str(copy), "bytes": size})
    else:
        output.say(f"{copy} has a copy of {data_directory(data).resolve() / DATABASE} ({size / 1e6:.1f} MB).")
    return 0


@expanded
def doctor(
    data: DataOption = None,
    config: ConfigOption = None,
    database: DatabaseOption = None,
    deep: Annotated[bool, typer.Option("--deep", help="Read every record of the database too.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Check this installation and its data. Exits with 1 if something is wrong."""
    from taskyard.hub.doctor import examine
    from taskyard.hub.findings import Health

    findings = examine(data, config, database, deep=deep)
    if as_json:
        output.say_json(findings)
    else:
        output.table(
            ("CHECK", "STATE", "FOUND"),
            [(finding.name, str(finding.state), finding.detail) for finding in findings],
        )
    return NO if any(finding.state == Health.FAILED for finding in findings) else 0
