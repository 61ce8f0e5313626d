import json

import pytest

from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub, problem

STANDING = {
    "type": "backpressure",
    "level": "warning",
    "scope": "user",
    "queue_depth": 612,
    "estimated_wait_time": 89.6,
    "recommendations": ["Slow down."],
}


def test_the_line_is_shown_with_advice(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "backpressure", Reply(body=STANDING))
    assert cli("backpressure") == (
        0,
        "LEVEL    WAITING       WAIT\nwarning  612 of yours  about 1 min\n",
        "Slow down.\n",
    )


def test_the_hubs_line_is_shown_too_and_a_wait_nobody_knows(hub: StubHub, cli: Cli) -> None:
    unknown = {"scope": "hub", "level": "critical", "estimated_wait_time": None, "recommendations": []}
    hub.on("GET", "backpressure", Reply(body=STANDING | unknown))
    assert cli("backpressure").out == "LEVEL     WAITING          WAIT\ncritical  612 on this hub  -\n"
    hub.on("GET", "backpressure", Reply(body=STANDING | {"queue_depth": 0, "estimated_wait_time": 0.0}))
    assert cli("backpressure").out == "LEVEL    WAITING     WAIT\nwarning  0 of yours  -\n"


def test_programs_get_it_as_it_is(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "backpressure", Reply(body=STANDING))
    result = cli("backpressure", "--json", "--user", "ann")
    assert json.loads(result.out) == STANDING
    assert hub.calls[0].query == {"user": "ann"}


@pytest.mark.parametrize(("status", "code"), [(429, "RATE_LIMITED"), (503, "BACKPRESSURE"), (400, "TOO_MANY_PENDING")])
def test_a_limit_is_told_at_once_and_ends_with_five(hub: StubHub, cli: Cli, status: int, code: str) -> None:
    wait = {"retry_after": 1.2} if status != 400 else {}
    hub.on("POST", "tasks", problem(status, code, "Too much.", **wait))
    result = cli("submit", "hello")
    assert (result.code, len(hub.asked("POST", "tasks"))) == (5, 1)
    assert ("Try again in 2 s." in result.err) is bool(wait)
