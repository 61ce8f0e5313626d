"""`taskyard daemon install|uninstall|status`: what is written, what the supervisor is told, what is refused."""

import json
import os
import plistlib
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from taskyard.cli import units
from taskyard.cli.main import run
from taskyard.cli.yard import DaemonOptions
from taskyard.daemon.journal import Journal
from taskyard.daemon.orders import Batch
from taskyard.vocabulary import OnLoss
from tests.support.live import Said, environment, wait_until

KEY: Final = "ty_a_secret_key"
SYSTEMCTL: Final = """\
#!/bin/sh
echo "$@" >> "{told}"
[ "$2" != "{fails}" ] || {{ echo 'Failed to connect to bus' >&2; exit 1; }}
"""


class Machine:
    """A home, and a systemctl that writes down what it is told."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.home = directory / "home"
        self.tools = directory / "tools"
        self.told = directory / "told"
        for path in (self.home, self.tools):
            path.mkdir()

    def has_systemd(self, *, fails: str = "nothing") -> None:
        tool = self.tools / "systemctl"
        tool.write_text(SYSTEMCTL.format(told=self.told, fails=fails))
        tool.chmod(0o700)

    def has_program(self, name: str) -> None:
        program = self.tools / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o700)

    def taskyard(self, *arguments: str, **env: str) -> Said:
        """The command with this home and these tools, in this process."""
        known = {"HOME": str(self.home), "PATH": str(self.tools), "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": ""}
        hub = {"TASKYARD_HUB": "http://hub:8420", "TASKYARD_KEY": KEY}
        with self._monkeypatch.context() as patch:
            for name in filter(lambda name: name.startswith("TASKYARD_"), list(os.environ)):
                patch.delenv(name)
            for name, value in {**known, **hub, **env}.items():
                patch.setenv(name, value)
            code = run(arguments)
        return Said(code, *self._capsys.readouterr())

    @property
    def unit(self) -> Path:
        return self.home / ".config" / "systemd" / "user" / "taskyard-daemon-mill.service"

    @property
    def variables(self) -> Path:
        return self.home / ".config" / "taskyard" / "mill.env"

    @property
    def files(self) -> list[Path]:
        return [path for path in self.home.rglob("*") if path.is_file()]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Machine:
    return Machine(tmp_path, monkeypatch, capsys)


def a_service(**changes: object) -> units.Service:
    usual: dict[str, object] = {
        "name": "mill",
        "command": ["/usr/bin/python3", "-m", "taskyard.cli", "daemon"],
        "environment": {"TASKYARD_KEY": KEY},
        "directory": Path("/srv"),
        "stop_s": 45,
        "log": Path("/tmp/mill.log"),
    }
    return units.Service(**{**usual, **changes})  # type: ignore[arg-type]


# --- the text --------------------------------------------------------------------------------------------------


def test_only_options_that_were_given_become_arguments() -> None:
    options = DaemonOptions(name="mill", slots=2, argument=["--", "{input}"], shared=True, on_loss=OnLoss.KILL)
    assert units.arguments_of(options) == [
        "--name=mill",
        "--slots=2",
        "--argument=--",
        "--argument={input}",
        "--shared",
        "--on-loss=kill",
    ]


def test_a_command_stands_behind_the_options() -> None:
    options = DaemonOptions(command=["agent", "-p", "--", "{input}"], name="mill")
    assert units.arguments_of(options) == ["--name=mill", "--", "agent", "-p", "--", "{input}"]
    assert units.arguments_of(DaemonOptions(command=[])) == []


def test_nothing_in_an_argument_means_something_to_systemd() -> None:
    unit = units.systemd_unit(a_service(command=["agent", 'a "b" $HOME %h \\ c']), Path("/e/mill.env"))
    assert 'ExecStart="agent" "a \\"b\\" $$HOME %%h \\\\ c"\n' in unit


def test_a_unit_restarts_what_crashed_reloads_and_ends_only_the_daemon() -> None:
    lines = units.systemd_unit(a_service(), Path("/e/mill.env")).splitlines()
    for line in (
        "Restart=on-failure",
        "RestartPreventExitStatus=2 4",
        "KillMode=process",
        "TimeoutStopSec=45",
        "WorkingDirectory=/srv",
        "ExecReload=/bin/kill -HUP $MAINPID",
        "EnvironmentFile=/e/mill.env",
        "WantedBy=default.target",
    ):
        assert line in lines


def test_launchd_gets_the_same() -> None:
    written = plistlib.loads(units.launchd_list(a_service()).encode())
    assert written["Label"] == "dev.taskyard.daemon.mill"
    assert written["ProgramArguments"][-1] == "daemon"
    assert written["EnvironmentVariables"] == {"TASKYARD_KEY": KEY}
    assert written["KeepAlive"] == {"SuccessfulExit": False}
    assert written["AbandonProcessGroup"] is True
    assert written["ExitTimeOut"] == 45


# --- the commands ----------------------------------------------------------------------------------------------


def test_a_dry_run_prints_the_files_without_the_key_and_writes_nothing(machine: Machine) -> None:
    said = machine.taskyard("daemon", "install", "--name", "mill", "--slots", "2", "--dry-run")
    assert said.code == 0
    assert '"daemon" "--name=mill" "--slots=2"' in said.out
    assert 'TASKYARD_HUB="http://hub:8420"' in said.out
    assert KEY not in said.out
    assert machine.files == []


def test_an_installed_daemon_is_told_to_systemd_and_its_key_is_in_a_private_file(machine: Machine) -> None:
    machine.has_systemd()
    said = machine.taskyard("daemon", "install", "--name", "mill")
    assert said.code == 0, said.err
    assert machine.told.read_text().splitlines() == [
        "--user show-environment",
        "--user daemon-reload",
        "--user enable taskyard-daemon-mill.service",
        "--user restart taskyard-daemon-mill.service",
    ]
    assert KEY not in machine.unit.read_text()
    assert f'TASKYARD_KEY="{KEY}"' in machine.variables.read_text()
    assert machine.variables.stat().st_mode & 0o777 == 0o600
    assert "enable-linger" in said.err


PROVIDERS_KEY: Final = "sk-of-the-provider$1"


def test_a_key_that_its_agents_read_is_kept_for_the_service_if_asked_for(machine: Machine) -> None:
    # Given an agent whose key is in this terminal's environment
    machine.has_systemd()
    machine.has_program("claude")
    install = ["daemon", "install", "--name", "mill", "--agent", "claude", "--env", "ANTHROPIC_API_KEY"]

    # When it is installed with that variable, first for show
    shown = machine.taskyard(*install, "--dry-run", ANTHROPIC_API_KEY=PROVIDERS_KEY)
    said = machine.taskyard(*install, ANTHROPIC_API_KEY=PROVIDERS_KEY)

    # Then the key is in the private file alone, and nothing is missed
    assert 'ANTHROPIC_API_KEY="…"' in shown.out
    assert PROVIDERS_KEY not in shown.out + shown.err + said.out + said.err + machine.unit.read_text()
    assert 'ANTHROPIC_API_KEY="sk-of-the-provider\\$1"' in machine.variables.read_text()
    assert "of-the-provider" not in shown.out
    assert "will not have" not in shown.err + said.err


@pytest.mark.parametrize(
    ("serving", "variable"),
    [
        (["--agent", "claude"], "ANTHROPIC_API_KEY"),
        (["--openai", "http://ai/v1", "--model", "m"], "TASKYARD_OPENAI_KEY"),
    ],
)
def test_a_key_that_the_service_would_miss_is_named(machine: Machine, serving: list[str], variable: str) -> None:
    machine.has_program("claude")
    said = machine.taskyard("daemon", "install", "--name", "mill", *serving, "--dry-run", **{variable: PROVIDERS_KEY})
    assert said.code == 0, said.err
    assert f"{variable} is set here, and the service will not have it" in said.err
    assert f"--env {variable}" in said.err
    assert PROVIDERS_KEY not in said.out + said.err


def test_a_variable_that_is_not_set_cannot_be_kept(machine: Machine) -> None:
    said = machine.taskyard("daemon", "install", "--name", "mill", "--env", "NOBODYS_KEY", "--dry-run")
    assert said.code == 2
    assert "NOBODYS_KEY is not set here" in said.err
    assert machine.files == []


def test_what_was_installed_is_stopped_and_removed(machine: Machine) -> None:
    machine.has_systemd()
    machine.taskyard("daemon", "install", "--name", "mill")
    assert machine.taskyard("daemon", "uninstall", "--name", "mill", "--dry-run").out.startswith("would remove")
    said = machine.taskyard("daemon", "uninstall", "--name", "mill")
    assert said == Said(0, "Daemon mill is stopped and no longer installed.\n", "")
    assert "--user disable --now taskyard-daemon-mill.service" in machine.told.read_text()
    assert machine.files == []
    assert machine.taskyard("daemon", "uninstall", "--name", "mill").code == 1


def test_without_systemd_nothing_is_written_and_it_is_said_what_to_do(machine: Machine) -> None:
    said = machine.taskyard("daemon", "install", "--name", "mill")
    assert said.code == 1
    assert "this machine has no systemd" in said.err
    assert "--dry-run" in said.err
    assert machine.files == []


def test_where_systemd_does_not_serve_this_user_its_own_words_are_told(machine: Machine) -> None:
    machine.has_systemd(fails="show-environment")
    said = machine.taskyard("daemon", "install", "--name", "mill")
    assert said.code == 1
    assert "Failed to connect to bus" in said.err
    assert machine.files == []


@pytest.mark.parametrize("name", ["../x", "a b", "-x", "x" * 65])
def test_a_name_that_could_be_another_file_is_refused(machine: Machine, name: str) -> None:
    said = machine.taskyard("daemon", "install", f"--name={name}", "--dry-run")
    assert said.code == 1
    assert "cannot be a service's name" in said.err


def test_what_the_daemon_would_refuse_is_not_installed(machine: Machine) -> None:
    machine.has_systemd()
    said = machine.taskyard("daemon", "install", "--name", "mill", "--types", "nonsense")
    assert said.code == 2
    assert machine.files == []


# --- how it stands -----------------------------------------------------------------------------------------------


def test_status_tells_who_runs_and_what_is_owed(machine: Machine) -> None:
    # Given a directory in use, with an outcome that the hub has not acknowledged
    data = machine.home / "data"
    journal = Journal(data / "daemons" / "mill")
    journal.write([Batch(ended=[("t1", 1, b'{"a":1}')])])  # type: ignore[list-item]
    try:
        # When somebody asks
        said = machine.taskyard("daemon", "status", "--name", "mill", "--data", str(data), "--json")
    finally:
        journal.close()

    # Then they hear of both
    told = json.loads(said.out)
    assert said.code == 0
    assert (told["pid"], told["outcomes"], told["installed"]) == (os.getpid(), 1, None)


def test_a_daemon_that_was_never_there_does_not_run(machine: Machine) -> None:
    said = machine.taskyard("daemon", "status", "--name", "mill")
    assert said.code == 1
    assert said.out.startswith("mill does not run\n")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM], ids=["told by the terminal", "asked later"])
def test_a_daemon_whose_terminal_is_closed_leaves_in_good_order(machine: Machine, number: signal.Signals) -> None:
    # Given a daemon in a terminal
    known = {"HOME": str(machine.home), "TASKYARD_HUB": "http://127.0.0.1:1", "TASKYARD_KEY": KEY}
    with in_a_terminal("daemon", "--name", "mill", **known) as (daemon, terminal):
        read_until(terminal, b"not connected")

        # When that is closed
        os.close(terminal)
        daemon.send_signal(number)

        # Then it goes, and its last words, which nobody reads, are no failure
        assert daemon.wait(30) == 0


@pytest.mark.slow
def test_a_hub_whose_terminal_is_closed_goes_on_and_leaves_in_good_order(machine: Machine) -> None:
    # Given a hub in a terminal
    data = machine.home / "data"
    with in_a_terminal("up", "--no-daemon", "--port", "0", "--data", str(data)) as (hub, terminal):
        read_until(terminal, b"--no-daemon")

        # When that is closed, and there is something to be said
        os.close(terminal)
        (data / "taskyard.toml").write_text("[gateway]\nnonsense = 1\n")
        hub.send_signal(signal.SIGHUP)
        log = data / "hub.log"
        wait_until(lambda: "settings.refused" in log.read_text(), within_s=30, what="a refusal in the log")

        # Then it has gone on, and ends well when asked
        assert hub.poll() is None
        hub.terminate()
        assert hub.wait(30) == 0


@contextmanager
def in_a_terminal(*arguments: str, **env: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A command with Python's usual buffers, and our end of the terminal that it has for its output."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "taskyard.cli", *arguments]
    with subprocess.Popen(
        command, env=environment(PYTHONUNBUFFERED="", **env), stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        try:
            yield process, ours
        finally:
            if process.poll() is None:
                process.kill()


def read_until(terminal: int, words: bytes) -> None:
    said = b""
    while words not in said:
        said += os.read(terminal, 4096)


def test_without_a_word_about_services_a_daemon_is_run(machine: Machine) -> None:
    said = machine.taskyard("daemon", "--slots", "0")
    assert said.code == 2
    assert "Usage: taskyard daemon run" in said.err
