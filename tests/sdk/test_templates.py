"""Templates of tasks by either client."""

from datetime import UTC, datetime

import pytest

from taskyard.sdk.submission import check_sendable
from tests.sdk.conftest import Driver
from tests.support.http_stub import Reply, StubHub, a_task

TEMPLATE = {
    "name": "review",
    "user_id": "u_ann",
    "task": {"input": "Review {{what}} for {{team}}"},
    "defaults": {"team": "core"},
    "places": ["what", "team"],
    "created_at": "2026-01-02T03:04:05Z",
    "changed_at": "2026-01-02T03:04:06Z",
}


def test_a_template_is_made_or_put_in_the_shape_of_the_wire(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "templates", Reply(status=201, body=TEMPLATE))
    hub.on("PUT", "templates/a%20b", Reply(body=TEMPLATE))
    made = driver.do(driver.client.add_template("review", {"input": "Review {{what}}", "timeout": 60}))
    assert (made.places, made.defaults) == (["what", "team"], {"team": "core"})
    assert made.changed_at == datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC)
    driver.do(driver.client.put_template("a b", {"input": "{{n}}"}, defaults={"n": 7}))
    assert [call.body for call in hub.calls] == [
        {"name": "review", "task": {"input": "Review {{what}}", "execution": {"timeout": 60}}},
        {"task": {"input": "{{n}}"}, "defaults": {"n": 7}},
    ]


def test_templates_are_listed_shown_and_removed(hub: StubHub, driver: Driver) -> None:
    hub.on("GET", "templates", Reply(body=[TEMPLATE]))
    hub.on("GET", "templates/review", Reply(body=TEMPLATE))
    hub.on("DELETE", "templates/review", Reply(body={"ok": True}))
    assert [one.name for one in driver.do(driver.client.templates())] == ["review"]
    assert driver.do(driver.client.template("review")).task == TEMPLATE["task"]
    assert driver.do(driver.client.delete_template("review")).ok


def test_a_task_is_submitted_by_a_template_that_has_its_input(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    hub.on("POST", "tasks/batch", Reply(status=201, body={"tasks": [a_task()], "rejected": []}))
    driver.do(driver.client.submit(template="review", set={"what": "PR 7"}, timeout=60))
    driver.do(driver.client.submit_batch([{"template": "review", "set": {"what": "PR 7"}}]))
    first, second = (call.body for call in hub.calls)
    assert first == {"template": "review", "set": {"what": "PR 7"}, "execution": {"timeout": 60}}
    assert second["tasks"] == [{"template": "review", "set": {"what": "PR 7"}}]


def test_what_is_sent_later_has_an_input_or_a_template() -> None:
    check_sendable({"template": "review", "set": {"what": 7}})
    for task in ({}, {"set": {}}, {"template": 7}, {"input": None, "template": "review"}):
        with pytest.raises(TypeError, match="its `input`, a text, or with the `template`"):
            check_sendable(task)
