"""Plans, limits and used time over HTTP."""

import pytest

from taskyard.core.commands import CompleteTask
from taskyard.core.daemon_commands import AcceptTask, JoinDaemon, StartTask
from taskyard.core.settings import Plan, Settings
from taskyard.gateway.app import GatewayApp
from taskyard.vocabulary import Level, Scope
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
LIMITS, STATUS = "/api/v1/users/me/limits", "/api/v1/tasks/queue-status"


async def a_daemon(hub: GatewayHub, user: str) -> None:
    await hub.decide(JoinDaemon(1, user, "d_mac", "boot", "mac", slots=5))


async def a_running_task(hub: GatewayHub, person: Client) -> str:
    task_id = str((await person.post("/api/v1/tasks", {"input": "work", "execution": {"timeout": 900_000}})).json["id"])
    await hub.decide(AcceptTask(1, "d_mac", task_id, 1))
    await hub.decide(StartTask(1, "d_mac", task_id, 1))
    return task_id


async def test_plans_are_listed_for_admins(admin: Client, ann: Client) -> None:
    plans = (await admin.get("/api/v1/plans")).json
    assert plans[0] == {
        "name": "free",
        "max_concurrent_agents": 1,
        "max_task_duration_minutes": 30,
        "monthly_agent_hours": 10,
        "max_pending": 50,
        "max_priority": None,
    }
    assert [(p["name"], p["monthly_agent_hours"], p["max_pending"]) for p in plans] == [
        ("free", 10, 50),
        ("pro", 100, 50),
        ("team", None, 100),
        ("enterprise", None, 10_000),
    ]
    assert (await ann.get("/api/v1/plans")).status == 403


async def test_a_plan_is_shown_by_its_name(admin: Client) -> None:
    assert (await admin.get("/api/v1/plans/pro")).json["max_concurrent_agents"] == 3
    missing = await admin.get("/api/v1/plans/gold")
    assert (missing.status, missing.json["code"]) == (404, "PLAN_NOT_FOUND")
    assert missing.json["detail"] == "There is no plan gold; there are: free, pro, team, enterprise."


@pytest.mark.parametrize(
    "settings",
    [Settings(plans={"calm": Plan(max_pending=500, monthly_agent_hours=1.5, max_priority=Level.NORMAL)})],
)
async def test_a_configured_plan_is_shown_as_it_holds(admin: Client) -> None:
    assert (await admin.get("/api/v1/plans")).json == [
        {
            "name": "calm",
            "max_concurrent_agents": None,
            "max_task_duration_minutes": None,
            "monthly_agent_hours": 1.5,
            "max_pending": 100,
            "max_priority": "normal",
        }
    ]


async def test_limits_follow_the_plan_its_overrides_and_what_runs(
    hub: GatewayHub, app: GatewayApp, admin: Client
) -> None:
    carl = Client(app, await hub.a_key(await hub.a_user("carl"), Scope.TASKS))
    await admin.request("PATCH", "/api/v1/users/carl", {"plan": "free", "overrides": {"monthly_agent_hours": 12.5}})
    await a_daemon(hub, "u_carl")
    task_id = await a_running_task(hub, carl)
    await carl.post("/api/v1/tasks", {"input": "more work"})
    await hub.pass_s(20)
    assert (await carl.get(LIMITS)).json == {
        "plan": "free",
        "max_concurrent_agents": 1,
        "max_task_duration_minutes": 30,
        "max_priority": None,
        "max_pending": 50,
        "pending": 1,
        "monthly_agent_hours_limit": 12.5,
        "monthly_agent_hours_used": 0.01,
        "billing_cycle_resets_at": "2027-02-15T08:00:00Z",
    }
    await hub.decide(CompleteTask("d_mac", task_id, 1, 1))
    assert (await carl.get(LIMITS)).json["monthly_agent_hours_used"] == 0.01
    assert (await carl.get("/api/v1/report")).json["month_hours"] == 0.01
    assert (await admin.get(f"{LIMITS}?user=carl")).json["plan"] == "free"
    assert (await admin.get(f"{LIMITS}?user=nobody")).status == 404
    assert (await carl.get(f"{LIMITS}?user=root")).status == 403


async def test_the_status_of_the_queue_says_whether_one_more_would_start(
    hub: GatewayHub, ann: Client, admin: Client
) -> None:
    await admin.request("PATCH", "/api/v1/users/ann", {"overrides": {"max_concurrent_agents": 2}})
    assert (await ann.get(STATUS)).json == {
        "running": 0,
        "pending": 0,
        "max_concurrent": 2,
        "can_start_more": True,
        "monthly_hours_used": 0.0,
        "monthly_hours_limit": None,
    }
    await a_daemon(hub, "u_ann")
    await a_running_task(hub, ann)
    assert (await ann.get(STATUS)).json["can_start_more"]
    for _ in range(4):
        await ann.post("/api/v1/tasks", {"input": "work"})
    status = (await ann.get(STATUS)).json
    assert (status["running"], status["pending"], status["can_start_more"]) == (2, 3, False)
    assert (await admin.get(f"{STATUS}?user=ann")).json["pending"] == 3


async def test_a_task_may_not_be_given_no_time_at_all(admin: Client, ann: Client) -> None:
    body = {"overrides": {"max_task_duration_minutes": 0}}
    refused = await admin.request("PATCH", "/api/v1/users/ann", body)
    assert (refused.status, refused.json["errors"][0]["path"]) == (422, "overrides.max_task_duration_minutes")
