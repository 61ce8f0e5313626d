"""A task as its function reads it."""

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from taskyard.daemon.task import TaskError, failed, read_task
from taskyard.wire.frames import TaskExecute, WireUsage

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(("given", "read"), [({"traceparent": PARENT}, PARENT), ({}, None)])
def test_the_work_is_told_the_trace_it_belongs_to(given: dict[str, Any], read: str | None) -> None:
    sent = Raw(msgspec.json.encode({"id": "t1", "type": "echo", **given}))
    assert read_task(TaskExecute(sent, 1, 300.0, "token", Raw(b"[]"), Raw(b"null"), Raw(b"[]"))).traceparent == read


def test_the_work_is_told_the_state_of_its_trace() -> None:
    sent = Raw(msgspec.json.encode({"id": "t1", "type": "echo", "traceparent": PARENT, "tracestate": "a=b"}))
    assert read_task(TaskExecute(sent, 1, 300.0, "token", Raw(b"[]"), Raw(b"null"), Raw(b"[]"))).tracestate == "a=b"


@pytest.mark.parametrize(
    ("said", "told"), [({"input_tokens": 5}, WireUsage(5)), (None, None), ({"input_tokens": "many"}, None)]
)
def test_a_failure_says_what_was_used_if_that_can_be_read(said: Any, told: WireUsage | None) -> None:
    message = failed("t1", 2, TaskError("NO_LUCK", "again", usage=said))
    assert (message.task_id, message.attempt, message.error.code, message.usage) == ("t1", 2, "NO_LUCK", told)
