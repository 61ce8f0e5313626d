"""Submitting, reading and acting on tasks over HTTP."""

import pytest

from taskyard.core.commands import Tick
from taskyard.gateway.app import GatewayApp
from taskyard.gateway.port import Unavailable
from taskyard.gateway.routes import ROUTES
from taskyard.vocabulary import Level, Scope, SourceType
from taskyard.wire.problems import TASK_WORDS
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub, refusing

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"


async def test_a_submitted_task_is_answered_whole(ann: Client) -> None:
    response = await ann.post(TASKS, {"input": "hello", "type": "echo", "priority": 9, "metadata": {"a": [1]}})
    task = response.json
    assert response.status == 201
    assert (task["ref"], task["type"], task["input"], task["status"]) == ("T-001", "echo", "hello", "queued")
    assert (task["priority"], task["priority_value"]) == ("high", 9)
    assert task["source"] == {"type": "user", "id": None, "channel": "api"}
    assert task["metadata"] == {"a": [1]}
    assert task["execution"]["timeout"] == 300
    assert task["attempts"] == []
    assert task["deduplicated"] is False


async def test_a_description_is_taken_for_the_input(ann: Client) -> None:
    assert (await ann.post(TASKS, {"description": "hello"})).json["input"] == "hello"


async def test_the_same_key_answers_the_first_task(ann: Client) -> None:
    first = await ann.post(TASKS, {"input": "a"}, headers={"Idempotency-Key": "k"})
    second = await ann.post(TASKS, {"input": "a", "idempotency_key": "k"})
    assert (first.status, second.status) == (201, 200)
    assert second.json["id"] == first.json["id"]
    assert second.json["deduplicated"] is True
    assert second.json["idempotency_key"] == "k"


async def test_the_same_key_with_other_content_is_refused(ann: Client) -> None:
    await ann.post(TASKS, {"input": "a", "idempotency_key": "k"})
    response = await ann.post(TASKS, {"input": "b", "idempotency_key": "k"})
    assert (response.status, response.json["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")


@pytest.mark.parametrize("end", ["cancelled", "skipped"])
async def test_a_key_goes_on_naming_what_was_cancelled_or_skipped(ann: Client, end: str) -> None:
    first = (await ann.post(TASKS, {"input": "a", "idempotency_key": "k"})).json
    path = f"{TASKS}/{first['id']}"
    assert (await (ann.request("DELETE", path) if end == "cancelled" else ann.post(f"{path}/skip"))).status == 200
    again = await ann.post(TASKS, {"input": "a"}, headers={"Idempotency-Key": "k"})
    assert (again.status, again.json["id"], again.json["deduplicated"]) == (200, first["id"], True)
    assert again.json["status"] == end
    other = await ann.post(TASKS, {"input": "b", "idempotency_key": "k"})
    assert (other.status, other.json["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert [task["id"] for task in (await ann.get(TASKS)).json] == [first["id"]]


async def test_content_may_be_handed_in_again_once_its_task_was_cancelled(ann: Client) -> None:
    body = {"input": "a", "dedupe": "content"}
    first = (await ann.post(TASKS, body)).json
    await ann.request("DELETE", f"{TASKS}/{first['id']}")
    again = await ann.post(TASKS, body)
    assert (again.status, again.json["deduplicated"]) == (201, False)
    # With a key of its own beside it, the key decides.
    keyed = body | {"idempotency_key": "k"}
    second = (await ann.post(TASKS, keyed)).json
    await ann.request("DELETE", f"{TASKS}/{second['id']}")
    assert (await ann.post(TASKS, keyed)).json["id"] == second["id"]


async def test_a_batch_that_comes_again_answers_with_what_was_cancelled_of_it(ann: Client) -> None:
    tasks = {"tasks": [{"input": "a", "name": "a"}, {"input": "b", "depends_on": ["a"]}, {"input": "c"}]}
    first = await ann.post(f"{TASKS}/batch", tasks, headers={"Idempotency-Key": "k"})
    ids = [task["id"] for task in first.json["tasks"]]
    await ann.request("DELETE", f"{TASKS}/{ids[0]}")
    again = await ann.post(f"{TASKS}/batch", tasks, headers={"Idempotency-Key": "k"})
    assert (first.status, again.status) == (201, 200)
    assert [(task["id"], task["status"]) for task in again.json["tasks"]] == [
        (ids[0], "cancelled"),
        (ids[1], "cancelled"),
        (ids[2], "queued"),
    ]


async def test_a_dependency_is_the_same_whichever_way_it_is_named(ann: Client) -> None:
    first = (await ann.post(TASKS, {"input": "first"})).json
    by_ref = {"input": "next", "depends_on": ["T-001"], "dedupe": "content"}
    original = await ann.post(TASKS, by_ref)
    for named in (["T-1"], [first["id"]], ["T-001", first["id"]]):
        again = await ann.post(TASKS, by_ref | {"depends_on": named})
        assert (again.status, again.json["id"]) == (200, original.json["id"])
    batch = await ann.post(f"{TASKS}/batch", {"tasks": [by_ref | {"depends_on": [first["id"]]}]})
    assert (batch.status, batch.json["tasks"][0]["deduplicated"]) == (200, True)
    # With a key of one's own it is no other content either.
    keyed = {"input": "next", "depends_on": [first["id"]]}
    await ann.post(TASKS, keyed, headers={"idempotency-key": "k"})
    again = await ann.post(TASKS, keyed | {"depends_on": ["T-001"]}, headers={"idempotency-key": "k"})
    assert again.status == 200


async def test_in_a_batch_a_name_that_looks_like_a_ref_is_a_name(ann: Client) -> None:
    await ann.post(TASKS, {"input": "first"})
    items = [{"input": "new", "name": "T-001"}, {"input": "next", "depends_on": ["T-001"], "dedupe": "content"}]
    named = (await ann.post(f"{TASKS}/batch", {"tasks": items})).json["tasks"]
    by_ref = (await ann.post(TASKS, items[1])).json
    assert (named[1]["depends_on"], by_ref["deduplicated"]) == ([named[0]["id"]], False)


async def test_the_same_content_is_recognised_whatever_its_spacing(ann: Client) -> None:
    first = await ann.post(TASKS, raw=b'{"input":"a","context":{"x":1,"y":2},"dedupe":"content"}')
    second = await ann.post(TASKS, raw=b'{ "dedupe":"content", "context": {"y":2, "x":1}, "input":"a"}')
    assert second.json["id"] == first.json["id"]
    assert second.json["idempotency_key"] is None


async def test_a_batch_may_depend_on_itself_by_name(ann: Client) -> None:
    tasks = [{"input": "a", "name": "a"}, {"input": "b", "depends_on": ["a"]}]
    response = await ann.post(f"{TASKS}/batch", {"tasks": tasks})
    first, second = response.json["tasks"]
    assert response.status == 201
    assert second["depends_on"] == [first["id"]]
    assert second["status"] == "waiting"


async def test_a_batch_header_means_a_key_per_index(ann: Client) -> None:
    response = await ann.post(
        f"{TASKS}/batch", {"tasks": [{"input": "a"}, {"input": "b"}]}, headers={"Idempotency-Key": "k"}
    )
    assert [task["idempotency_key"] for task in response.json["tasks"]] == ["k#0", "k#1"]


async def test_a_batch_with_a_fault_stores_nothing(ann: Client) -> None:
    response = await ann.post(f"{TASKS}/batch", {"tasks": [{"input": "a"}, {"input": "b", "depends_on": ["T-9"]}]})
    assert (response.status, response.json["code"]) == (422, "DEPENDENCY_NOT_FOUND")
    assert (await ann.get(TASKS)).json == []


async def test_a_partial_batch_takes_what_it_can(ann: Client) -> None:
    tasks = [{"input": "a"}, {"input": 1}, {"input": "b", "depends_on": ["T-9"]}, {"nothing": 1}, {}]
    response = await ann.post(f"{TASKS}/batch", {"tasks": tasks, "partial": True})
    assert response.status == 201
    assert [task["input"] for task in response.json["tasks"]] == ["a"]
    assert [(one["index"], one["code"]) for one in response.json["rejected"]] == [
        (1, "INVALID_INPUT"),
        (2, "DEPENDENCY_NOT_FOUND"),
        (3, "INVALID_INPUT"),
        (4, "INVALID_INPUT"),
    ]


async def test_a_list_goes_on_where_its_link_says(ann: Client) -> None:
    for number in range(5):
        await ann.post(TASKS, {"input": str(number)})
    seen = []
    path = f"{TASKS}?limit=2"
    while True:
        page = await ann.get(path)
        seen += [task["input"] for task in page.json]
        if "link" not in page.headers:
            break
        path = page.headers["link"].partition("<")[2].partition(">")[0]
    assert seen == ["4", "3", "2", "1", "0"]


async def test_a_list_is_filtered(ann: Client) -> None:
    await ann.post(TASKS, {"input": "find me", "type": "x", "priority": "low", "correlation_id": "c"})
    await ann.post(TASKS, {"input": "other"})
    for query in ("type=x", "priority=low", "priority=3", "correlation_id=c", "q=find", "status=queued&type=x"):
        assert [task["input"] for task in (await ann.get(f"{TASKS}?{query}")).json] == ["find me"], query
    assert (await ann.get(f"{TASKS}?status=done,in-progress")).json == []


@pytest.mark.parametrize(
    "query", ["status=odd", "priority=11", "limit=0", "limit=501", "odd=1", "cursor=%21", "limit=2&limit=3", "q=%00"]
)
async def test_a_wrong_filter_is_named(ann: Client, query: str) -> None:
    response = await ann.get(f"{TASKS}?{query}")
    assert (response.status, response.json["code"]) == (422, "INVALID_INPUT")


async def test_long_bodies_are_cut_in_lists(ann: Client) -> None:
    await ann.post(TASKS, {"input": "x" * 3000, "context": {"long": "y" * 3000}})
    (task,) = (await ann.get(TASKS)).json
    assert task["truncated"] == ["input", "context"]
    assert len(task["input"]) == 2048
    assert "attempts" not in task


async def test_a_task_is_found_by_id_and_by_ref(ann: Client) -> None:
    submitted = (await ann.post(TASKS, {"input": "a"})).json
    assert (await ann.get(f"{TASKS}/T-001")).json["id"] == submitted["id"]
    assert (await ann.get(f"{TASKS}/{submitted['id']}")).json["ref"] == "T-001"


async def test_anothers_task_is_answered_like_one_that_never_was(ann: Client, bob: Client) -> None:
    task_id = (await ann.post(TASKS, {"input": "a"})).json["id"]
    unknown = "0190aaaa-0000-7000-8000-000000000000"
    for method, suffix in (
        ("GET", ""),
        ("DELETE", ""),
        ("PATCH", ""),
        ("POST", "/retry"),
        ("POST", "/skip"),
        ("GET", "/events"),
        ("GET", "/log"),
    ):
        foreign = await bob.request(method, f"{TASKS}/{task_id}{suffix}")
        never = await bob.request(method, f"{TASKS}/{unknown}{suffix}")
        assert foreign.status == 404
        assert foreign == never
    assert (await ann.get(f"{TASKS}/{task_id}")).json["status"] == "queued"


async def test_a_task_is_cancelled_with_what_depends_on_it(ann: Client) -> None:
    tasks = [{"input": "a", "name": "a"}, {"input": "b", "depends_on": ["a"]}]
    _, second = (await ann.post(f"{TASKS}/batch", {"tasks": tasks})).json["tasks"]
    response = await ann.request("DELETE", f"{TASKS}/T-001?reason=no+more")
    assert response.json == {"cancelled": True, "also_cancelled": [second["id"]]}
    assert (await ann.get(f"{TASKS}/T-001")).json["status"] == "cancelled"


async def test_a_task_that_has_not_started_is_changed(ann: Client) -> None:
    await ann.post(TASKS, {"input": "a", "deadline": "2030-01-01T00:00:00Z"})
    response = await ann.request(
        "PATCH", f"{TASKS}/T-001", {"priority": 2, "deadline": None, "scheduled_for": "2029-01-01T00:00:00Z"}
    )
    task = response.json
    assert (task["priority"], task["priority_value"], task["deadline"]) == ("low", 2, None)
    assert (task["status"], task["scheduled_for"]) == ("pending", "2029-01-01T00:00:00Z")


@pytest.mark.parametrize("depends_on", [[], ["T-001"]])
async def test_a_time_that_was_removed_is_not_shown_any_more(ann: Client, depends_on: list[str]) -> None:
    await ann.post(TASKS, {"input": "a"})
    await ann.post(TASKS, {"input": "b", "scheduled_for": "2100-01-01T00:00:00Z", "depends_on": depends_on})
    assert (await ann.get(f"{TASKS}/T-002")).json["scheduled_for"] == "2100-01-01T00:00:00Z"
    response = await ann.request("PATCH", f"{TASKS}/T-002", {"scheduled_for": None})
    assert (response.json["status"], response.json["scheduled_for"]) == ("waiting" if depends_on else "queued", None)
    await ann.request("DELETE", f"{TASKS}/T-002")
    assert (await ann.get(f"{TASKS}/T-002")).json["scheduled_for"] is None


async def test_a_time_that_came_is_still_shown(ann: Client) -> None:
    task = (await ann.post(TASKS, {"input": "a", "scheduled_for": "2001-01-01T00:00:00Z"})).json
    assert (task["status"], task["scheduled_for"]) == ("queued", "2001-01-01T00:00:00Z")


async def test_a_skipped_task_is_retried(ann: Client) -> None:
    await ann.post(TASKS, {"input": "a"})
    assert (await ann.post(f"{TASKS}/T-001/skip")).json["status"] == "skipped"
    assert (await ann.post(f"{TASKS}/T-001/retry")).json["status"] == "queued"


async def test_what_cannot_be_done_says_what_can(ann: Client) -> None:
    await ann.post(TASKS, {"input": "a"})
    response = await ann.post(f"{TASKS}/T-001/retry")
    assert (response.status, response.json["code"]) == (409, "INVALID_TRANSITION")


async def test_a_tasks_events_are_in_order(ann: Client) -> None:
    await ann.post(TASKS, {"input": "a"})
    events = (await ann.get(f"{TASKS}/T-001/events")).json
    assert [event["event"] for event in events] == ["task.created", "task.queued"]
    assert events[0]["ref"] == "T-001"
    assert events[1]["to"] == "queued"


async def test_waiting_ends_with_the_time(ann: Client) -> None:
    await ann.post(TASKS, {"input": "a"})
    assert (await ann.get(f"{TASKS}/T-001?wait_s=0.01")).json["status"] == "queued"


async def test_a_key_bound_to_sources_submits_nothing_else(hub: GatewayHub, app: GatewayApp) -> None:
    key = await hub.a_key(await hub.a_user("eve"), Scope.TASKS, sources=(SourceType.PROACTIVE,))
    response = await Client(app, key).post(TASKS, {"input": "a"})
    assert (response.status, response.json["code"]) == (403, "FORBIDDEN")
    response = await Client(app, key).post(TASKS, {"input": "a", "source": {"type": "proactive"}})
    assert response.status == 201


async def test_a_task_that_was_raised_says_from_what(ann: Client) -> None:
    await ann.post(TASKS, {"input": "a", "priority": "low"})
    heir = (await ann.post(TASKS, {"input": "b", "depends_on": ["T-001"]})).json
    raised = (await ann.get(f"{TASKS}/T-001")).json
    assert (raised["priority"], raised["raised_from"], raised["aged"]) == ("normal", "low", False)
    assert heir["raised_from"] is None
    # What is raised as it comes in says so too, and what a person said since is their own word.
    child = (await ann.post(TASKS, {"input": "c", "priority": "low", "parent_task_id": "T-002"})).json
    assert (child["priority"], child["raised_from"]) == ("normal", "low")
    changed = (await ann.request("PATCH", f"{TASKS}/T-001", {"priority": "high"})).json
    assert (changed["priority"], changed["raised_from"]) == ("high", None)


async def test_a_low_task_that_waited_very_long_says_so(hub: GatewayHub, ann: Client) -> None:
    await ann.post(TASKS, {"input": "a", "priority": "low"})
    hub.wall_ms += 4 * 3_600_000 + 1
    await hub.decide(Tick())
    aged = (await ann.get(f"{TASKS}/T-001")).json
    assert (aged["priority"], aged["raised_from"], aged["aged"]) == ("low", None, True)


async def test_a_priority_above_the_keys_is_brought_down(hub: GatewayHub, app: GatewayApp) -> None:
    key = await hub.a_key(await hub.a_user("eve"), Scope.TASKS, max_priority=Level.NORMAL)
    assert (await Client(app, key).post(TASKS, {"input": "a", "priority": "critical"})).json["priority"] == "normal"


async def test_an_agents_key_makes_an_agents_tasks(hub: GatewayHub, app: GatewayApp) -> None:
    agent = Client(app, await hub.a_key(await hub.a_user("eve"), Scope.AGENT))
    task = (await agent.post(TASKS, {"input": "a", "priority": "critical", "source": {"type": "user"}})).json
    assert (task["source"]["type"], task["priority"]) == ("agent", "high")


async def test_an_admin_names_the_user(ann: Client, admin: Client) -> None:
    await ann.post(TASKS, {"input": "a"})
    assert (await admin.get(f"{TASKS}/T-001")).status == 404
    assert (await admin.get(f"{TASKS}/T-001?user=ann")).status == 200
    assert len((await admin.get(f"{TASKS}?user=*")).json) == 1
    assert (await ann.get(f"{TASKS}?user=root")).status == 403
    assert (await ann.get(f"{TASKS}?user=*")).status == 403
    assert (await admin.get(f"{TASKS}?user=nobody")).json["code"] == "USER_NOT_FOUND"


async def test_a_hub_that_cannot_answer_says_when_to_come_back(
    hub: GatewayHub, ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "submit", refusing(Unavailable("STORE_UNAVAILABLE", 2)))
    response = await ann.post(TASKS, {"input": "a"})
    assert (response.status, response.json["code"]) == (503, "STORE_UNAVAILABLE")
    assert response.headers["retry-after"] == "2"


async def test_an_escaped_slash_is_part_of_a_tasks_name(ann: Client) -> None:
    ref = (await ann.post(TASKS, {"input": "a"})).json["ref"]
    assert (await ann.get(f"{TASKS}/{ref}/log")).status == 200
    for escaped in (f"{ref}%2Flog", f"{ref}%2flog", f"{ref}%2Fa/log", f"{ref}/a%2Flog"):
        answer = await ann.get(f"{TASKS}/{escaped}")
        assert (answer.status, answer.json["code"]) == (404, "TASK_NOT_FOUND")


async def test_every_word_that_stands_where_a_tasks_name_does_is_known_to_clients() -> None:
    places = [route.path.removeprefix("/api/v1/tasks/") for route in ROUTES if route.path.startswith("/api/v1/tasks/")]
    assert {place for place in places if not place.startswith("{")} == TASK_WORDS - {"", ".", ".."}
