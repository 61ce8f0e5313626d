"""`taskyard breakers`."""

import json
from datetime import timedelta

import pytest

from taskyard.sdk.clock import now
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub

CLOSED = {"type": "general", "state": "closed", "failures": 2, "failure_threshold": 5, "cooldown": 300.0}


def test_breakers_are_listed_with_when_they_are_tried_again(hub: StubHub, cli: Cli) -> None:
    failed, tried = (now() - timedelta(minutes=20.5)).isoformat(), (now() + timedelta(minutes=40.5)).isoformat()
    is_open = {
        **CLOSED,
        "type": "eng",
        "state": "open",
        "failures": 5,
        "last_failure_at": failed,
        "half_open_at": tried,
    }
    probing = {**is_open, "type": "ops", "state": "half_open", "half_open_at": failed, "probe": "0190-a"}
    hub.on("GET", "breakers", Reply(body=[is_open, probing, CLOSED]))
    assert cli("breakers") == (
        0,
        "TYPE     STATE      FAILURES  LAST FAILURE  TRIED AGAIN  PROBE\n"
        "eng      open       5/5       20 min ago    in 40 min    -\n"
        "ops      half-open  5/5       20 min ago    now          0190-a\n"
        "general  closed     2/5       -             -            -\n",
        "",
    )
    assert cli("breakers", "ls").out.startswith("TYPE")
    assert [one["type"] for one in json.loads(cli("breakers", "--json").out)] == ["eng", "ops", "general"]


def test_where_nothing_failed_that_is_said(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "breakers", Reply(body=[]))
    assert cli("breakers") == (0, "", "Every breaker of yours is closed, and counts no failures.\n")
    assert cli("breakers", "--user", "ann").err == "Every breaker of ann is closed, and counts no failures.\n"
    assert json.loads(cli("breakers", "--json").out) == []


def test_a_breaker_is_reset(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "breakers/general/reset", Reply(body={**CLOSED, "failures": 0}))
    assert cli("breakers", "reset", "general") == (0, "general: the breaker is closed.\n", "")
    assert json.loads(cli("breakers", "reset", "general", "--json").out)["state"] == "closed"


def test_a_breaker_is_forced_open(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "breakers/general/open", Reply(body={**CLOSED, "state": "open"}))
    assert cli("breakers", "open", "general") == (
        0,
        "general: the breaker is open for 5 min.\nClose it with: taskyard breakers reset general\n",
        "",
    )
    assert json.loads(cli("breakers", "open", "general", "--json").out)["state"] == "open"


def test_an_admin_names_whose(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "breakers", Reply(body=[]))
    cli("breakers", "--user", "ann")
    assert hub.calls[-1].query == {"user": "ann"}


@pytest.mark.parametrize("arguments", [["reset"], ["open"], ["close", "general"], ["--json", "reset", "general"]])
def test_wrong_use_is_told_as_such(hub: StubHub, cli: Cli, arguments: list[str]) -> None:
    assert cli("breakers", *arguments).code == 2
    assert hub.calls == []


def test_help_is_about_all_of_it(cli: Cli) -> None:
    help = cli("breakers", "--help")
    assert (help.code, [word in help.out for word in ("ls", "reset", "open")]) == (0, [True] * 3)
