"""Why a task is not running, over HTTP."""

import pytest

from taskyard.core.commands import CompleteTask, HearEnded
from taskyard.core.daemon_commands import JoinDaemon, StartTask
from taskyard.core.yard_commands import PauseQueue
from taskyard.gateway.app import GatewayApp
from taskyard.gateway.everybody import ASKED_MAX, held_of_everybody
from taskyard.vocabulary import Scope
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"


async def a_daemon(hub: GatewayHub, name: str = "mac-2", *, user: str = "u_ann", **fields: object) -> None:
    await hub.decide(JoinDaemon(1, user, f"d_{name}", "boot", name, **fields))  # type: ignore[arg-type]


async def test_the_answer_has_everything(hub: GatewayHub, ann: Client) -> None:
    await a_daemon(hub)
    await ann.post(TASKS, {"input": "a", "requirements": {"capabilities": ["browser"]}})
    response = await ann.get(f"{TASKS}/T-001/why")
    assert response.status == 200
    assert response.json == {
        "task": "T-001",
        "status": "queued",
        "summary": "No daemon can run it: none of the daemons you may use has ever offered browser.",
        "position": 1,
        "estimated_start": None,
        "reasons": [
            {
                "code": "NO_ELIGIBLE_DAEMON",
                "message": "None of the daemons you may use has ever offered browser.",
                "used": None,
                "limit": None,
                "until": None,
                "would_help": "mac-2 would qualify if it had browser",
            }
        ],
        "daemons": [
            {
                "id": "d_mac-2",
                "name": "mac-2",
                "eligible": False,
                "lacks": [{"code": "CAPABILITY_MISSING", "message": "has no browser"}],
            }
        ],
    }


async def test_times_are_instants(hub: GatewayHub, ann: Client) -> None:
    await a_daemon(hub)
    await ann.post(TASKS, {"input": "a", "scheduled_for": "2030-01-01T00:00:00Z"})
    found = (await ann.get(f"{TASKS}/T-001/why")).json
    assert (found["estimated_start"], found["reasons"][0]["until"]) == ("2030-01-01T00:00:00Z",) * 2


async def test_an_ended_task_is_explained_from_its_record(hub: GatewayHub, ann: Client) -> None:
    await a_daemon(hub)
    task = (await ann.post(TASKS, {"input": "a"})).json
    await hub.decide(StartTask(1, "d_mac-2", task["id"], 1))
    await hub.decide(CompleteTask("d_mac-2", task["id"], 1, 1, outcome=b'{"result":"x"}'))
    await hub.decide(HearEnded())
    assert not hub.state.tasks
    found = (await ann.get(f"{TASKS}/T-001/why")).json
    assert (found["status"], found["reasons"], found["position"]) == ("completed", [], None)
    assert found["summary"].startswith("Completed at ")
    assert found["summary"].endswith("Tried once: on mac-2 for 1 s (success).")


async def test_what_it_depends_on_is_named_also_when_it_has_ended(hub: GatewayHub, ann: Client) -> None:
    await ann.post(TASKS, {"input": "a"})
    await ann.post(TASKS, {"input": "b", "depends_on": ["T-001"]})
    await ann.post(f"{TASKS}/T-001/skip")
    await ann.post(TASKS, {"input": "c"})
    found = (await ann.get(f"{TASKS}/T-002/why")).json
    assert found["status"] == "blocked"
    assert found["summary"] == "Blocked by a dependency: it depends on T-001 (skipped), and will not run without."


async def test_others_and_unknown_tasks_are_not_found(ann: Client, bob: Client) -> None:
    task = (await ann.post(TASKS, {"input": "a"})).json
    for name in (task["id"], "T-001", "T-999"):
        response = await bob.get(f"{TASKS}/{name}/why")
        assert (response.status, response.json["code"]) == (404, "TASK_NOT_FOUND")


async def test_a_task_that_waits_says_where_it_stands(hub: GatewayHub, ann: Client) -> None:
    await a_daemon(hub, slots=1)
    started = (await ann.post(TASKS, {"input": "a"})).json
    assert (started["status"], started["queue_position"], started["estimated_start"]) == ("scheduled", None, None)
    waiting = (await ann.post(TASKS, {"input": "b"})).json
    shown = (await ann.get(f"{TASKS}/{waiting['id']}")).json
    assert (waiting["queue_position"], shown["queue_position"]) == (1, 1)
    assert waiting["estimated_start"] == shown["estimated_start"] is not None
    assert list(waiting) == list(shown), "spliced or not, an answer has the same fields in the same order"
    again = (await ann.post(TASKS, {"input": "b", "dedupe": "content"})).json
    assert again["queue_position"] == 2
    same = (await ann.post(TASKS, {"input": "b", "dedupe": "content"})).json
    assert (same["deduplicated"], same["queue_position"]) == (True, 2)


async def test_nothing_is_foreseen_in_lists_and_batches(ann: Client) -> None:
    (task,) = (await ann.post(f"{TASKS}/batch", {"tasks": [{"input": "a"}]})).json["tasks"]
    (listed,) = (await ann.get(TASKS)).json
    for one in (task, listed):
        assert (one["queue_position"], one["estimated_start"]) == (None, None)


async def test_a_daemon_says_why_it_gets_nothing(hub: GatewayHub, ann: Client, bob: Client, admin: Client) -> None:
    await a_daemon(hub, shared=True)
    await ann.post(TASKS, {"input": "a", "requirements": {"capabilities": ["browser"]}})
    (anns,) = (await ann.get("/api/v1/daemons")).json
    bobs = (await bob.get("/api/v1/daemons/mac-2")).json
    (admins,) = (await admin.get("/api/v1/daemons?user=*")).json
    told = "1 task waits that it cannot run: has no browser."
    assert [one["idle_because"] for one in (anns, bobs, admins)] == [told, "Nothing of yours waits.", told]


async def test_all_of_ones_tasks_together(hub: GatewayHub, ann: Client, admin: Client) -> None:
    await a_daemon(hub)
    await ann.post(TASKS, {"input": "a"})
    await hub.decide(PauseQueue("default", "root"))
    await ann.post(TASKS, {"input": "b", "priority": "low"})
    found = (await ann.get("/api/v1/why")).json
    assert found == {
        "profile": "local",
        "running": 1,
        "waiting": 1,
        "queues": [
            {"queue": "default", "priority": "normal", "running": 1, "waiting": 0},
            {"queue": "default", "priority": "low", "running": 0, "waiting": 1},
        ],
        "held_by": [
            {
                "code": "QUEUE_PAUSED",
                "message": "Queue default was paused, and starts nothing until it is resumed.",
                "would_help": "It would start now with resuming it (an admin's `taskyard resume default`)",
                "tasks": 1,
                "example": "T-002",
            }
        ],
    }
    assert (await admin.get("/api/v1/why?user=ann")).json == found
    assert (await admin.get("/api/v1/why")).json["waiting"] == 0


async def test_an_admin_is_told_what_holds_everybody(ann: Client, bob: Client, admin: Client) -> None:
    # Given two users whose tasks wait for a daemon, and one who has none
    await ann.post(TASKS, {"input": "a"})
    for _ in range(2):
        await bob.post(TASKS, {"input": "b"})

    # When an admin asks once, then what holds the most comes first, with whose it is and in the words for them
    found = (await admin.get("/api/v1/why/everybody")).json
    assert [(one["user_id"], one["code"], one["tasks"], one["example"]) for one in found] == [
        ("u_bob", "NO_DAEMON", 2, "T-001"),
        ("u_ann", "NO_DAEMON", 1, "T-001"),
    ]
    (bobs,) = (await bob.get("/api/v1/why")).json["held_by"]
    assert {**bobs, "user_id": "u_bob"} == found[0]


async def test_of_very_many_those_are_asked_who_have_most_to_wait_for(hub: GatewayHub, app: GatewayApp) -> None:
    names = [f"user-{number}" for number in range(ASKED_MAX + 2)]
    clients = {name: Client(app, await hub.a_key(await hub.a_user(name), Scope.TASKS)) for name in names}
    for name, client in clients.items():
        for _ in range(2 if name == names[-1] else 1):
            await client.post(TASKS, {"input": name})
    found = await held_of_everybody(hub)
    assert (len(found), found[0][0]) == (ASKED_MAX, f"u_{names[-1]}")


async def test_a_token_asks_about_sub_tasks_alone(hub: GatewayHub, ann: Client, app: GatewayApp) -> None:
    await a_daemon(hub, slots=1)
    parent = (await ann.post(TASKS, {"input": "a"})).json
    await hub.decide(StartTask(1, "d_mac-2", parent["id"], 1))
    agent = Client(app, hub.token_for(parent["id"], 1))
    child = (await agent.post(TASKS, {"input": "b"})).json
    assert (await agent.get(f"{TASKS}/{child['id']}/why")).status == 200
    assert (await agent.get(f"{TASKS}/{parent['id']}/why")).status == 403
