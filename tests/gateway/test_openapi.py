"""The document says what the hub does: held against the hub, not against another list."""

import asyncio
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from taskyard.gateway.app import GatewayApp
from taskyard.gateway.openapi import document
from taskyard.gateway.routes import ROUTES
from taskyard.vocabulary import Scope
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"

DOCUMENT = document(ROUTES)
OPERATIONS = [(method, path, one) for path, of in DOCUMENT["paths"].items() for method, one in of.items()]
WITH_BODY = [route for route in ROUTES if route.is_described and route.method in ("POST", "PATCH")]


def operation_of(method: str, path: str) -> dict[str, Any]:
    operation: dict[str, Any] = DOCUMENT["paths"][path][method.lower()]
    return operation


def parts_of(part: Any) -> Iterator[dict[str, Any]]:
    """Every object in the document, at any depth."""
    if isinstance(part, dict):
        yield part
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from parts_of(inner)


def successes(method: str, path: str) -> list[str]:
    return sorted(status for status in operation_of(method, path)["responses"] if status < "300")


async def test_a_body_is_required_where_none_is_refused(hub: GatewayHub, app: GatewayApp) -> None:
    caller = Client(app, await hub.a_key(await hub.a_user("ann"), Scope.TASKS, Scope.DAEMON, Scope.ADMIN))
    for route in WITH_BODY:
        answer = await caller.request(route.method, route.path.replace("{id}", "nobody"))
        required = operation_of(route.method, route.path)["requestBody"]["required"]
        assert required is (answer.status == 422), (route.method, route.path)


@pytest.mark.parametrize("name", ["Submission", "BatchItem", "CarriedTask"])
def test_the_input_of_a_task_has_one_name(name: str) -> None:
    # The hub takes `description` for it; a client that is generated needs one.
    properties = DOCUMENT["components"]["schemas"][name]["properties"]
    assert "input" in properties
    assert "description" not in properties


@pytest.mark.parametrize(("name", "required"), [("Submission", False), ("BatchItem", False), ("CarriedTask", True)])
def test_a_task_requires_its_input_where_no_template_can_have_it(name: str, required: bool) -> None:
    schema = DOCUMENT["components"]["schemas"][name]
    assert ("input" in schema.get("required", [])) is required


async def test_what_was_submitted_before_answers_200(ann: Client) -> None:
    for path, body in ((TASKS, {"input": "a"}), (f"{TASKS}/batch", {"tasks": [{"input": "a"}]})):
        key = {"Idempotency-Key": path}
        answers = [await ann.post(path, body, headers=key) for _ in range(2)]
        assert sorted(str(answer.status) for answer in answers) == successes("POST", path) == ["200", "201"]


async def test_a_batch_of_which_some_are_new_answers_201(ann: Client) -> None:
    await ann.post(TASKS, {"input": "a", "idempotency_key": "k"})
    both = [{"input": "a", "idempotency_key": "k"}, {"input": "b"}]
    answer = await ann.post(f"{TASKS}/batch", {"tasks": both})
    assert (answer.status, [task["deduplicated"] for task in answer.json["tasks"]]) == (201, [True, False])


def test_users_and_keys_are_made_anew_each_time() -> None:
    assert successes("POST", "/api/v1/users") == ["201"]
    assert successes("POST", "/api/v1/users/{id}/keys") == ["201"]


def test_it_says_where_its_hub_is_and_under_which_licence() -> None:
    assert [server["url"] for server in DOCUMENT["servers"]] == ["/"]
    assert DOCUMENT["info"]["license"]["identifier"] == "Apache-2.0"


def test_every_operation_is_filed_named_and_described() -> None:
    assert OPERATIONS
    for method, path, operation in OPERATIONS:
        assert len(operation["tags"]) == 1, (method, path)
        assert operation["summary"], (method, path)
        assert len(operation["description"]) > len(operation["summary"]), (method, path)


def test_its_tags_are_those_of_its_operations_and_each_says_what_it_is_about() -> None:
    tags = DOCUMENT["tags"]
    assert {tag["name"] for tag in tags} == {name for _, _, operation in OPERATIONS for name in operation["tags"]}
    assert len({tag["name"] for tag in tags}) == len(tags)
    assert all(tag["description"] for tag in tags)


def test_every_array_says_what_is_in_it() -> None:
    arrays = [part for part in parts_of(DOCUMENT) if part.get("type") == "array"]
    assert arrays
    assert [array for array in arrays if not array.get("items")] == []


def test_every_object_says_whether_it_has_fields_of_its_own() -> None:
    # Of one that does not, a generator makes an object without fields, to which nothing can be given.
    for part in parts_of(DOCUMENT):
        if "object" in part.get("type", ()):
            assert part.get("properties") is not None or "additionalProperties" in part, part


def test_no_schema_is_a_choice_of_what_is_required() -> None:
    # Generators make a type of each option: of these they make empty ones, and the body is lost.
    for part in parts_of(DOCUMENT):
        for option in (*part.get("oneOf", ()), *part.get("anyOf", ()), *part.get("allOf", ())):
            assert set(option) != {"required"}, part


def test_every_schema_is_used() -> None:
    used = {part["$ref"].rpartition("/")[2] for part in parts_of(DOCUMENT) if "$ref" in part}
    assert set(DOCUMENT["components"]["schemas"]) == used


async def claimed_and_ended(owner: Client, **ended: object) -> dict[str, Any]:
    answer = await owner.post("/api/v1/claim", {"name": "reader", "wait_s": 5}, hang_up=asyncio.Event())
    given: dict[str, Any] = answer.json
    await owner.post(f"{TASKS}/{given['task']['id']}/complete", {"attempt": given["attempt"], **ended})
    return given


async def test_what_a_claim_brings_is_as_described(owner: Client) -> None:
    await owner.post(TASKS, {"input": "a"})
    await owner.post(TASKS, {"input": "b", "depends_on": ["T-001"], "execution": {"retry_delay": 0}})
    await claimed_and_ended(owner, status="completed", result=[1])
    await claimed_and_ended(owner, status="failed", error="no")
    given = await claimed_and_ended(owner, status="completed")
    assert given["context_input"]
    assert given["previous_attempts"]
    schema = {"$ref": "#/components/schemas/ClaimAnswer", "components": DOCUMENT["components"]}
    jsonschema.validate(given, schema)
