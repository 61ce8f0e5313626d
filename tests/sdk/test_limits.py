"""A hub that takes no more for now: what a program hears of it, and how it can be told at once."""

import logging
from typing import Any

import pytest

from taskyard.sdk.errors import Limited
from tests.sdk.conftest import LONGER, QUICK, Driver
from tests.support.http_stub import KEY, Reply, StubHub, a_task, problem

PRESSURE = {"level": "critical", "scope": "user", "queue_depth": 1000, "estimated_wait_time": 12.5}
FULL = problem(
    429, "BACKPRESSURE", "1000 tasks wait: tasks of priority low are not taken.", retry_after=0, backpressure=PRESSURE
)
BATCH = Reply(status=201, body={"tasks": [a_task()]})


def submit(driver: Driver, kind: str, **options: Any) -> Any:
    if kind == "batch":
        return driver.do(driver.client.submit_batch([{"input": "a"}], **options))
    return driver.do(driver.client.submit("a", **options))


def a_full_hub(hub: StubHub) -> None:
    hub.on("POST", "tasks", FULL, Reply(status=201, body=a_task()))
    hub.on("POST", "tasks/batch", FULL, BATCH)


@pytest.mark.parametrize("kind", ["one", "batch"])
def test_a_limit_that_is_waited_out_is_a_line_of_the_log(
    hub: StubHub, driver: Driver, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    a_full_hub(hub)
    with caplog.at_level(logging.WARNING, logger="taskyard.sdk"):
        submit(driver, kind)
    (record,) = caplog.records
    assert record.name == "taskyard.sdk"
    assert record.getMessage() == (
        "the hub takes no more for now, and it is tried again in 0.0 s: "
        "1000 tasks wait: tasks of priority low are not taken."
    )
    assert len(hub.calls) == 2


@pytest.mark.parametrize("kind", ["one", "batch"])
def test_a_program_can_be_told_of_it_in_its_own_way(
    hub: StubHub, driver: Driver, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    a_full_hub(hub)
    told: list[tuple[Limited, float]] = []
    own = type(driver.client)(hub.url, KEY, retry=QUICK, patience=LONGER, on_limited=lambda *said: told.append(said))
    driver.do(driver.client.close())
    driver.client = own
    submit(driver, kind)
    ((error, seconds),) = told
    assert (error.code, error.backpressure.queue_depth) == ("BACKPRESSURE", 1000)  # type: ignore[union-attr]
    assert 0 <= seconds < 1
    assert caplog.records == []


@pytest.mark.parametrize("kind", ["one", "batch"])
def test_without_waiting_the_limit_is_raised_at_once_with_the_backpressure(
    hub: StubHub, driver: Driver, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    a_full_hub(hub)
    with pytest.raises(Limited, match="priority low are not taken") as caught:
        submit(driver, kind, wait=False)
    pressure = caught.value.backpressure
    assert pressure is not None
    assert (pressure.level, pressure.queue_depth, pressure.estimated_wait_time) == ("critical", 1000, 12.5)
    assert (len(hub.calls), caplog.records) == (1, [])
    assert "wait" not in (hub.calls[0].body or {})


def test_what_is_raised_in_the_end_is_not_said_once_more(
    hub: StubHub, driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    hub.on("POST", "tasks", FULL)
    with pytest.raises(Limited):
        submit(driver, "one")
    assert len(caplog.records) == QUICK.attempts_max - 1


def test_other_faults_are_no_limits(hub: StubHub, driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    away = problem(503, "OVERLOADED", "busy", retry_after=0)
    hub.on("POST", "tasks", away, Reply(status=201, body=a_task()))
    submit(driver, "one", wait=False)
    assert caplog.records == []
