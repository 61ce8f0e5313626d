"""Templates over HTTP: their owners' calls, and the submissions, schedules and webhooks that name them."""

from typing import Any

import pytest

from taskyard.core.settings import Limits, Settings, Sizes
from taskyard.core.templates import PER_USER_MAX
from taskyard.gateway.app import GatewayApp
from taskyard.vocabulary import Level, PriorityScale, Scope, SourceType
from tests.support import hook_sender
from tests.support.gateway_client import Client, Response
from tests.support.gateway_hub import START_MS, GatewayHub

pytestmark = pytest.mark.anyio
TEMPLATES, TASKS, BATCH = "/api/v1/templates", "/api/v1/tasks", "/api/v1/tasks/batch"
SCHEDULES, HOOKS = "/api/v1/schedules", "/api/v1/hooks"
TASK: dict[str, Any] = {
    "input": "Review {{ what }} for {{team}}",
    "type": "review",
    "priority": "{{priority}}",
    "context": {"links": ["https://x/{{what}}"], "n": 1.50},
    "execution": {"timeout": 60},
}
NEW: dict[str, Any] = {"name": "review", "task": TASK, "defaults": {"team": "core", "priority": "high"}}


async def a_template(owner: Client, **fields: Any) -> dict[str, Any]:
    made = await owner.post(TEMPLATES, {**NEW, **fields})
    assert made.status == 201, made.json
    template: dict[str, Any] = made.json
    return template


async def submit(owner: Client, **fields: Any) -> Response:
    return await owner.post(TASKS, {"template": "review", **fields})


def faults(refused: Response) -> list[str]:
    return [error["path"] for error in refused.json["errors"]]


# --- owners' calls -----------------------------------------------------------------------------------------


async def test_a_template_is_made_shown_changed_and_removed(ann: Client) -> None:
    template = await a_template(ann)
    assert template == {
        "name": "review",
        "user_id": "u_ann",
        "task": TASK,
        "defaults": {"team": "core", "priority": "high"},
        "places": ["what", "team", "priority"],
        "created_at": "2027-01-15T08:00:00Z",
        "changed_at": "2027-01-15T08:00:00Z",
    }
    assert (await ann.get(TEMPLATES)).json == [template]
    assert (await ann.get(f"{TEMPLATES}/review")).json == template
    changed = await ann.request("PUT", f"{TEMPLATES}/review", {"task": {"input": "a"}})
    assert changed.status == 200
    assert (changed.json["task"], changed.json["defaults"], changed.json["places"]) == ({"input": "a"}, {}, [])
    assert (await ann.request("PUT", f"{TEMPLATES}/another", {"task": {"input": "b"}})).status == 200
    assert [each["name"] for each in (await ann.get(TEMPLATES)).json] == ["another", "review"]
    assert (await ann.request("DELETE", f"{TEMPLATES}/review")).status == 200
    gone = await ann.get(f"{TEMPLATES}/review")
    assert (gone.status, gone.json["code"]) == (404, "TEMPLATE_NOT_FOUND")
    assert gone.json["detail"] == "You have no template review; look its name up in your list of templates."


async def test_a_name_is_taken_once(ann: Client, bob: Client) -> None:
    await a_template(ann)
    await a_template(bob)
    refused = await ann.post(TEMPLATES, NEW)
    assert (refused.status, refused.json["code"], faults(refused)) == (409, "NAME_TAKEN", ["name"])


async def test_anothers_template_looks_like_none(ann: Client, bob: Client, admin: Client) -> None:
    await a_template(ann)
    for method in ("GET", "DELETE"):
        refused = await bob.request(method, f"{TEMPLATES}/review")
        assert (refused.status, refused.json["code"]) == (404, "TEMPLATE_NOT_FOUND")
    assert (await bob.get(TEMPLATES)).json == []
    refused = await submit(bob, set={"what": "a"})
    assert (refused.status, refused.json["code"], faults(refused)) == (404, "TEMPLATE_NOT_FOUND", ["template"])
    assert [each["user_id"] for each in (await admin.get(f"{TEMPLATES}?user=*")).json] == ["u_ann"]
    assert (await admin.post(f"{TASKS}?user=ann", {"template": "review", "set": {"what": "a"}})).status == 201


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"task": []}, "task"),
        ({"task": None}, "task"),
        ({"task": {"input": "a", "prioritty": "high"}}, "task.prioritty"),
        ({"task": {"input": "a", "template": "other"}}, "task.template"),
        ({"task": {"input": "a", "set": {}}}, "task.set"),
        ({"task": {"input": "a", "priority": "urgent"}}, "task.priority"),
        ({"task": {"input": "a", "priority": "{{p}}"}, "defaults": {"p": "urgent"}}, "task.priority"),
        ({"task": {"input": "a", "execution": {"timeout": 0}}}, "task.execution.timeout"),
        ({"task": {"input": "a", "context": []}}, "task.context"),
        ({"task": {"input": "a", "description": "b"}}, "task.description"),
        ({"task": {"input": " ".join(f"{{{{k{n}}}}}" for n in range(101))}}, "task"),
        ({"defaults": {"teem": "core"}}, "defaults.teem"),
        ({"defaults": {"team": ["core"]}}, "defaults[...]"),
        ({"name": "a/b"}, "name"),
        ({"name": "a\nb"}, "name"),
    ],
)
async def test_what_could_make_no_task_is_no_template(ann: Client, fields: dict[str, Any], path: str) -> None:
    refused = await ann.post(TEMPLATES, {**NEW, "defaults": {}, **fields})
    assert (refused.status, refused.json["code"], faults(refused)) == (422, "INVALID_INPUT", [path])
    assert (await ann.get(TEMPLATES)).json == []


async def test_a_field_that_stands_twice_in_the_task_is_refused(ann: Client) -> None:
    body = b'{"name":"x","task":{"input":"a","execution":{"timeout":1,"timeout":2}}}'
    refused = await ann.request("POST", TEMPLATES, raw=body)
    assert (refused.status, faults(refused)) == (422, ["task.execution.timeout"])


async def test_a_template_has_64_kib_with_its_defaults(ann: Client) -> None:
    spare = 64 * 1024 - len('{"task":{"input":"{{a}}"},"defaults":{"a":""}}')
    fits = {"task": {"input": "{{a}}"}, "defaults": {"a": "x" * spare}}
    assert (await ann.request("PUT", f"{TEMPLATES}/x", fits)).status == 200
    refused = await ann.request("PUT", f"{TEMPLATES}/x", {**fits, "defaults": {"a": "x" * (spare + 1)}})
    assert (refused.status, refused.json["code"], faults(refused)) == (413, "TOO_LARGE", ["task"])


async def test_defaults_that_would_make_very_much_of_a_template_are_refused(ann: Client) -> None:
    body = {"task": {"input": "{{a}}" * 6000}, "defaults": {"a": "x" * 30_000}}
    refused = await ann.request("PUT", f"{TEMPLATES}/x", body)
    assert (refused.status, refused.json["code"], faults(refused)) == (413, "TOO_LARGE", ["template"])


async def test_a_name_in_an_address_is_checked_like_any_other(ann: Client) -> None:
    for name in ("x" * 256, "a%0Ab", "a%2Fb"):
        refused = await ann.request("PUT", f"{TEMPLATES}/{name}", {"task": {"input": "a"}})
        assert (refused.status, refused.json["code"]) == (422, "INVALID_INPUT")
    assert (await ann.request("PUT", f"{TEMPLATES}/每日 review", {"task": {"input": "a"}})).status == 200


async def test_a_user_may_have_so_many(ann: Client) -> None:
    for n in range(PER_USER_MAX):
        assert (await ann.request("PUT", f"{TEMPLATES}/t{n}", {"task": {"input": "a"}})).status == 200
    refused = await ann.post(TEMPLATES, NEW)
    assert (refused.status, refused.json["code"]) == (400, "TOO_MANY_TEMPLATES")


async def test_templates_are_for_people_and_not_for_their_agents(hub: GatewayHub, app: GatewayApp, ann: Client) -> None:
    await a_template(ann)
    agent = Client(app, await hub.a_key("u_ann", Scope.AGENT))
    assert (await agent.get(TEMPLATES)).status == 403
    # What an agent is told to make it may make: its tasks stay an agent's.
    made = await submit(agent, set={"what": "a"})
    assert (made.status, made.json["source"]["type"]) == (201, "agent")


# --- a submission ------------------------------------------------------------------------------------------


async def test_a_submission_is_made_of_a_template(ann: Client) -> None:
    await a_template(ann)
    made = await submit(ann, set={"what": "PR 7", "team": "web"})
    assert made.status == 201, made.json
    task = made.json
    assert task["input"] == "Review PR 7 for web"
    assert (task["type"], task["priority"], task["execution"]["timeout"]) == ("review", "high", 60)
    assert task["context"] == {"links": ["https://x/PR 7"], "n": 1.5}


async def test_what_stands_beside_the_template_wins(ann: Client) -> None:
    await a_template(ann)
    # A default that is written out is said, too; and what stands beside is no text of the template.
    made = await submit(ann, type="general", priority="low", context={"a": "{{what}}"}, set={"what": "PR 7"})
    task = made.json
    assert (task["type"], task["priority"], task["context"]) == ("general", "low", {"a": "{{what}}"})
    assert task["input"] == "Review PR 7 for core"
    made = await submit(ann, execution={}, context=None, input="Look")
    assert (made.json["input"], made.json["context"], made.json["execution"]["timeout"]) == ("Look", {}, 300)


async def test_description_stands_for_the_templates_input(ann: Client) -> None:
    await a_template(ann)
    made = await submit(ann, description="Look", context={})
    assert (made.status, made.json["input"]) == (201, "Look")


async def test_values_that_are_no_texts_are_put_in_as_json(ann: Client) -> None:
    await a_template(ann, task={"input": "{{a}} {{b}} {{c}}"}, defaults={"c": 1.5})
    assert (await submit(ann, set={"a": 7, "b": True})).json["input"] == "7 true 1.5"


async def test_what_was_put_in_is_not_looked_at_again(ann: Client) -> None:
    await a_template(ann, task={"input": "{{a}}{{b}} {{not.a.place}} {{ }}"}, defaults={})
    assert (await submit(ann, set={"a": "{{b}}", "b": "{{a}}"})).json["input"] == "{{b}}{{a}} {{not.a.place}} {{ }}"


async def test_places_may_be_written_with_escapes_and_in_any_script(ann: Client) -> None:
    body = '{"name":"review","task":{"input":"\\u007b{主题}} {{a_b-1}}"}}'.encode()
    assert (await ann.request("POST", TEMPLATES, raw=body)).json["places"] == ["主题", "a_b-1"]
    assert (await submit(ann, set={"主题": "一", "a_b-1": "二"})).json["input"] == "一 二"


async def test_a_missing_value_is_named_and_nothing_is_made(ann: Client) -> None:
    await a_template(ann, defaults={})
    refused = await submit(ann, set={"team": "core"})
    assert (refused.status, refused.json["code"]) == (422, "INVALID_INPUT")
    assert faults(refused) == ["set.what", "set.priority"]
    assert refused.json["detail"].startswith("`set.what` is missing: template review has {{what}}")
    assert (await ann.get(TASKS)).json == []


async def test_a_value_for_no_place_is_named(ann: Client) -> None:
    await a_template(ann)
    refused = await submit(ann, set={"what": "a", "waht": "b"})
    assert (refused.status, faults(refused)) == (422, ["set.waht"])
    assert "has {{what}}, {{team}}, {{priority}}" in refused.json["detail"]
    await a_template(ann, name="plain", task={"input": "a"}, defaults={})
    assert "has no places" in (await submit(ann, template="plain", set={"a": "b"})).json["detail"]


async def test_values_without_a_template_are_refused(ann: Client) -> None:
    refused = await ann.post(TASKS, {"input": "a", "set": {"what": "b"}})
    assert (refused.status, faults(refused)) == (422, ["set"])
    assert (await ann.post(TASKS, {"template": None, "input": "a"})).status == 201


async def test_a_filled_template_is_checked_like_any_submission(ann: Client) -> None:
    await a_template(ann)
    refused = await submit(ann, set={"what": "a", "priority": "urgent"})
    assert (refused.status, faults(refused)) == (422, ["priority"])
    await a_template(ann, name="empty", task={"type": "review"}, defaults={})
    refused = await submit(ann, template="empty")
    assert (refused.status, faults(refused)) == (422, ["input"])
    assert (await submit(ann, template="empty", input="a")).json["type"] == "review"


@pytest.mark.parametrize("settings", [Settings(limits=Limits(size=Sizes(input=1000)))])
async def test_a_filled_template_is_as_large_as_a_submission_may_be(ann: Client) -> None:
    await a_template(ann)
    refused = await submit(ann, set={"what": "x" * 1000})
    assert (refused.status, refused.json["code"], faults(refused)) == (413, "TOO_LARGE", ["input"])


async def test_values_cannot_make_more_of_a_template_than_a_request_may_hold(ann: Client) -> None:
    await a_template(ann, task={"input": "{{a}}" * 10_000, "context": {"b": ["{{a}}"] * 1000}}, defaults={})
    refused = await submit(ann, set={"a": "x" * 100_000})
    assert (refused.status, refused.json["code"], faults(refused)) == (413, "TOO_LARGE", ["template"])


# --- once --------------------------------------------------------------------------------------------------


async def test_dedupe_by_content_looks_at_the_filled_submission(ann: Client) -> None:
    await a_template(ann, task={"input": "Review {{what}}"}, defaults={})
    first = await submit(ann, set={"what": "a"}, dedupe="content")
    again = await ann.post(TASKS, {"input": "Review a", "dedupe": "content"})
    other = await submit(ann, set={"what": "b"}, dedupe="content")
    assert [answer.status for answer in (first, again, other)] == [201, 200, 201]
    assert again.json["id"] == first.json["id"] != other.json["id"]


async def test_a_key_names_what_was_filled(ann: Client) -> None:
    await a_template(ann, task={"input": "{{what}}", "idempotency_key": "review-{{what}}"}, defaults={})
    first = await submit(ann, set={"what": "a"})
    assert (await submit(ann, set={"what": "a"})).json["id"] == first.json["id"]
    assert (await submit(ann, set={"what": "b"})).status == 201
    # The template makes something else now, under the key of before.
    await ann.request("PUT", f"{TEMPLATES}/review", {"task": {"input": "New {{what}}", "idempotency_key": "review-a"}})
    refused = await submit(ann, set={"what": "a"})
    assert (refused.status, refused.json["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_a_submission_that_is_sent_again_under_its_key_makes_nothing_new(ann: Client) -> None:
    await a_template(ann)
    named = {"template": "review", "set": {"what": "a"}}
    for path, body in ((TASKS, named), (BATCH, {"tasks": [named, named]})):
        first, again = [await ann.post(path, body, headers={"Idempotency-Key": f"k {path}"}) for _ in range(2)]
        assert (first.status, again.status) == (201, 200)
        assert [task["id"] for task in again.json.get("tasks", [again.json])] == [
            task["id"] for task in first.json.get("tasks", [first.json])
        ]
    assert len((await ann.get(TASKS)).json) == 3


# --- rights ------------------------------------------------------------------------------------------------


async def test_a_template_gives_no_key_more_than_it_may(hub: GatewayHub, app: GatewayApp, ann: Client) -> None:
    await a_template(ann, task={"input": "a", "priority": "critical"}, defaults={})
    await a_template(ann, name="hooked", task={"input": "a", "source": {"type": "webhook"}}, defaults={})
    weak = Client(app, await hub.a_key("u_ann", Scope.TASKS, max_priority=Level.LOW, sources=(SourceType.USER,)))
    assert (await submit(weak)).json["priority"] == "low"
    assert (await submit(weak, template="hooked")).status == 403


async def test_a_number_means_what_it_means_to_the_key_that_wrote_it(
    hub: GatewayHub, app: GatewayApp, ann: Client
) -> None:
    arvis = Client(app, await hub.a_key("u_ann", Scope.TASKS, priority_scale=PriorityScale.URGENT_FIRST))
    await a_template(ann, name="ours", task={"input": "a", "priority": 9}, defaults={})
    await a_template(arvis, name="theirs", task={"input": "a", "priority": 4}, defaults={})
    for each in (ann, arvis):
        assert (await submit(each, template="ours")).json["priority"] == "high"
        assert (await submit(each, template="theirs")).json["priority"] == "low"
    assert (await submit(arvis, template="ours", priority=1)).json["priority"] == "critical"
    refused = await arvis.post(TEMPLATES, {"name": "x", "task": {"input": "a", "priority": 9}})
    assert (refused.status, faults(refused)) == (422, ["task.priority"])


# --- in a batch --------------------------------------------------------------------------------------------


async def test_tasks_of_a_batch_name_templates(ann: Client) -> None:
    await a_template(ann)
    items = [
        {"name": "first", "template": "review", "set": {"what": "a"}},
        {"input": "then", "depends_on": ["first"]},
        {"template": "review", "set": {"what": "b"}, "depends_on": ["first"]},
    ]
    made = await ann.post(BATCH, {"tasks": items})
    assert [task["input"] for task in made.json["tasks"]] == ["Review a for core", "then", "Review b for core"]
    assert made.json["tasks"][2]["depends_on"] == [made.json["tasks"][0]["id"]]


async def test_a_batch_with_a_task_that_cannot_be_filled_is_refused_whole(ann: Client) -> None:
    await a_template(ann)
    refused = await ann.post(BATCH, {"tasks": [{"input": "a"}, {"template": "review"}]})
    assert (refused.status, faults(refused)) == (422, ["tasks[1].set.what"])
    refused = await ann.post(BATCH, {"tasks": [{"input": "a"}, {"template": "none"}]})
    assert (refused.status, faults(refused)) == (404, ["tasks[1].template"])
    refused = await ann.post(BATCH, {"tasks": [{"template": "review", "set": {"what": "a", "priority": "x"}}]})
    assert (refused.status, faults(refused)) == (422, ["tasks[0].priority"])
    assert (await ann.get(TASKS)).json == []


async def test_a_partial_batch_takes_what_can_be_filled(ann: Client) -> None:
    await a_template(ann)
    items = [
        {"input": 7},
        {"template": "review"},
        {"template": "none"},
        {"template": "review", "set": {"what": "a"}},
    ]
    made = await ann.post(BATCH, {"tasks": items, "partial": True})
    assert [task["input"] for task in made.json["tasks"]] == ["Review a for core"]
    codes = [(one["index"], one["code"]) for one in made.json["rejected"]]
    assert codes == [(0, "INVALID_INPUT"), (1, "INVALID_INPUT"), (2, "TEMPLATE_NOT_FOUND")]


async def test_a_batch_makes_no_more_of_templates_than_a_request_may_hold(ann: Client) -> None:
    await a_template(ann, task={"input": "{{a}}", "context": {"b": "x" * 60_000}}, defaults={})
    refused = await ann.post(BATCH, {"tasks": [{"template": "review", "set": {"a": "b"}}] * 300})
    assert (refused.status, refused.json["code"]) == (413, "TOO_LARGE")
    assert faults(refused)[0].endswith("].template")


# --- schedules and webhooks --------------------------------------------------------------------------------


async def test_a_schedule_is_filled_when_it_is_written_down(ann: Client) -> None:
    await a_template(ann)
    task = {"template": "review", "set": {"what": "the week"}, "priority": "low"}
    made = await ann.post(SCHEDULES, {"name": "weekly", "every": "1w", "task": task, "probe": {"task": task}})
    assert made.status == 201, made.json
    for shown in (made.json["task"], made.json["probe"]["task"]):
        assert (shown["input"], shown["priority"], shown["type"]) == ("Review the week for core", "low", "review")
        assert not {"template", "set"} & shown.keys()
    await ann.request("DELETE", f"{TEMPLATES}/review")
    ran = await ann.post(f"{SCHEDULES}/weekly/run")
    assert (ran.status, ran.json["input"]) == (201, "Review the week for core")
    refused = await ann.request("PATCH", f"{SCHEDULES}/weekly", {"task": {"template": "review"}})
    assert (refused.status, faults(refused)) == (404, ["task.template"])


async def test_a_schedule_with_a_missing_value_is_refused(ann: Client) -> None:
    await a_template(ann)
    body = {"name": "weekly", "every": "1w", "task": {"input": "a"}, "probe": {"task": {"template": "review"}}}
    refused = await ann.post(SCHEDULES, body)
    assert (refused.status, faults(refused)) == (422, ["probe.task.set.what"])
    assert (await ann.get(SCHEDULES)).json == []


async def test_a_webhook_is_filled_when_it_is_written_down_and_again_with_each_delivery(
    app: GatewayApp, ann: Client
) -> None:
    await a_template(ann, task={"input": "Review {{what}} for {{team}} ({{payload.id}})"}, defaults={"team": "core"})
    template = {"template": "review", "set": {"what": "{{payload.title}}"}, "type": "code"}
    made = await ann.post(HOOKS, {"name": "prs", "provider": "generic", "template": template})
    assert made.status == 201, made.json
    hook = made.json
    assert hook["template"]["input"] == "Review {{payload.title}} for core ({{payload.id}})"
    assert hook["template"]["type"] == "code"
    await ann.request("DELETE", f"{TEMPLATES}/review")
    body = b'{"id":"1","type":"t","title":"{{what}}"}'
    headers = hook_sender.signed("generic", hook["secret"], body, at_s=START_MS // 1000)
    assert (await Client(app).request("POST", f"{HOOKS}/{hook['id']}", raw=body, headers=headers)).status == 202
    assert (await ann.get(TASKS)).json[0]["input"] == "Review {{what}} for core (1)"


async def test_a_webhook_says_what_is_wrong_with_its_template(ann: Client) -> None:
    await a_template(ann)
    new = {"name": "prs", "provider": "github"}
    for template, path in (
        ({"template": "review"}, "template.set.what"),
        ({"template": "none"}, "template.template"),
        ({"input": "a", "set": {"what": "b"}}, "template.set"),
        ({"set": {"what": "b"}}, "template.input"),
    ):
        assert faults(await ann.post(HOOKS, {**new, "template": template})) == [path]
    await a_template(ann, name="own", task={"input": "a", "metadata": {}}, defaults={})
    refused = await ann.post(HOOKS, {**new, "template": {"template": "own"}})
    assert (refused.status, faults(refused)) == (422, ["template.metadata"])
    assert (await ann.get(HOOKS)).json == []


# --- where none is filled ----------------------------------------------------------------------------------


@pytest.mark.parametrize("naming", [{"template": "review"}, {"set": {"what": "a"}}])
async def test_an_import_fills_no_template(ann: Client, naming: dict[str, Any]) -> None:
    await a_template(ann)
    carried = {"id": "a", "input": "b", "created_at": "2026-03-04T16:51:00Z", **naming}
    refused = await ann.post("/api/v1/import", {"origin": "there", "tasks": [carried]})
    assert (refused.status, faults(refused)) == (422, [f"tasks[0].{next(iter(naming))}"])
    assert (await ann.get(TASKS)).json == []
