"""`taskyard hook`."""

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from taskyard.sdk.clock import now
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub

TEMPLATE = {"input": "PR {{payload.title}}", "type": "review"}


@pytest.fixture
def hook() -> dict[str, Any]:
    return {
        "id": "wh_1",
        "url": "http://hub/api/v1/hooks/wh_1",
        "name": "prs",
        "provider": "github",
        "template": TEMPLATE,
        "max_priority": None,
        "created_at": (now() - timedelta(minutes=5, seconds=1)).isoformat(),
    }


@pytest.fixture
def listed(hub: StubHub, hook: dict[str, Any]) -> StubHub:
    hub.on("GET", "hooks", Reply(body=[hook]))
    hub.on("GET", "hooks/wh_1", Reply(body=hook))
    return hub


def test_hooks_are_listed(listed: StubHub, cli: Cli) -> None:
    assert cli("hook") == (
        0,
        "ID    NAME  PROVIDER  UP TO  MADE       TASKS  LAST  TASK\n"
        "wh_1  prs   github    any    5 min ago  0      -     PR {{payload.title}}\n",
        "",
    )
    assert [one["id"] for one in json.loads(cli("hook", "ls", "--json").out)] == ["wh_1"]


def test_where_there_is_none_it_is_said_how_to_make_one(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "hooks", Reply(body=[]))
    assert "taskyard hook add" in cli("hook").err


def test_a_hook_is_made_and_its_address_and_secret_are_shown(hub: StubHub, cli: Cli, hook: dict[str, Any]) -> None:
    hub.on("POST", "hooks", Reply(status=201, body={**hook, "secret": "s3cret"}))
    made = cli("hook", "add", "prs", "--provider", "github", "--input", "PR {{event}}", "--max-priority", "high")
    assert (made.code, made.out) == (0, "Address: http://hub/api/v1/hooks/wh_1\nSecret:  s3cret\n")
    assert hub.calls[-1].body == {
        "name": "prs",
        "provider": "github",
        "template": {"input": "PR {{event}}"},
        "max_priority": "high",
    }
    assert (
        json.loads(cli("hook", "add", "x", "--provider", "slack", "--input", "a", "--json").out)["secret"] == "s3cret"
    )


def test_a_new_hook_may_be_told_to_have_no_highest_priority(hub: StubHub, cli: Cli, hook: dict[str, Any]) -> None:
    hub.on("POST", "hooks", Reply(status=201, body={**hook, "secret": "s3cret"}))
    assert cli("hook", "add", "prs", "--provider", "github", "--input", "a", "--max-priority", "none").code == 0
    assert hub.calls[-1].body.get("max_priority") is None


def test_a_hook_may_take_some_events_only(hub: StubHub, cli: Cli, hook: dict[str, Any]) -> None:
    hub.on("POST", "hooks", Reply(status=201, body={**hook, "secret": "s"}))
    cli("hook", "add", "prs", "--provider", "github", "--input", "a", "--events", "push,pull_request.opened")
    assert hub.calls[-1].body["events"] == ["push", "pull_request.opened"]


def test_a_secret_is_read_from_standard_input_and_a_template_from_a_file(
    hub: StubHub, cli: Cli, hook: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.on("POST", "hooks", Reply(status=201, body={**hook, "secret": "x"}))
    file = tmp_path / "template.json"
    file.write_text(json.dumps(TEMPLATE))
    monkeypatch.setattr("sys.stdin", io.StringIO("from slack\n"))
    made = cli("hook", "add", "s", "--provider", "slack", "--template", str(file), "--title", "T", "--secret", "-")
    assert (made.code, made.out, made.err) == (
        0,
        "Address: http://hub/api/v1/hooks/wh_1\nThe secret that you gave is in use.\n",
        "",
    )
    assert hub.calls[-1].body["secret"] == "from slack"
    assert hub.calls[-1].body["template"] == {**TEMPLATE, "title": "T"}
    monkeypatch.setattr("sys.stdin", io.StringIO('{"input": "b"}'))
    assert cli("hook", "add", "s", "--provider", "slack", "--template", "-").code == 0
    assert hub.calls[-1].body["template"] == {"input": "b"}


def test_a_hook_is_shown_by_its_name_or_its_id(listed: StubHub, cli: Cli, hook: dict[str, Any]) -> None:
    for name in ("prs", "wh_1"):
        shown = cli("hook", "show", name).out
        assert shown.startswith(
            "prs (github), wh_1\nDeliveries go to http://hub/api/v1/hooks/wh_1\nIt takes all events."
        )
        assert "Its tasks have any priority.\nNo delivery has made a task so far; the hub's log has" in shown
        assert '"input": "PR {{payload.title}}"' in shown
    assert json.loads(cli("hook", "show", "prs", "--json").out)["id"] == "wh_1"
    rotated = {
        **hook,
        "max_priority": "low",
        "events": ["push", "issues.opened"],
        "previous_secret_until": "2026-01-02T03:04:05Z",
        "deliveries": 7,
        "last_delivery_at": "2026-01-01T03:04:05Z",
    }
    listed.on("GET", "hooks/wh_1", Reply(body=rotated))
    shown = cli("hook", "show", "prs").out
    assert "It takes push, issues.opened.\nIts tasks have a priority up to low.\n" in shown
    assert "Deliveries have made 7 tasks, the last at 2026-01-01 03:04:05 UTC.\n" in shown
    assert "The secret before this one is good until 2026-01-02 03:04 UTC.\n" in shown


def test_a_name_that_two_hooks_have_names_neither(hub: StubHub, cli: Cli, hook: dict[str, Any]) -> None:
    hub.on("GET", "hooks", Reply(body=[hook, {**hook, "id": "wh_2"}]))
    hub.on("DELETE", "hooks/wh_2", Reply(body={"ok": True}))
    refused = cli("hook", "rm", "prs")
    assert refused.code == 2
    assert "2 have this name; give the id: wh_1, wh_2" in refused.err
    assert cli("hook", "rm", "wh_2") == (0, "wh_2 is removed.\n", "")
    assert json.loads(cli("hook", "rm", "wh_2", "--json").out) == {"ok": True}


def test_a_change_keeps_what_was_not_named(listed: StubHub, cli: Cli, hook: dict[str, Any], tmp_path: Path) -> None:
    listed.on("PATCH", "hooks/wh_1", Reply(body=hook))
    assert cli("hook", "set", "prs", "--title", "T", "--max-priority", "none") == (0, "prs is changed.\n", "")
    assert listed.calls[-1].body == {"max_priority": None, "template": {**TEMPLATE, "title": "T"}}
    for events, sent in (("push, issues.opened", ["push", "issues.opened"]), ("all", [])):
        cli("hook", "set", "prs", "--events", events)
        assert listed.calls[-1].body == {"events": sent}
    cli("hook", "set", "prs", "--name", "other", "--json")
    assert listed.calls[-1].body == {"name": "other"}
    file = tmp_path / "template.json"
    file.write_text('{"input": "b"}')
    cli("hook", "set", "prs", "--template", str(file), "--max-priority", "low")
    assert listed.calls[-1].body == {"max_priority": "low", "template": {"input": "b"}}


def test_a_secret_is_rotated(listed: StubHub, cli: Cli, hook: dict[str, Any]) -> None:
    rotated = {**hook, "secret": "new", "previous_secret_until": "2026-01-02T03:04:05Z"}
    listed.on("POST", "hooks/wh_1/rotate", Reply(body=rotated))
    answer = cli("hook", "rotate", "prs", "--overlap", "60")
    assert answer == (0, "Secret:  new\n", "The one before is good until 2026-01-02 03:04 UTC.\n")
    assert listed.calls[-1].body == {"overlap": 60.0}
    listed.on("POST", "hooks/wh_1/rotate", Reply(body={**hook, "secret": "mine"}))
    answer = cli("hook", "rotate", "prs", "--secret", "mine")
    assert answer == (0, "The secret that you gave is in use.\n", "The one before is good no more.\n")
    assert json.loads(cli("hook", "rotate", "prs", "--json").out)["secret"] == "mine"


def test_an_admin_names_whose(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "hooks", Reply(body=[]))
    cli("hook", "--user", "ann")
    assert hub.calls[-1].query == {"user": "ann"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["add", "prs", "--provider", "github"],
        ["add", "prs", "--input", "a"],
        ["add", "--provider", "github", "--input", "a"],
        ["set", "prs"],
        ["rotate", "prs", "--overlap", "-1"],
        ["show"],
        ["rm"],
    ],
)
def test_wrong_use_is_told_as_such(hub: StubHub, cli: Cli, arguments: list[str]) -> None:
    assert cli("hook", *arguments).code == 2
    assert hub.calls == []


def test_a_template_that_is_no_text_is_wrong_use(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "template.json"
    file.write_bytes(b"\xff\xfe{}")
    wrong = cli("hook", "add", "prs", "--provider", "github", "--template", str(file))
    assert (wrong.code, hub.calls) == (2, [])
    assert "template.json holds no JSON object" in " ".join(wrong.err.split())


def test_a_template_that_is_no_object_is_wrong_use(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "template.json"
    file.write_text("[1]")
    wrong = cli("hook", "add", "prs", "--provider", "github", "--template", str(file))
    assert (wrong.code, "holds no JSON object" in wrong.err) == (2, True)
