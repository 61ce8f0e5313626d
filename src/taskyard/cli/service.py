"""`taskyard daemon install|uninstall|status`: a daemon that the machine keeps running.

By systemd for a user, or launchd; nothing here needs root. What cannot be done is said before anything is written.
"""

import dataclasses
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from taskyard.cli import output, units
from taskyard.cli.agents import TakesCommand
from taskyard.cli.options import Yard, expanded
from taskyard.cli.yard import DaemonOptions, daemon, daemon_and_variables
from taskyard.files.private import open_private

NO: Final = 1
COMMAND_S: Final = 30

DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print what would be written, and change nothing.")]
EnvOption = Annotated[
    list[str] | None,
    typer.Option(
        "--env", metavar="NAME", help="Keep this variable for it, in a file that only you can read. Can be repeated."
    ),
]
NameOption = Annotated[str | None, typer.Option("--name", help="Its name [this machine's].")]


class RunsByDefault(TyperGroup):
    """`taskyard daemon --slots 2` runs one; `taskyard daemon install` does something about one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["run", *args])


app = typer.Typer(
    cls=RunsByDefault,
    help="Run a daemon, or have this machine keep one running.",
    no_args_is_help=False,
    rich_markup_mode=None,
    add_completion=False,
)
app.command("run", cls=TakesCommand, epilog="Kept running by the machine: taskyard daemon install, status, uninstall.")(
    daemon
)


class CannotInstall(Exception):
    """Nothing was changed; the message says why, and what to do."""


@app.command(cls=TakesCommand)
@expanded
def install(options: DaemonOptions, yard: Yard, env: EnvOption = None, dry_run: DryRunOption = False) -> int:
    """Keep a daemon with these options running, also after a restart of the machine. Takes what `daemon` takes."""
    try:
        service = _service(options, yard, env or [])
        if dry_run:
            for path, content in _files(_without_secrets(service, env or [])).items():
                output.say(f"# {path}\n{content}")
            return 0
        supervisor = _supervisor()
    except CannotInstall as error:
        output.note(f"taskyard: {error}")
        return NO
    for path, content in _files(service).items():
        _write(path, content)
    for command in supervisor.begins(service.name):
        if (trouble := _trouble(command)) is not None:
            output.note(f"taskyard: {' '.join(command)} says: {trouble}")
            return NO
    output.say(f"Daemon {service.name} is installed and runs. See it: taskyard daemon status --name {service.name}")
    output.note(supervisor.hint)
    return 0


@app.command()
@expanded
def uninstall(name: NameOption = None, dry_run: DryRunOption = False) -> int:
    """Stop an installed daemon, which hands back what it cannot finish, and remove its service. Its data stays."""
    name = name or socket.gethostname()
    files = [path for path in _places(name) if path.exists()]
    if not files:
        output.note(f"taskyard: no daemon {name} is installed for this user.")
        return NO
    if dry_run:
        output.say("\n".join(f"would remove {path}" for path in files))
        return 0
    try:
        supervisor = _supervisor()
    except CannotInstall as error:
        output.note(f"taskyard: {error}")
        return NO
    for command in supervisor.ends(name):
        if (trouble := _trouble(command, within_s=600)) is not None:
            output.note(f"taskyard: {' '.join(command)} says: {trouble}")
    for path in files:
        path.unlink(missing_ok=True)
    for command in supervisor.tidies():
        _trouble(command)
    output.say(f"Daemon {name} is stopped and no longer installed.")
    return 0


@app.command()
@expanded
def status(yard: Yard, name: NameOption = None) -> int:
    """How a daemon of this machine stands, and what it still owes the hub. Exits with 1 if it does not run."""
    from taskyard.daemon.standing import standing_of
    from taskyard.sdk.credentials import data_directory

    name = name or socket.gethostname()
    found = standing_of(data_directory(yard.data) / "daemons" / name.replace(os.sep, "_"))
    installed = next((str(path) for path in _places(name) if path.exists()), None)
    if yard.json:
        output.say_json({"name": name, "installed": installed, **vars(found)})
    else:
        output.say(f"{name} {f'runs, process {found.pid}' if found.pid else 'does not run'}")
        output.say(f"  installed   {installed or 'no; `taskyard daemon install` does it'}")
        output.say(f"  owes        {found.outcomes} outcomes, {found.outcome_bytes / 1e6:.1f} MB, in {found.directory}")
        output.say(f"  agents      {found.agents} with files kept")
    return 0 if found.pid else NO


# --- what is written -----------------------------------------------------------------------------------------------


def _service(options: DaemonOptions, yard: Yard, kept: list[str]) -> units.Service:
    """As `taskyard daemon` would run it here and now: what that refuses is refused here."""
    from taskyard.sdk.credentials import data_directory

    options.name = options.name or socket.gethostname()
    if units.NAME.fullmatch(options.name) is None:
        raise CannotInstall(f"{options.name!r} cannot be a service's name: give it letters, digits, . _ - with --name.")
    if unset := [name for name in kept if name not in os.environ]:
        raise typer.BadParameter(f"{unset[0]} is not set here", param_hint="--env")
    made, read = daemon_and_variables(options, yard=yard)
    data = data_directory(yard.data).resolve()
    environment = {"TASKYARD_DATA": str(data), "PATH": os.environ.get("PATH", os.defpath)}
    if yard.key or os.environ.get("TASKYARD_KEY"):
        environment |= {"TASKYARD_HUB": made.hub, "TASKYARD_KEY": yard.key or os.environ["TASKYARD_KEY"]}
    for name in dict.fromkeys(read):
        if name in os.environ and name not in kept:
            output.note(
                f"{name} is set here, and the service will not have it. "
                f"If its agents need it, install with --env {name}: that keeps it in a file only you can read."
            )
    environment |= {name: os.environ[name] for name in kept}
    return units.Service(
        name=options.name,
        command=[sys.executable, "-m", "taskyard.cli", "daemon", *units.arguments_of(options)],
        environment=environment,
        directory=Path.cwd(),
        stop_s=int(options.drain_s) + units.STOP_SPARE_S,
        log=data / "daemons" / f"{options.name}.log",
    )


def _is_mac() -> bool:
    return sys.platform == "darwin"


def _places(name: str) -> list[Path]:
    """The service's own file first."""
    if _is_mac():
        return [Path.home() / "Library" / "LaunchAgents" / f"{units.label_of(name)}.plist"]
    configuration = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return [configuration / "systemd" / "user" / units.unit_of(name), configuration / "taskyard" / f"{name}.env"]


def _files(service: units.Service) -> dict[Path, str]:
    places = _places(service.name)
    if _is_mac():
        return {places[0]: units.launchd_list(service)}
    return {places[0]: units.systemd_unit(service, places[1]), places[1]: units.systemd_environment(service)}


def _without_secrets(service: units.Service, kept: list[str]) -> units.Service:
    hidden = ("TASKYARD_KEY", *kept)
    shown = {name: "…" if name in hidden else value for name, value in service.environment.items()}
    return dataclasses.replace(service, environment=shown)


def _write(path: Path, content: str) -> None:
    """Whole or not at all, and for nobody else to read: a key may be in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    with open(fresh, "x", opener=open_private) as file:
        file.write(content)
    fresh.rename(path)


# --- who keeps it running ------------------------------------------------------------------------------------------


class Systemd:
    hint = "So that it runs while you are not logged in: loginctl enable-linger"

    def begins(self, name: str) -> list[list[str]]:
        systemctl = ["systemctl", "--user"]
        unit = units.unit_of(name)
        return [[*systemctl, "daemon-reload"], [*systemctl, "enable", unit], [*systemctl, "restart", unit]]

    def ends(self, name: str) -> list[list[str]]:
        return [["systemctl", "--user", "disable", "--now", units.unit_of(name)]]

    def tidies(self) -> list[list[str]]:
        return [["systemctl", "--user", "daemon-reload"]]


class Launchd:
    hint = "It runs whenever you are logged in."

    def begins(self, name: str) -> list[list[str]]:
        return [["launchctl", "bootstrap", f"gui/{os.getuid()}", str(_places(name)[0])]]

    def ends(self, name: str) -> list[list[str]]:
        return [["launchctl", "bootout", f"gui/{os.getuid()}/{units.label_of(name)}"]]

    def tidies(self) -> list[list[str]]:
        return []


def _supervisor() -> Systemd | Launchd:
    if _is_mac():
        return Launchd()
    instead = "`taskyard daemon install --dry-run` prints the unit, for whatever starts programs here."
    if shutil.which("systemctl") is None:
        raise CannotInstall(f"this machine has no systemd. {instead}")
    if (trouble := _trouble(["systemctl", "--user", "show-environment"])) is not None:
        raise CannotInstall(f"systemd does not run services for this user here ({trouble}). {instead}")
    return Systemd()


def _trouble(command: list[str], *, within_s: float = COMMAND_S) -> str | None:
    """What went wrong with it, in its own words; None: nothing."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=within_s, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    return (done.stderr or done.stdout).strip().replace("\n", " ") or f"exit code {done.returncode}"
