"""`taskyard status`: how one's yard stands, on one screen."""

import json
from datetime import timedelta

import pytest

from taskyard.cli import everybody
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
        {"type": "analysis", "state": "open", "half_open_at": in_future(seconds=50.5)},
        {"type": "fine", "state": "closed"},
    ]
    hub.on("GET", "breakers", Reply(body=breakers))
    queues = [
        {"name": "a", "state": "paused"},
        {"name": "b", "state": "cooling", "until": in_future(seconds=30.5)},
        {"name": "c", "state": "open"},
    ]
    hub.on("GET", "queues", Reply(body=queues))
    pressure = {"level": "warning", "scope": "hub", "queue_depth": 700, "estimated_wait_time": 300}
    hub.on("GET", "backpressure", Reply(body=pressure | {"recommendations": ["Slow down"]}))


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
        "  breaker analysis: open, tried again in 50 s\n"
        "  queue a: paused\n"
        "  queue b: cooling, over in 30 s\n"
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
    users = [{"id": f"u_{n}", "name": name, "plan": plan} for n, (name, plan) in enumerate(PEOPLE)]
    hub.on("GET", "users", Reply(body=users))
    hub.on(
        "GET",
        "tasks/queue-status",
        Reply(body={"running": 1, "pending": 0, "monthly_hours_used": 0.5}),
        Reply(body={"running": 0, "pending": 0}),
        Reply(body={"running": 3, "pending": 9, "max_concurrent": 3, "monthly_hours_limit": 100}),
    )
    held = {"code": "USER_CONCURRENCY", "message": "You run 3 of 3.", "tasks": 9, "example": "T-4"}
    hub.on("GET", "why", Reply(body={"profile": "service", "held_by": [held]}))
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
    # What holds tasks back was asked only of the one who has some that wait.
    assert [call.query for call in hub.asked("GET", "why")] == [{"user": "u_2"}]
    assert [hub.asked("GET", path)[0].query for path in ("queues", "daemons")] == [{"user": "*"}, {"user": "*"}]


def test_of_very_many_users_some_are_left_out_and_counted(
    hub: StubHub, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_yard_of_three(hub)
    monkeypatch.setattr(everybody, "USERS_MAX", 2)
    assert "Older users not asked about: 1; ask for one with --user.\n" in cli("status", "--all").err


def test_everybodys_tasks_for_programs(hub: StubHub, cli: Cli) -> None:
    a_yard_of_three(hub)
    found = json.loads(cli("status", "--all", "--json").out)
    assert list(found) == ["hub", "users", "users_left_out", "queues", "daemons"]
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
