"""`up`, `daemon`, `demo` and `doctor`: what they hand on. That it works is shown in tests/acceptance."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from taskyard.cli.day import a_days_work
from taskyard.sdk.clock import now
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub, a_task


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    """A module in place of one that would start processes."""
    module = ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


def test_up_hands_on_its_options(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def up(**options: Any) -> int:
        given.update(options)
        return 7

    stand_in(monkeypatch, "taskyard.hub.main", up=up)
    monkeypatch.setenv("TASKYARD_PORT", "9000")
    monkeypatch.setenv("TASKYARD_PROFILE", "service")
    monkeypatch.setenv("TASKYARD_CONFIG", "yard.toml")
    monkeypatch.setenv("TASKYARD_DATABASE", "postgresql://here/yard")
    assert cli("up", "--data", "somewhere", "--no-daemon").code == 7
    assert given == {
        "data": "somewhere",
        "host": None,
        "port": 9000,
        "profile": "service",
        "config": "yard.toml",
        "daemon": False,
        "database": "postgresql://here/yard",
        "accept_rewind": False,
        "new_admin_key": False,
    }
    assert cli("up", "--new-admin-key").code == 7
    assert given["new_admin_key"] is True


def test_up_with_gateways_says_what_to_do_instead_and_starts_nothing(cli: Cli, tmp_path: Path) -> None:
    said = cli("up", "--data", str(tmp_path / "yard"), "--gateways", "2")
    assert (said.code, said.out) == (2, "")
    assert "run several hubs on PostgreSQL" in said.err
    assert said.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_days_work_has_something_of_everything() -> None:
    at = now()
    work = a_days_work(at)
    names = [task["name"] for task in work if "name" in task]
    assert 24 <= len(work) <= 60
    assert len(names) == len(set(names))
    assert {task["type"] for task in work} == {"echo", "demo"}
    assert {task.get("priority") for task in work} >= {"critical", "high", "normal", "low"}
    for index, task in enumerate(work):
        earlier = {before.get("name") for before in work[:index]}
        assert set(task.get("depends_on", [])) <= earlier
    assert all(task["scheduled_for"] > at for task in work if "scheduled_for" in task)  # type: ignore[operator]
    assert any("deadline" in task for task in work)


def test_the_demo_hands_in_a_days_work(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks/batch", Reply(status=201, body={"tasks": [a_task(created_at=None)], "rejected": []}))
    assert cli("demo") == (
        0,
        "REF    STATUS  PRIORITY  TYPE  QUEUE    CREATED  TITLE\n"
        "T-002  queued  normal    echo  default  -        hello\n",
        "1 tasks made. Watch them: taskyard watch\n",
    )
    assert len(hub.calls[0].body["tasks"]) == len(a_days_work(now()))
    assert len(json.loads(cli("demo", "--json").out)["tasks"]) == 1


@pytest.mark.parametrize(("state", "code"), [("ok", 0), ("warning", 0), ("failed", 1)])
def test_the_doctor_tells_what_it_found(cli: Cli, monkeypatch: pytest.MonkeyPatch, state: str, code: int) -> None:
    from taskyard.hub.findings import Finding, Health

    finding = Finding("disk", Health(state), "12 GB free")
    asked: list[tuple[str | bool | None, ...]] = []

    def examine(data: str | None, config: str | None, database: str | None, *, deep: bool) -> list[Any]:
        asked.append((data, config, database, deep))
        return [finding]

    stand_in(monkeypatch, "taskyard.hub.doctor", examine=examine)
    width = max(len(state), len("STATE"))
    options = ("--data", "here", "--config", "yard.toml", "--database", "postgresql://db/yard", "--deep")
    assert cli("doctor", *options) == (
        code,
        f"CHECK  {'STATE'.ljust(width)}  FOUND\ndisk   {state.ljust(width)}  12 GB free\n",
        "",
    )
    assert asked == [("here", "yard.toml", "postgresql://db/yard", True)]
    assert json.loads(cli("doctor", "--json").out) == [{"name": "disk", "state": state, "detail": "12 GB free"}]


class RecordingDaemon:
    """Takes what the real one takes, and serves nothing."""

    made: ClassVar[list[Any]] = []
    ending: Exception | None = None

    def __init__(self, hub: str, key: str, **options: Any) -> None:
        self.options = {"hub": hub, "key": key, **options}
        self.hub = hub
        self.name = options["name"]
        self.slots = options["slots"]
        self.builtin = False
        self.made.append(self)

    def use_builtin(self) -> None:
        self.builtin = True

    def run(self, **options: Any) -> None:
        if self.ending:
            raise self.ending


def test_the_daemon_serves_the_built_in_types(hub: StubHub, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from taskyard.daemon.connection import HubRefused
    from taskyard.daemon.journal import JournalLocked

    RecordingDaemon.made, RecordingDaemon.ending = [], None
    stand_in(monkeypatch, "taskyard.daemon.daemon", Daemon=RecordingDaemon)
    arguments = [
        "daemon",
        "--data",
        "here",
        "--name",
        "mac/1",
        "--slots",
        "3",
        "--capabilities",
        "gpu, browser",
        "--types",
        "echo",
    ]
    assert cli(*arguments) == (0, "", f"Daemon mac/1 dials {hub.url} with 3 slots. Ctrl-C stops it.\n")
    (made,) = RecordingDaemon.made
    assert made.builtin
    assert made.options == {
        "hub": hub.url,
        "key": "ty_test",
        "name": "mac/1",
        "slots": 3,
        "capabilities": ["gpu", "browser"],
        "models": (),
        "types": ["echo"],
        "data_dir": Path("here/daemons/mac_1"),
        "shared": False,
        "ephemeral": False,
        "on_loss": "continue",
        "away_s": 300.0,
        "narrates": False,
    }
    RecordingDaemon.ending = HubRefused("This key may not run tasks.")
    result = cli("daemon")
    assert result.code == 4
    _, said = result.err.splitlines()
    assert said.startswith(f"taskyard: This key may not run tasks. {hub.url} was called with the key in TASKYARD_KEY: ")
    RecordingDaemon.ending = JournalLocked("Another process uses it.")
    assert cli("daemon").code == 1


def test_a_daemon_tells_of_its_work_where_somebody_watches_and_wants_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    RecordingDaemon.made, RecordingDaemon.ending = [], None
    stand_in(monkeypatch, "taskyard.daemon.daemon", Daemon=RecordingDaemon)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert "Ctrl-C stops it." in cli("daemon").err
    assert cli("daemon", "--quiet").err == ""
    assert [made.options["narrates"] for made in RecordingDaemon.made] == [True, False]


def test_whose_tasks_a_daemon_runs_is_said_by_its_key_and_by_nothing_else(cli: Cli) -> None:
    result = cli("daemon", "--user", "ada")
    assert result.code == 2
    assert "give it a key of theirs" in result.err


def test_a_type_that_nobody_here_runs_is_wrong_use(cli: Cli) -> None:
    result = cli("daemon", "--types", "echo,analysis")
    assert result.code == 2
    assert "this daemon runs echo, demo, not analysis" in result.err
