"""Every call that a client can make is one that a hub answers."""

import inspect
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from taskyard.gateway.routes import ROUTES
from taskyard.sdk import people, requests
from taskyard.sdk.answers import TaskRecord
from taskyard.sdk.errors import NotFound
from taskyard.sdk.request import Request

KNOWN = {(route.method, route.path) for route in ROUTES}
DAY = date(2026, 11, 18)
SEGMENT = "an-id"
"""Given for whatever a path could have in it."""
ARGUMENTS = {
    "handle": TaskRecord,
    "options": {},
    "changes": {},
    "verdict": {},
    "body": {},
    "tasks": [],
    "data": None,
    "day": DAY,
}


BUILDERS = [
    function
    for module in (people, requests)
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
]


@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
def test_no_call_goes_to_a_route_that_the_hub_does_not_have(build: Callable[..., Request[Any]]) -> None:
    needed = [
        parameter.name
        for parameter in inspect.signature(build).parameters.values()
        if parameter.default is parameter.empty
    ]
    request = build(*(ARGUMENTS.get(name, SEGMENT) for name in needed))
    assert (request.method, request.path.replace(SEGMENT, "{id}")) in KNOWN


@pytest.mark.parametrize("name", ["", "queue-status", ".."])
def test_what_is_no_tasks_name_is_not_asked_for(name: str) -> None:
    with pytest.raises(NotFound) as refused:
        requests.task_events(name)
    assert (refused.value.code, refused.value.status) == ("TASK_NOT_FOUND", 404)
