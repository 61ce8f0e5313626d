"""What follows a bad end: category, number of tries, delay."""

import random

import pytest

from taskyard.core.retry import (
    classify,
    counted,
    decide,
    delay_ms,
    rate_limit_delay_ms,
    timeout_ms,
)
from taskyard.core.settings import Retry
from taskyard.core.task import Attempt, Failure, Kind, Task, Terms, Trouble
from taskyard.vocabulary import AttemptStatus, Backoff, Category, ErrorCode
from tests.support.harness import HubHarness, Status

NUMBERS = Retry()


class Dice:
    def __init__(self, value: float) -> None:
        self.value = value

    def random(self) -> float:
        return self.value


def a_task(*ends: AttemptStatus, series: int = 1, **terms: object) -> Task:
    attempts = [
        Attempt(number=n, daemon_id="d", daemon_name="d", boot_id="b", assigned_at=0, status=end)
        for n, end in enumerate(ends, start=1)
    ]
    return Task(
        id="t",
        user_id="u",
        number=1,
        kind=Kind(),
        terms=Terms(**terms),  # type: ignore[arg-type]
        created_at=0,
        attempts=attempts or None,
        series=series,
    )


@pytest.mark.parametrize("code", ["NETWORK_RESET", "NETWORK_TIMEOUT", "CONNECTION_LOST", "WHATEVER", ""])
def test_network_errors_and_unknown_ones_are_transient(code: str) -> None:
    assert classify(Failure(code, "it broke")) is Category.TRANSIENT


@pytest.mark.parametrize("code", ["DAEMON_CRASHED", "DAEMON_UNRESPONSIVE", "DAEMON_DISCONNECTED"])
def test_a_daemon_failure_told_by_an_agent_is_transient(code: str) -> None:
    assert classify(Failure(code, "so it says")) is Category.TRANSIENT


@pytest.mark.parametrize("code", ["INVALID_INPUT", "PERMISSION_DENIED", "RESOURCE_NOT_FOUND"])
def test_bad_input_missing_rights_and_missing_things_are_permanent(code: str) -> None:
    assert classify(Failure(code, "no")) is Category.PERMANENT


def test_what_is_said_not_to_be_retryable_is_permanent() -> None:
    assert classify(Failure("ODD", "no", retryable=False)) is Category.PERMANENT


def test_what_is_said_to_be_retryable_does_not_make_bad_input_good() -> None:
    assert classify(Failure("INVALID_INPUT", "no", retryable=True)) is Category.PERMANENT


def test_a_timeout_is_its_own_category() -> None:
    assert classify(Failure(ErrorCode.EXECUTION_TIMEOUT, "too long")) is Category.TIMEOUT


def test_a_missing_decision_report_is_incomplete() -> None:
    assert classify(Failure(ErrorCode.DECISION_REPORT_MISSING, "add one")) is Category.INCOMPLETE


@pytest.mark.parametrize(
    "message",
    [
        "Rate limit reached",
        "rate_limit_error",
        "Too Many Requests",
        "quota exceeded for today",
        "please see Retry-After",
        "HTTP 429",
        "error: 429",
        "status 429 from the provider",
        "429 Too Many",
        "status code: 429",
        "request failed (429)",
    ],
)
def test_a_message_that_tells_of_a_rate_limit_is_one(message: str) -> None:
    assert classify(Failure("PROVIDER", message)) is Category.RATE_LIMITED


@pytest.mark.parametrize(
    "message", ["wrote 429 lines", "error 4290", "line 1429 failed", "took 429 ms", "the separate limit"]
)
def test_429_counts_only_as_a_whole_number_beside_an_error_word(message: str) -> None:
    assert classify(Failure("ODD", message)) is Category.TRANSIENT


def test_the_code_is_searched_too() -> None:
    assert classify(Failure("RATE_LIMITED", "slow down")) is Category.RATE_LIMITED
    assert classify(Failure("PROVIDER_RATE_LIMIT", "slow down")) is Category.RATE_LIMITED


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (Failure("INVALID_INPUT", "rate_limit must be a number"), Category.PERMANENT),
        (Failure("ODD", "quota exceeded, for good", retryable=False), Category.PERMANENT),
        (Failure("EXECUTION_TIMEOUT", "killed while it waited for a rate limit"), Category.TIMEOUT),
    ],
)
def test_what_is_said_outright_goes_before_words_in_a_message(error: Failure, category: Category) -> None:
    assert classify(error) is category


def test_only_failed_timeout_and_incomplete_count_against_max_attempts() -> None:
    for end in AttemptStatus:
        expected = end in (AttemptStatus.FAILED, AttemptStatus.TIMEOUT, AttemptStatus.INCOMPLETE)
        assert counted(a_task(end)) == expected


def test_attempts_of_an_older_series_do_not_count() -> None:
    assert counted(a_task(AttemptStatus.FAILED, AttemptStatus.FAILED, series=2)) == 0


def test_the_linear_delay_grows_by_the_same_step() -> None:
    task = a_task(retry_delay_ms=30_000, backoff=Backoff.LINEAR)
    assert [delay_ms(task, n, NUMBERS, Dice(0.9)) for n in (1, 2, 3)] == [30_000, 60_000, 90_000]


def test_the_exponential_delay_doubles_and_never_compounds() -> None:
    task = a_task(retry_delay_ms=30_000)
    assert [delay_ms(task, n, NUMBERS, Dice(0)) for n in (1, 2, 3, 4)] == [30_000, 60_000, 120_000, 240_000]


def test_jitter_adds_up_to_a_fifth() -> None:
    task = a_task(retry_delay_ms=100_000)
    assert delay_ms(task, 1, NUMBERS, Dice(0.5)) == 110_000
    assert all(100_000 <= delay_ms(task, 1, NUMBERS, random.Random(n)) <= 120_000 for n in range(50))


@pytest.mark.parametrize("backoff", Backoff)
def test_no_delay_is_over_ten_minutes(backoff: Backoff) -> None:
    task = a_task(retry_delay_ms=300_000, backoff=backoff)
    assert delay_ms(task, 1_000, NUMBERS, Dice(1)) == 600_000


def test_a_rate_limit_waits_as_long_as_the_provider_said() -> None:
    assert rate_limit_delay_ms(1, 17_000, NUMBERS, Dice(1)) == 17_000


def test_a_rate_limit_never_waits_longer_than_a_day_nor_less_than_nothing() -> None:
    assert rate_limit_delay_ms(1, 10**12, NUMBERS, Dice(1)) == 86_400_000
    assert rate_limit_delay_ms(1, -5, NUMBERS, Dice(1)) == 0


def test_unsaid_a_rate_limit_waits_a_minute_doubling_to_an_hour() -> None:
    delays = [rate_limit_delay_ms(n, None, NUMBERS, Dice(0)) for n in (1, 2, 3, 7, 50)]
    assert delays == [60_000, 120_000, 240_000, 3_600_000, 3_600_000]


def test_a_rate_limit_is_jittered_by_a_tenth() -> None:
    assert rate_limit_delay_ms(1, None, NUMBERS, Dice(1)) == 66_000


def decision(task: Task, category: Category, *, deadline: int | None = None) -> tuple[int | None, str]:
    task.deadline = deadline
    error = Failure("BOOM", "it broke")
    made = decide(task, error, category, now_ms=1_000, said_ms=None, numbers=NUMBERS, dice=Dice(0))
    return made.at, made.error.code


def test_a_permanent_error_is_never_tried_again() -> None:
    assert decision(a_task(), Category.PERMANENT) == (None, "BOOM")


def test_a_task_is_tried_until_its_attempts_are_used_up() -> None:
    failed = AttemptStatus.FAILED
    assert decision(a_task(failed), Category.TRANSIENT) == (31_000, "BOOM")
    assert decision(a_task(failed, failed), Category.TRANSIENT) == (61_000, "BOOM")
    assert decision(a_task(failed, failed, failed), Category.TRANSIENT) == (None, "BOOM")


def test_a_rate_limit_never_uses_up_an_attempt() -> None:
    task = a_task(*[AttemptStatus.RATE_LIMITED] * 100, max_attempts=1)
    assert decision(task, Category.RATE_LIMITED) == (61_000, "BOOM")
    task.trouble = Trouble(rate_limits=2)
    assert decision(task, Category.RATE_LIMITED) == (121_000, "BOOM")


def test_no_try_begins_past_the_deadline() -> None:
    assert decision(a_task(AttemptStatus.FAILED), Category.TRANSIENT, deadline=31_001) == (31_000, "BOOM")
    assert decision(a_task(AttemptStatus.FAILED), Category.TRANSIENT, deadline=31_000) == (None, "DEADLINE_PASSED")


def test_each_timeout_makes_the_next_try_half_as_long_again() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=10_000, retry_delay_ms=0)))
    given = [10_000]
    for _ in range(2):
        hub.advance(ms=given[-1])
        hub.confirm_cancel(task)
        hub.beat(daemon)
        hub.advance(ms=1)
        given.append(timeout_ms(task))
        if task.status is Status.SCHEDULED:
            hub.run(task)
    assert given == [10_000, 15_000, 22_500]
