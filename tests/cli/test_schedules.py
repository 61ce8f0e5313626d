"""`taskyard schedule`."""

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from taskyard.sdk.clock import now
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub

PRESETS = [
    {"name": "every-5-minutes", "title": "Every 5 minutes", "every": "5m"},
    {"name": "hourly", "cron": "0 * * * *"},
]


@pytest.fixture
def schedule() -> dict[str, Any]:
    return {
        "id": "s_1",
        "name": "prices",
        "kind": "heartbeat",
        "every": "5m",
        "timezone": "Europe/Paris",
        "task": {"input": "a"},
        "enabled": True,
        "next_run_at": (now() + timedelta(minutes=3.5)).isoformat(),
        "last_run_at": (now() - timedelta(minutes=2, seconds=1)).isoformat(),
        "runs": 3,
        "skipped": 1,
    }


@pytest.fixture
def listed(hub: StubHub, schedule: dict[str, Any]) -> StubHub:
    hub.on("GET", "schedules", Reply(body=[schedule]))
    hub.on("GET", "schedules/prices", Reply(body=schedule))
    hub.on("GET", "schedules/presets", Reply(body=PRESETS))
    hub.on("POST", "schedules", Reply(status=201, body=schedule))
    hub.on("PATCH", "schedules/prices", Reply(body=schedule))
    return hub


def test_schedules_are_listed(listed: StubHub, cli: Cli) -> None:
    assert cli("schedule") == (
        0,
        "NAME    WHEN      NEXT      LAST       OUTCOME     RUNS  SKIPPED\n"
        "prices  every 5m  in 3 min  2 min ago  unfinished  3     1\n",
        "",
    )
    assert [each["id"] for each in json.loads(cli("schedule", "ls", "--json").out)] == ["s_1"]


def test_one_that_rests_and_never_ran_says_so(hub: StubHub, cli: Cli, schedule: dict[str, Any]) -> None:
    resting = {**schedule, "enabled": False, "last_run_at": None, "every": None, "cron": "0 9 * * *", "runs": 0}
    hub.on("GET", "schedules", Reply(body=[resting]))
    assert cli("schedule", "ls").out.splitlines()[1].split() == [
        *("prices", "0", "9", "*", "*", "*", "(Europe/Paris)", "paused", "-", "-", "0", "1")
    ]


def test_where_there_is_none_it_is_said_how_to_make_one(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "schedules", Reply(body=[]))
    assert "taskyard schedule add" in cli("schedule").err


def test_a_schedule_is_shown_with_what_became_of_it(hub: StubHub, cli: Cli, schedule: dict[str, Any]) -> None:
    at = (now() - timedelta(minutes=1, seconds=1)).isoformat()
    skip = {"at": at, "due_at": at, "reason": "refused", "code": "RATE_LIMITED"}
    shown = {
        **schedule,
        "last_skip": skip,
        "last_outcome": "completed",
        "probe": {"url": "https://example.com"},
        "max_lateness": 600,
    }
    hub.on("GET", "schedules/prices", Reply(body=shown))
    said = cli("schedule", "show", "prices").out
    assert said.splitlines()[:5] == [
        "prices, every 5m, s_1",
        "Next run: in 3 min",
        "Last run: 2 min ago (completed), 3 in all",
        "Skipped:  1; the last one 1 min ago: refused, RATE_LIMITED",
        "Missed runs made up: one, none later than 10 min",
    ]
    assert '"input": "a"' in said
    assert json.loads(cli("schedule", "show", "prices", "--json").out)["id"] == "s_1"


def test_one_that_rests_is_shown_so(hub: StubHub, cli: Cli, schedule: dict[str, Any]) -> None:
    hub.on("GET", "schedules/prices", Reply(body={**schedule, "enabled": False}))
    assert "Next run: it is paused" in cli("schedule", "show", "prices").out


def test_a_schedule_is_made_from_options(listed: StubHub, cli: Cli) -> None:
    made = cli(
        *("schedule", "add", "prices", "--every", "5m", "--input", "a", "--priority", "3", "--catch-up", "none"),
        *("--max-lateness", "10m", "--probe-type", "look", "--probe-input", "new?"),
    )
    assert (made.code, made.out) == (0, "prices runs every 5m, next in 3 min.\n")
    assert listed.calls[-1].body == {
        "name": "prices",
        "task": {"input": "a", "priority": 3},
        "every": "5m",
        "catch_up": "none",
        "max_lateness": 600.0,
        "probe": {"task": {"type": "look", "input": "new?"}},
    }


def test_a_schedule_is_made_from_a_preset_and_a_file(listed: StubHub, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text('{"input": "a", "type": "ops"}')
    common = ("schedule", "add", "prices", "--task", str(file), "--title", "t")
    cli(*common, "--preset", "hourly", "--timezone", "Asia/Tokyo", "--probe-url", "https://example.com", "--paused")
    assert listed.calls[-1].body == {
        "name": "prices",
        "task": {"input": "a", "type": "ops", "title": "t"},
        "cron": "0 * * * *",
        "timezone": "Asia/Tokyo",
        "probe": {"url": "https://example.com"},
        "enabled": False,
    }
    unknown = cli(*common, "--preset", "yearly")
    assert unknown.code == 2
    assert "every-5-minutes, hourly" in unknown.err


def test_a_task_is_read_from_standard_input(listed: StubHub, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('{"input": "b"}'))
    cli("schedule", "add", "prices", "--cron", "0 9 * * *", "--task", "-")
    body = listed.calls[-1].body
    assert isinstance(body, dict)
    assert body["task"] == {"input": "b"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "x", "--every", "5m"), "say what task a run makes"),
        (("add", "x", "--input", "a"), "say when it runs"),
        (("add", "x", "--input", "a", "--every", "5m", "--cron", "0 9 * * *"), "in one way"),
        (("add", "x", "--every", "5m", "--task", "nowhere.json"), "nowhere.json holds no JSON object"),
        (("add", "x", "--every", "5m", "--input", "a", "--max-lateness", "soon"), "is no span"),
        (("add", "x", "--every", "5m", "--input", "a", "--max-lateness", "10"), "write 30s, 5m, 1h, 1d or 1w"),
        (("add", "x", "--every", "5m", "--input", "a", "--timezone", "Asia/Tokyo"), "a heartbeat goes by elapsed time"),
        (("add", "x", "--preset", "every-5-minutes", "--input", "a", "--timezone", "UTC"), "by elapsed time"),
        (
            ("add", "x", "--every", "5m", "--input", "a", "--probe-type", "x", "--probe-url", "https://example.com"),
            "either an address or a task",
        ),
        (("add", "x", "--every", "5m", "--input", "a", "--probe-input", "x"), "name its --probe-type"),
        (("add", "x", "--every", "5m", "--input", "a", "--probe-timeout", "5s"), "name the probe too"),
        (("set", "prices", "--no-probe", "--probe-type", "x"), "it contradicts the probe"),
        (("next", "prices", "--cron", "0 9 * * *"), "a schedule has its own times"),
        (("next", "--cron", "0," * 20_000), "more than 255 characters"),
        (("set", "prices"), "say what to change"),
    ],
)
def test_wrong_use_is_told(listed: StubHub, cli: Cli, arguments: tuple[str, ...], said: str) -> None:
    told = cli("schedule", *arguments)
    assert told.code == 2
    assert said in " ".join(told.err.replace("│", " ").split())


def test_a_schedule_is_changed(listed: StubHub, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text('{"input": "b"}')
    cli("schedule", "set", "prices", "--cron", "0 9 * * *", "--timezone", "Asia/Tokyo", "--task", str(file))
    assert listed.calls[-1].body == {"cron": "0 9 * * *", "timezone": "Asia/Tokyo", "task": {"input": "b"}}
    cli("schedule", "set", "prices", "--name", "p", "--max-lateness", "1m", "--catch-up", "all")
    assert listed.calls[-1].body == {"name": "p", "max_lateness": 60.0, "catch_up": "all"}
    cli("schedule", "set", "prices", "--probe-url", "https://example.com")
    assert listed.calls[-1].body == {"probe": {"url": "https://example.com"}}
    cli("schedule", "set", "prices", "--no-probe")
    assert listed.calls[-1].body == {"probe": None}


def test_the_task_of_a_schedule_is_changed_in_the_parts_that_are_named(listed: StubHub, cli: Cli) -> None:
    cli("schedule", "set", "prices", "--title", "t", "--priority", "7")
    assert listed.calls[-1].body == {"task": {"input": "a", "title": "t", "priority": 7}}


def test_how_long_a_run_waits_for_its_probe_is_said(listed: StubHub, cli: Cli) -> None:
    cli("schedule", "set", "prices", "--probe-type", "look", "--probe-timeout", "5s")
    assert listed.calls[-1].body == {"probe": {"task": {"type": "look", "input": ""}, "timeout": 5.0}}


def test_everybodys_are_listed_with_their_owners(hub: StubHub, cli: Cli, schedule: dict[str, Any]) -> None:
    hub.on("GET", "schedules", Reply(body=[{**schedule, "user_id": "u_1"}]))
    hub.on("GET", "users", Reply(body=[{"id": "u_1", "name": "ann"}]))
    header, row = cli("schedule", "ls", "--user", "*").out.splitlines()
    assert (header.split()[:2], row.split()[:2]) == (["USER", "NAME"], ["ann", "prices"])


def test_the_next_runs_of_one_that_rests_are_told_as_such(hub: StubHub, cli: Cli, schedule: dict[str, Any]) -> None:
    hub.on("GET", "schedules/prices", Reply(body={**schedule, "enabled": False}))
    hub.on("GET", "schedules/prices/next", Reply(body=["2027-03-28T01:00:00Z"]))
    assert "prices is paused" in cli("schedule", "next", "prices").err


def test_a_schedule_rests_and_goes_on(hub: StubHub, cli: Cli, schedule: dict[str, Any]) -> None:
    hub.on("PATCH", "schedules/prices", Reply(body={**schedule, "enabled": False}))
    assert cli("schedule", "pause", "prices").out == "prices is paused.\n"
    assert "schedule resume prices" in cli("schedule", "resume", "prices").out
    assert [call.body for call in hub.calls] == [{"enabled": False}, {"enabled": True}]
    assert json.loads(cli("schedule", "pause", "prices", "--json").out)["enabled"] is False
    assert json.loads(cli("schedule", "resume", "prices", "--json").out)["name"] == "prices"


def test_a_schedule_is_run_and_removed(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "schedules/prices/run", Reply(status=201, body={"id": "t", "ref": "T-001", "status": "queued"}))
    hub.on("DELETE", "schedules/prices", Reply(body={"ok": True}))
    assert cli("schedule", "run", "prices").out == "T-001 is queued.\n"
    assert json.loads(cli("schedule", "run", "prices", "--json").out)["ref"] == "T-001"
    assert cli("schedule", "rm", "prices").out == "prices is gone.\n"
    assert json.loads(cli("schedule", "rm", "prices", "--json").out) == {"ok": True}


def test_the_next_runs_are_told_on_the_clocks_of_its_place(listed: StubHub, cli: Cli) -> None:
    listed.on("GET", "schedules/prices/next", Reply(body=["2027-03-28T01:00:00Z"]))
    listed.on("GET", "schedules/preview", Reply(body=["2027-03-28T01:00:00Z"]))
    assert cli("schedule", "next", "prices").out == "Sun 2027-03-28 03:00:00 CEST\n"
    assert cli("schedule", "next", "--cron", "0 9 * * *", "-n", "1").out == "Sun 2027-03-28 01:00:00 UTC\n"
    in_paris = cli("schedule", "next", "--cron", "CRON_TZ=Europe/Paris 0 9 * * *", "-n", "1")
    assert in_paris.out == "Sun 2027-03-28 03:00:00 CEST\n"
    assert json.loads(cli("schedule", "next", "prices", "--json").out) == ["2027-03-28T01:00:00Z"]


def test_presets_are_listed(listed: StubHub, cli: Cli) -> None:
    assert cli("schedule", "presets").out.splitlines()[1:] == [
        "every-5-minutes  5m         Every 5 minutes",
        "hourly           0 * * * *",
    ]
    assert json.loads(cli("schedule", "presets", "--json").out)[1]["name"] == "hourly"


def test_what_became_of_the_last_runs_is_listed(listed: StubHub, cli: Cli) -> None:
    at = "2027-03-28T01:00:00Z"
    made = {"at": at, "due_at": at, "task_id": "t", "ref": "T-001", "status": "completed"}
    skipped = {"at": at, "due_at": at, "reason": "too_late", "code": None, "count": 3}
    refused = {"at": at, "due_at": at, "reason": "refused", "code": "RATE_LIMITED", "count": 1}
    listed.on("GET", "schedules/prices/runs", Reply(body=[made, skipped, refused]))
    lines = [line.split() for line in cli("schedule", "runs", "prices").out.splitlines()]
    assert lines[0] == ["DUE", "TASK", "STATUS"]
    assert lines[1][-2:] == ["T-001", "completed"]
    assert lines[2][-6:] == ["-", "skipped", "3", "times:", "too", "late"]
    assert lines[3][-4:] == ["-", "skipped:", "refused,", "RATE_LIMITED"]
    assert json.loads(cli("schedule", "runs", "prices", "--json").out)[0]["ref"] == "T-001"


def test_a_schedule_that_was_never_due_says_so(listed: StubHub, cli: Cli) -> None:
    listed.on("GET", "schedules/prices/runs", Reply(body=[]))
    assert "prices has not been due yet" in cli("schedule", "runs", "prices").err
