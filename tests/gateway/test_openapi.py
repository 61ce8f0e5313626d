"""The document says what the hub does: held against the hub, not against another list."""

from typing import Any

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
WITH_BODY = [route for route in ROUTES if route.is_described and route.method in ("POST", "PATCH")]


def operation_of(method: str, path: str) -> dict[str, Any]:
    operation: dict[str, Any] = DOCUMENT["paths"][path][method.lower()]
    return operation


def successes(method: str, path: str) -> list[str]:
    return sorted(status for status in operation_of(method, path)["responses"] if status < "300")


async def test_a_body_is_required_where_none_is_refused(hub: GatewayHub, app: GatewayApp) -> None:
    caller = Client(app, await hub.a_key(await hub.a_user("ann"), Scope.TASKS, Scope.DAEMON, Scope.ADMIN))
    for route in WITH_BODY:
        answer = await caller.request(route.method, route.path.replace("{id}", "nobody"))
        required = operation_of(route.method, route.path)["requestBody"]["required"]
        assert required is (answer.status == 422), (route.method, route.path)


@pytest.mark.parametrize("name", ["Submission", "BatchItem"])
def test_a_task_needs_its_input_under_one_of_two_names(name: str) -> None:
    schema = DOCUMENT["components"]["schemas"][name]
    assert schema["oneOf"] == [{"required": ["input"]}, {"required": ["description"]}]


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
