"""`taskyard template`, and `taskyard submit --template`."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from taskyard.sdk.clock import now
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub, a_task, problem


@pytest.fixture
def template() -> dict[str, Any]:
    return {
        "name": "review",
        "task": {"input": "Review {{what}} for {{team}}"},
        "defaults": {"team": "core"},
        "places": ["what", "team"],
        "changed_at": (now() - timedelta(minutes=5, seconds=1)).isoformat(),
    }


def test_templates_are_listed(hub: StubHub, cli: Cli, template: dict[str, Any]) -> None:
    hub.on("GET", "templates", Reply(body=[template, {**template, "name": "plain", "places": [], "task": {}}]))
    assert cli("template") == (
        0,
        "NAME    PLACES      CHANGED    TASK\n"
        "review  what, team  5 min ago  Review {{what}} for {{team}}\n"
        "plain   -           5 min ago  -\n",
        "",
    )
    assert [one["name"] for one in json.loads(cli("template", "ls", "--json").out)] == ["review", "plain"]


def test_where_there_is_none_it_is_said_how_to_make_one(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "templates", Reply(body=[]))
    assert "taskyard template add" in cli("template").err


def test_a_template_is_shown_with_what_has_to_be_set(hub: StubHub, cli: Cli, template: dict[str, Any]) -> None:
    hub.on("GET", "templates/review", Reply(body=template))
    shown = cli("template", "show", "review").out
    assert shown.startswith("review has what, team; a submission sets what.\nteam is core unless it is set.\n")
    assert '"input": "Review {{what}} for {{team}}"' in shown
    assert json.loads(cli("template", "show", "review", "--json").out)["places"] == ["what", "team"]
    hub.on("GET", "templates/review", Reply(body={**template, "places": [], "defaults": {}}))
    assert cli("template", "show", "review").out.startswith("review has no places; a submission sets no places.\n")


def test_a_template_is_made_of_options_or_of_a_file(
    hub: StubHub, cli: Cli, template: dict[str, Any], tmp_path: Path
) -> None:
    hub.on("POST", "templates", Reply(status=201, body=template))
    hub.on("PUT", "templates/review", Reply(body=template))
    said = ("--input", "Review {{what}} for {{team}}", "--default", "team=core=ours", "--priority", "8")
    made = cli("template", "add", "review", *said)
    assert made == (0, "Hand in a task with: taskyard submit --template review --set what=…\n", "")
    file = tmp_path / "task.json"
    file.write_text('{"input": "a", "execution": {"timeout": 60}}')
    assert cli("template", "add", "review", "--task", str(file), "--title", "T", "--replace").code == 0
    assert [call.body for call in hub.calls] == [
        {
            "name": "review",
            "task": {"input": "Review {{what}} for {{team}}", "priority": 8},
            "defaults": {"team": "core=ours"},
        },
        {"task": {"input": "a", "execution": {"timeout": 60}, "title": "T"}},
    ]


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        (("template", "add", "x"), "say what task the template makes"),
        (("template", "add", "x", "--input", "a", "--default", "team"), "write KEY=VALUE"),
        (("template", "add", "x", "--input", "a", "--default", "=core"), "write KEY=VALUE"),
        (("submit", "--template", "x", "--set", "a=1", "--set", "a=2"), "a is given twice"),
        (("submit", "a", "--set", "a=1"), "name the template that has these places"),
        (("submit", "--template", "x", "--file", "y"), "give the input of one task, its --template"),
        (("submit",), "give the input of one task, its --template"),
    ],
)
def test_wrong_use_is_told_before_anything_is_asked(hub: StubHub, cli: Cli, said: tuple[str, ...], advice: str) -> None:
    result = cli(*said)
    assert result.code == 2
    assert advice in " ".join(result.err.replace("│", " ").split())
    assert hub.calls == []


def test_a_template_is_removed(hub: StubHub, cli: Cli) -> None:
    hub.on("DELETE", "templates/review", Reply(body={"ok": True}))
    assert cli("template", "rm", "review") == (0, "review is removed.\n", "")
    hub.on("DELETE", "templates/review", problem(404, "TEMPLATE_NOT_FOUND", "You have no template review."))
    assert cli("template", "rm", "review").code == 1


def test_a_task_is_submitted_by_a_template(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    assert cli("submit", "--template", "review", "--set", "what=PR 7", "--set", "n=1=2", "--type", "code").code == 0
    assert cli("submit", "Look", "--template", "review").code == 0
    named = {"template": "review", "source": {"type": "user", "channel": "cli"}}
    assert [call.body for call in hub.asked("POST", "tasks")] == [
        {**named, "set": {"what": "PR 7", "n": "1=2"}, "type": "code"},
        {**named, "input": "Look"},
    ]
