"""`taskyard status`: how one's yard stands, on one screen."""

import json
from datetime import timedelta

from taskyard.sdk.clock import now
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub


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
    ]
    assert found["overview"]["held_by"][0]["tasks"] == 9
