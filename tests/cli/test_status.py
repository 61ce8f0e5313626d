"""`taskyard status`: how one's yard stands, on one screen."""

import json
from datetime import timedelta

import pytest

from taskyard.sdk.clock import now
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub, problem


def in_future(**span: float) -> str:
    return (now() + timedelta(**span)).isoformat()


def a_calm_hub(hub: StubHub) -> None:
    hub.on("GET", "users/me", Reply(body={"id": "u_1", "name": "ann"}))
    hub.on("GET", "users/me/limits", Reply(body={"plan": None, "monthly_agent_hours_used": 1.25}))
    hub.on("GET", "tasks/queue-status", Reply(body={"running": 0, "pending": 0}))
    hub.on("GET", "why", Reply(body={"profile": "local", "running": 0, "waiting": 0}))
    for path in ("daemons", "breakers", "queues"):
        hub.on("GET", path, Reply(body=[]))
    hub.on("GET", "backpressure", Reply(body={"level": "normal"}))


def test_a_calm_yard(hub: StubHub, cli: Cli) -> None:
    a_calm_hub(hub)
    assert cli("status") == (
        0,
        f"hub      {hub.url} (local profile)\n"
        "you      ann, no plan, 1.25 hours this month\n"
        "tasks    0 running, 0 waiting for their turn\n"
        "line     normal, 0 of yours waiting\n"
        "\n"
        "No daemon has connected yet; start one with `taskyard daemon`.\n",
        "",
    )


def test_of_several_hubs_an_admin_is_told_who_leads(hub: StubHub, cli: Cli) -> None:
    a_calm_hub(hub)
    hub.on("GET", "users/me", Reply(body={"id": "u_1", "name": "ann", "scopes": ["admin"]}))
    here = {"id": "h_1", "address": "http://10.0.0.1", "leader": True, "epoch": 3, "lag_s": 0.1}
    others = [here | {"id": f"h_{n}", "leader": False, "lag_s": lag_s} for n, lag_s in ((2, 0.5), (3, 1.0), (4, 60.0))]
    hub.on("GET", "hubs", Reply(body=[here, *others]))
    first, second, *_ = cli("status").out.splitlines()
    assert (first, second) == (
        f"hub      {hub.url} (local profile)",
        "hubs     http://10.0.0.1 leads, 2 standing by, 1 silent",
    )
    hub.on("GET", "hubs", Reply(body=[here]))
    assert "hubs " not in cli("status").out
    hub.on("GET", "hubs", Reply(body=others[:2]))
    assert "hubs     nobody leads, 2 standing by\n" in cli("status").out


def test_an_admin_who_names_a_user_is_told_of_that_one(hub: StubHub, cli: Cli) -> None:
    a_calm_hub(hub)
    assert "\nuser     bob, no plan, 1.25 hours this month\n" in cli("status", "--user", "bob").out


def a_busy_hub(hub: StubHub) -> None:
    a_calm_hub(hub)
    limits = {
        "plan": "pro",
        "max_concurrent_agents": 3,
        "monthly_agent_hours_limit": 100,
        "monthly_agent_hours_used": 42.5,
        "billing_cycle_resets_at": in_future(days=3.5),
    }
    hub.on("GET", "users/me/limits", Reply(body=limits))
    hub.on("GET", "tasks/queue-status", Reply(body={"running": 3, "pending": 12}))
    held = [
        {"code": "USER_CONCURRENCY", "message": "You run 3 of 3.", "would_help": "more", "tasks": 9, "example": "T-4"},
        {"code": "QUEUE_PAUSED", "message": "It is paused.", "would_help": None, "tasks": 1, "example": "T-9"},
    ]
    shares = [{"queue": "default", "priority": "normal", "running": 3, "waiting": 10}]
    overview = {"profile": "service", "running": 3, "waiting": 10, "queues": shares, "held_by": held}
    hub.on("GET", "why", Reply(body=overview))
    daemon = {"id": "d", "status": "online", "active_tasks": 3, "max_concurrent_tasks": 5}
    fleet = [daemon | {"name": f"mac-{n}", "shared": n == 0} for n in range(22)]
    fleet[0]["idle_because"] = "Nothing waits."
    hub.on("GET", "daemons", Reply(body=fleet))
    breakers = [
        {"type": "analysis", "state": "open", "half_open_at": in_future(minutes=50.5)},
        {"type": "fine", "state": "closed"},
    ]
    hub.on("GET", "breakers", Reply(body=breakers))
    queues = [
        {"name": "a", "state": "paused"},
        {"name": "b", "state": "cooling", "until": in_future(minutes=30.5)},
        {"name": "c", "state": "open"},
    ]
    hub.on("GET", "queues", Reply(body=queues))
    pressure = {"level": "warning", "scope": "hub", "queue_depth": 700, "estimated_wait_time": 300}
    hub.on("GET", "backpressure", Reply(body=pressure | {"recommendations": ["Slow down"]}))


@pytest.mark.parametrize(
    ("nobodys", "said"),
    [
        (0, "4 of yours waiting, about 15 s to wait"),
        (1, "4 of yours waiting, 1 of which no daemon can run, about 15 s to wait"),
        (4, "4 of yours waiting, which no daemon can run"),
    ],
)
def test_of_what_nothing_can_run_no_wait_is_foretold(hub: StubHub, cli: Cli, nobodys: int, said: str) -> None:
    # Given tasks of which some fit none of the daemons
    a_calm_hub(hub)
    held = {"code": "NO_ELIGIBLE_DAEMON", "message": "None fits.", "tasks": nobodys, "example": "T-1"}
    overview = {"profile": "local", "running": 0, "waiting": 4, "held_by": [held] if nobodys else []}
    hub.on("GET", "why", Reply(body=overview))
    hub.on("GET", "backpressure", Reply(body={"level": "normal", "queue_depth": 4, "estimated_wait_time": 15}))
    # Then only what can start is said to start
    lines = cli("status").out.split("\n\n")[0].split("line     ")[1]
    assert " ".join(lines.split()) == f"normal, {said}"


def test_a_busy_yard(hub: StubHub, cli: Cli) -> None:
    a_busy_hub(hub)
    result = cli("status")
    assert result.out.startswith(
        f"hub      {hub.url} (service profile)\n"
        "you      ann, plan pro, 3 of 3 tasks at a time, 42.50 of 100 hours this month\n"
        "         (resets in 3 d)\n"
        "tasks    3 running, 10 waiting for their turn, 2 not ready yet\n"
        "line     warning, 700 on this hub waiting, about 5 min to wait; Slow down\n"
        "\n"
        "QUEUE                     PRIORITY  RUNNING  WAITING\n"
        "default                   normal          3       10\n"
        "\n"
        "Held back\n"
        "  9 tasks (such as T-4): You run 3 of 3.\n"
        "    Would help: more\n"
        "  1 task (T-9): It is paused.\n"
        "\n"
        "Daemons\n"
        "  mac-0 (shared): online 3/5. Nothing waits.\n"
        "  mac-1: online 3/5.\n"
    )
    assert result.out.endswith(
        "  and 2 more: taskyard daemons\n"
        "\n"
        "Not as usual\n"
        "  breaker analysis: open, tried again in 50 min\n"
        "  queue a: paused\n"
        "  queue b: cooling, over in 30 min\n"
    )
    assert max(map(len, result.out.splitlines())) <= 80


def test_tasks_that_are_held_by_less_common_things_are_counted(hub: StubHub, cli: Cli) -> None:
    a_calm_hub(hub)
    held = [{"code": "QUEUE_PAUSED", "message": "It is paused.", "tasks": 4, "example": "T-1"}]
    hub.on("GET", "why", Reply(body={"profile": "local", "running": 0, "waiting": 7, "held_by": held}))
    assert (
        "Held back\n"
        "  4 tasks (such as T-1): It is paused.\n"
        "  and 3 more for other reasons; `taskyard why TASK` tells of each\n"
    ) in cli("status").out


def a_yard_of_three(hub: StubHub) -> None:
    usages = (
        {"running": 1, "pending": 0, "monthly_hours_used": 0.5},
        {"running": 0, "pending": 0},
        {"running": 3, "pending": 9, "max_concurrent": 3, "monthly_hours_limit": 100},
    )
    people = enumerate(zip(PEOPLE, usages, strict=True))
    users = [{"id": f"u_{n}", "name": name, "plan": plan, "usage": usage} for n, ((name, plan), usage) in people]
    hub.on("GET", "users", Reply(body=users))
    held = {"code": "USER_CONCURRENCY", "message": "You run 3 of 3.", "tasks": 9, "example": "T-4", "user_id": "u_2"}
    hub.on("GET", "why/everybody", Reply(body=[held]))
    daemon = {"id": "d", "name": "mac", "status": "busy", "max_concurrent_tasks": 4}
    hub.on("GET", "daemons", Reply(body=[daemon, daemon | {"status": "offline"}]))
    hub.on("GET", "queues", Reply(body=[{"name": "default", "state": "open", "waiting": 9, "running": 4}]))


PEOPLE = (("ann", None), ("ben", None), ("cas", "pro"))


def test_an_admin_sees_how_everybodys_tasks_stand(hub: StubHub, cli: Cli) -> None:
    a_yard_of_three(hub)
    assert cli("status", "--all") == (
        0,
        f"hub      {hub.url}\n"
        "tasks    4 running, 9 pending\n"
        "daemons  1 of 2 connected, with 4 slots\n"
        "\n"
        "USER  PLAN  RUNNING  PENDING  HOURS        HELD BACK BY\n"
        "cas   pro   3 of 3   9        0.00 of 100  USER_CONCURRENCY (9)\n"
        "ann   none  1        0        0.50         -\n"
        "\n"
        "QUEUE    STATE  WAITING  RUNNING\n"
        "default  open   9        4\n",
        "Users with nothing running or pending: 1.\n",
    )
    # However many users there are, four calls tell of them
    asked = [(path, hub.asked("GET", path)) for path in ("users", "why/everybody", "queues", "daemons")]
    assert sum(len(calls) for _, calls in asked) == len(hub.calls) == 4
    assert [calls[0].query for _, calls in asked] == [{"usage": "true"}, {}, {"user": "*"}, {"user": "*"}]


def test_of_whoever_waits_for_less_it_is_said_where_to_ask(hub: StubHub, cli: Cli) -> None:
    a_yard_of_three(hub)
    hub.on("GET", "why/everybody", Reply(body=[]))
    told = cli("status", "--all")
    assert "cas   pro   3 of 3   9        0.00 of 100  -\n" in told.out
    assert "taskyard status --user NAME tells by what.\n" in told.err


def test_everybodys_tasks_for_programs(hub: StubHub, cli: Cli) -> None:
    a_yard_of_three(hub)
    found = json.loads(cli("status", "--all", "--json").out)
    assert list(found) == ["hub", "users", "queues", "daemons"]
    assert [one["user"]["name"] for one in found["users"]] == ["cas", "ann", "ben"]


def test_all_and_one_user_cannot_both_be_meant(hub: StubHub, cli: Cli) -> None:
    result = cli("status", "--all", "--user", "ann")
    assert (result.code, hub.calls) == (2, [])
    assert "name a user, or ask for all of them" in result.err


def test_everybodys_tasks_are_an_admins_to_see(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "users", problem(403, "FORBIDDEN", "This needs the scope admin."))
    assert cli("status", "--all") == (4, "", "taskyard: This needs the scope admin.\n")


def test_for_programs_all_of_it_is_one_document(hub: StubHub, cli: Cli) -> None:
    a_busy_hub(hub)
    found = json.loads(cli("status", "--json").out)
    assert list(found) == [
        "hub",
        "me",
        "limits",
        "queue_status",
        "overview",
        "daemons",
        "breakers",
        "queues",
        "backpressure",
        "hubs",
    ]
    assert found["overview"]["held_by"][0]["tasks"] == 9
