"""Pulling a task, by both clients."""

import pytest

from taskyard.sdk.errors import Unavailable
from tests.sdk.conftest import Driver
from tests.support.http_stub import Reply, StubHub, problem

CLAIMED = {"task": {"id": "t1", "input": "a"}, "attempt": 2, "token": "tyt_x", "lease_s": 30, "timeout": 60}


def test_a_task_is_claimed_with_what_one_can_do(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "claim", Reply(body={**CLAIMED, "new": 1}))
    claimed = driver.do(driver.client.claim("agent", capabilities=["browser"], wait_s=5))
    assert (claimed.task["input"], claimed.attempt, claimed.token, claimed.context_input) == ("a", 2, "tyt_x", [])
    assert hub.asked("POST", "claim")[0].body == {"name": "agent", "wait_s": 5, "capabilities": ["browser"]}


def test_that_there_is_nothing_is_no_error(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "claim", Reply(status=204))
    assert driver.do(driver.client.claim("agent", wait_s=0)) is None


def test_a_claim_is_not_made_twice_by_itself(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "claim", problem(503, "OVERLOADED", "Later.", retry_after=0))
    with pytest.raises(Unavailable):
        driver.do(driver.client.claim("agent", wait_s=0))
    assert len(hub.asked("POST", "claim")) == 1
