"""`taskyard why`: exact words, as they are the interface."""

import json
from datetime import timedelta

import pytest

from taskyard.sdk.clock import now
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub, a_task

LONG = "a-daemon-with-a-name-that-is-longer-than-anybody-needs"


def in_future(**span: float) -> str:
    return (now() + timedelta(**span)).isoformat()


def an_answer(**fields: object) -> dict[str, object]:
    return {
        "task": "T-042",
        "status": "queued",
        "summary": "Waits for a free slot: you run 3 of 3 tasks of plan pro.",
        "position": 4,
        "estimated_start": in_future(minutes=5, seconds=30),
        "reasons": [
            {
                "code": "USER_CONCURRENCY",
                "message": "You run 3 of 3 tasks of plan pro.",
                "used": 3,
                "limit": 3,
                "until": None,
                "would_help": "a fourth concurrent task, or T-038 finishing (about 2 min), and more to fill the line",
            },
            {"code": "QUEUE_COOLING", "message": "It rests.", "until": in_future(minutes=50.5), "would_help": None},
        ],
        "daemons": [
            {"id": "d_1", "name": "mac-1", "eligible": True, "lacks": []},
            {
                "id": "d_2",
                "name": LONG,
                "eligible": False,
                "lacks": [
                    {"code": "CAPABILITY_MISSING", "message": "has no browser"},
                    {"code": "DAEMON_FULL", "message": "full: 5 of 5"},
                ],
            },
        ],
    } | fields


def test_a_task_is_explained_in_plain_words(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "tasks/T-042/why", Reply(body=an_answer()))
    result = cli("why", "T-042")
    assert result == (
        0,
        "T-042: Waits for a free slot: you run 3 of 3 tasks of plan pro.\n"
        "It is number 4 of your tasks that wait in its queue. It should start in 5 min.\n"
        "\n"
        "USER_CONCURRENCY\n"
        "  You run 3 of 3 tasks of plan pro.\n"
        "  Would help: a fourth concurrent task, or T-038 finishing (about 2 min), and\n"
        "    more to fill the line\n"
        "\n"
        "QUEUE_COOLING (in 50 min)\n"
        "  It rests.\n"
        "\n"
        "Daemons considered\n"
        "  mac-1                 could take it now\n"
        "  a-daemon-with-a-nam…  has no browser; full: 5 of 5\n",
        "",
    )
    assert max(map(len, result.out.splitlines())) <= 80


def test_a_task_that_ended_has_a_summary_alone(hub: StubHub, cli: Cli) -> None:
    ended = an_answer(status="completed", summary="Completed.", position=None, estimated_start=None)
    hub.on("GET", "tasks/T-042/why", Reply(body=ended | {"reasons": [], "daemons": []}))
    assert cli("why", "T-042") == (0, "T-042: Completed.\n", "")


def test_for_programs_it_is_as_it_came(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "tasks/T-042/why", Reply(body=an_answer()))
    assert json.loads(cli("why", "T-042", "--json").out)["reasons"][0]["used"] == 3


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"status": "online", "idle_because": "Nothing waits."},
            "mac-2 is online and runs 1 of 5 tasks. Nothing waits.",
        ),
        ({"status": "busy"}, "mac-2 is busy and runs 1 of 5 tasks. It is full."),
        ({"status": "online"}, "mac-2 is online and runs 1 of 5 tasks."),
    ],
)
def test_a_daemon_is_explained_too(hub: StubHub, cli: Cli, fields: dict[str, str], words: str) -> None:
    body = {"id": "d_1", "name": "mac-2", "active_tasks": 1, "max_concurrent_tasks": 5} | fields
    hub.on("GET", "daemons/mac-2", Reply(body=body))
    assert cli("why", "--daemon", "mac-2") == (0, f"{words}\n", "")
    assert json.loads(cli("why", "--daemon", "mac-2", "--json").out)["name"] == "mac-2"


@pytest.mark.parametrize("arguments", [(), ("T-001", "--daemon", "mac")])
def test_one_thing_is_asked_about(cli: Cli, arguments: tuple[str, ...]) -> None:
    result = cli("why", *arguments)
    assert result.code == 2
    assert "name a task, or a daemon with --daemon" in result.err


def test_an_unknown_task_is_no(cli: Cli) -> None:
    assert cli("why", "T-999").code == 1


def test_show_tells_what_a_queued_task_waits_for(hub: StubHub, cli: Cli) -> None:
    task = a_task()
    hub.on("GET", "tasks/T-002", Reply(body=task))
    hub.on("GET", f"tasks/{task['id']}/why", Reply(body=an_answer()))
    assert "because   Waits for a free slot: you run 3 of 3 tasks of plan pro.\n" in cli("show", "T-002").out
    # An older hub does not say.
    hub.on("GET", f"tasks/{task['id']}/why")
    assert "because" not in cli("show", "T-002").out


def test_submit_tells_where_it_stands(hub: StubHub, cli: Cli) -> None:
    task = a_task(queue_position=3, estimated_start=in_future(minutes=5, seconds=30))
    hub.on("POST", "tasks", Reply(status=201, body=task))
    assert cli("submit", "hello").err == "T-002 is queued, position 3, expected to start in 5 min.\n"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"status": "scheduled"}, "T-002 is scheduled: a daemon was given it.\n"),
        ({"status": "waiting"}, "T-002 is waiting for what it depends on.\n"),
        ({"status": "pending"}, "T-002 is pending.\n"),
        ({"waiting_for_daemon": "night"}, "T-002 is queued: it waits for the daemon night, which is not there.\n"),
    ],
)
def test_submit_tells_what_a_status_means(hub: StubHub, cli: Cli, fields: dict[str, str], said: str) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task(**fields)))
    assert cli("submit", "hello").err == said


def test_submit_tells_when_a_task_is_due(hub: StubHub, cli: Cli) -> None:
    task = a_task(status="pending", scheduled_for=in_future(minutes=5, seconds=30))
    hub.on("POST", "tasks", Reply(status=201, body=task))
    assert cli("submit", "hello").err == "T-002 is pending until its time comes, in 5 min.\n"


def test_a_promise_is_a_sentence_of_its_own(hub: StubHub, cli: Cli) -> None:
    reason = {"code": "QUEUE_PAUSED", "message": "It is paused.", "would_help": "It would start now with resuming it"}
    hub.on("GET", "tasks/T-042/why", Reply(body=an_answer(reasons=[reason], daemons=[])))
    assert cli("why", "T-042").out.endswith("QUEUE_PAUSED\n  It is paused.\n  It would start now with resuming it.\n")
