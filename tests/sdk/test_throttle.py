"""What a proactive engine's submitter does next."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskyard.sdk.answers import Backpressure, Rejected
from taskyard.sdk.errors import (
    BadAnswer,
    CredentialsMissing,
    HubUnreachable,
    Invalid,
    Limited,
    NotAllowed,
    TaskyardError,
    Unavailable,
)
from taskyard.sdk.spool import BufferFull
from taskyard.sdk.throttle import Throttle

LEVELS = st.lists(st.sampled_from(["normal", "warning", "critical"]))


def a_throttle(count: int = 0, *, batch_max: int = 10, buffer_max: int = 100) -> Throttle:
    throttle = Throttle(window_s=5, batch_max=batch_max, buffer_max=buffer_max)
    for n in range(count):
        throttle.add(f"task {n}", {})
    return throttle


def inputs(throttle: Throttle) -> list[str]:
    return [task["input"] for task in throttle.leave()]


def limited(level: str, retry_after: float | None = None) -> Limited:
    pressure = Backpressure(level=level)
    return Limited(code="RATE_LIMITED", status=429, detail="", retry_after=retry_after, backpressure=pressure)


def test_at_warning_the_window_is_double_and_the_batch_half() -> None:
    throttle = a_throttle()
    assert (throttle.window_s, throttle.batch_max, throttle.is_paused) == (5, 10, False)
    throttle.hear("warning")
    assert (throttle.window_s, throttle.batch_max, throttle.is_paused) == (10, 5, False)


def test_at_critical_nothing_is_sent() -> None:
    throttle = a_throttle(3)
    throttle.hear("critical")
    assert throttle.is_paused
    assert throttle.take() == []
    assert len(throttle) == 3


@settings(deadline=None)
@given(LEVELS, st.integers(1, 50))
def test_whatever_was_heard_before_only_the_last_word_counts(levels: list[str], batch_max: int) -> None:
    throttle, fresh = a_throttle(batch_max=batch_max), a_throttle(batch_max=batch_max)
    for level in levels:
        throttle.hear(level)
    for level in ("warning", "warning", "critical", "normal"):
        throttle.hear(level)
        fresh.hear(level)
        assert (throttle.window_s, throttle.batch_max) == (fresh.window_s, fresh.batch_max)
    assert (throttle.window_s, throttle.batch_max) == (5, batch_max)


def test_half_of_one_is_one() -> None:
    throttle = a_throttle(batch_max=1)
    throttle.hear("warning")
    assert throttle.batch_max == 1


def test_a_level_that_this_version_does_not_know_is_no_reason_to_hurry() -> None:
    throttle = a_throttle()
    throttle.hear("worrying")
    assert (throttle.window_s, throttle.batch_max) == (10, 5)


def test_tasks_are_the_engines_and_each_has_a_key_of_its_own() -> None:
    throttle = Throttle()
    throttle.add("a", {"source": {"type": "user", "id": "trigger_1"}})
    throttle.add("b", {"idempotency_key": "k"})
    throttle.add("c", {"dedupe": "content"})
    first, second, third = throttle.leave()
    assert first["source"] == {"type": "proactive", "id": "trigger_1"}
    assert first["idempotency_key"]
    assert (second["idempotency_key"], second["source"]) == ("k", {"type": "proactive"})
    assert "idempotency_key" not in third


def test_the_buffer_has_an_end_and_what_is_on_its_way_counts() -> None:
    throttle = a_throttle(4, buffer_max=4)
    throttle.take()
    with pytest.raises(BufferFull):
        throttle.add("one more", {})


def test_what_time_cures_is_kept_in_its_place_and_the_rest_is_given_back() -> None:
    throttle = a_throttle(12)
    batch = throttle.take()
    assert len(batch) == 10
    rejected = [
        Rejected(index=0, status=422, code="INVALID_INPUT"),
        Rejected(index=8, status=429, code="RATE_LIMITED"),
        Rejected(index=9, status=400, code="TOO_MANY_PENDING"),
    ]
    refused = throttle.settle(batch, rejected)
    assert [(task["input"], why.code) for task, why in refused] == [("task 0", "INVALID_INPUT")]
    assert inputs(throttle) == ["task 8", "task 9", "task 10", "task 11"]


@pytest.mark.parametrize(
    "error",
    [
        limited("warning", 60.0),
        Unavailable(code="OVERLOADED", status=503, detail=""),
        HubUnreachable("nobody"),
        BadAnswer("what?"),
    ],
)
def test_what_was_not_taken_or_perhaps_not_is_sent_again(error: TaskyardError) -> None:
    throttle = a_throttle(3)
    assert throttle.fail(throttle.take(), error) == []
    assert inputs(throttle) == ["task 0", "task 1", "task 2"]


def test_a_refusal_says_how_it_stands_and_how_long_to_wait() -> None:
    throttle = a_throttle(3)
    throttle.fail(throttle.take(), limited("warning", 60.0))
    assert (throttle.level, throttle.pause_s) == ("warning", 60.0)
    throttle.hear("normal")
    throttle.take()
    assert throttle.pause_s == 5


def test_a_limit_without_a_word_about_the_line_changes_no_level() -> None:
    throttle = a_throttle(1)
    throttle.fail(throttle.take(), Limited(code="TOO_MANY_PENDING", status=400, detail=""))
    assert (throttle.level, throttle.pause_s, len(throttle)) == ("normal", 5, 1)


def test_of_a_batch_that_the_hub_will_never_take_only_the_one_that_is_to_blame_is_given_back() -> None:
    # Given seven tasks, the fifth of which makes the hub refuse whatever it is sent with
    throttle, taken, refused = a_throttle(7), [], []
    too_large = Invalid(code="TOO_LARGE", status=413, detail="Too large.")

    # When they are sent until none is left
    while batch := throttle.take():
        if "task 4" in [task["input"] for task in batch]:
            refused += throttle.fail(batch, too_large)
        else:
            taken += [task["input"] for task in batch]
            throttle.settle(batch, [])

    # Then the others are taken, in their order, and in whole batches again
    assert [(task["input"], why.code) for task, why in refused] == [("task 4", "TOO_LARGE")]
    assert taken == ["task 0", "task 1", "task 2", "task 3", "task 5", "task 6"]
    assert throttle.batch_max == 10


def test_a_key_that_ended_costs_no_task() -> None:
    throttle = a_throttle(2)
    assert throttle.fail(throttle.take(), NotAllowed(code="UNAUTHENTICATED", status=401, detail="No key.")) == []
    assert inputs(throttle) == ["task 0", "task 1"]


def test_several_are_taken_in_together_or_not_at_all() -> None:
    throttle = a_throttle(2, buffer_max=3)
    with pytest.raises(BufferFull):
        throttle.add_all([{"input": "a"}, {"input": "b"}])
    assert inputs(throttle) == ["task 0", "task 1"]


@pytest.mark.parametrize(
    "error",
    [
        CredentialsMissing("No key."),
        NotAllowed(code="UNAUTHENTICATED", status=401, detail="No key."),
        HubUnreachable("Nobody."),
    ],
)
def test_what_waiting_does_not_cure_is_told_in_a_line_and_ever_more_rarely(
    caplog: pytest.LogCaptureFixture, error: TaskyardError
) -> None:
    throttle = a_throttle(2)
    for _ in range(100):
        throttle.fail([], error)
    assert len(caplog.records) == 7
    assert caplog.messages[0] == f"proactive tasks wait (2), failure 1: {error}"
    assert not any(record.exc_info for record in caplog.records)
    throttle.settle(throttle.take(), [])
    throttle.fail([], error)
    assert len(caplog.messages) == 8


def test_the_search_for_the_one_that_is_to_blame_waits_for_no_window() -> None:
    throttle = a_throttle(8)
    throttle.fail(throttle.take(), Invalid(code="TOO_LARGE", status=413, detail="Too large."))
    assert (throttle.is_searching, throttle.pause_s) == (True, 0.0)
    throttle.fail(throttle.take(), HubUnreachable("nobody"))
    assert (throttle.is_searching, throttle.pause_s) == (False, 5)


def test_what_is_left_at_the_end_is_counted_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    a_throttle(3).leave()
    assert caplog.messages[0].startswith("proactive tasks were not sent (3)")


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ("abc", "mapping with its `input`"),
        ([{"input": 5}], "mapping with its `input`"),
        ([{"title": "a"}], "mapping with its `input`"),
        ([{"input": "x", "bogus": 1}], "no bogus"),
        ([{"input": "x", "source": "user"}], "`source` is a mapping"),
        ([{"input": "x\ud800"}], "`input` cannot be written"),
        ([{"input": "x", "context": {"a": object()}}], "`context` cannot be written"),
        ([{"input": "x", "context": {"a": [1.0, float("nan")]}}], "`context` has a number"),
        ([{"input": "fine"}, {"input": "x", "timeout": float("inf")}], "`execution` has a number"),
    ],
)
def test_what_could_never_be_sent_is_told_to_who_gives_it_and_not_kept(tasks: Any, message: str) -> None:
    throttle = a_throttle()
    with pytest.raises((TypeError, ValueError), match=message):
        throttle.add_all(tasks)
    assert len(throttle) == 0


def test_what_a_task_may_say_is_taken() -> None:
    throttle = a_throttle()
    throttle.add("a", {"source": {"id": "t"}, "timeout": 3, "context": {"a": [1.5]}, "depends_on": ["T-001"]})
    throttle.add_all([{"input": "b", "name": "b", "execution": {"timeout": 1}}])  # type: ignore[typeddict-unknown-key]
    assert len(throttle) == 2


@pytest.mark.parametrize("wrong", [{"window_s": 0.0}, {"batch_max": 0}, {"buffer_max": 0}])
def test_numbers_that_cannot_be_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        Throttle(**wrong)
