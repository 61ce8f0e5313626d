"""What follows a bad end: which kind of failure it was, whether to try again, and when.

`classify` names the category, `decide` answers with a value; nothing is changed here. The delay is computed from
the task's own constant delay and the number of counted failures, so that it cannot compound.
"""

from typing import Final

from msgspec import Struct

from taskyard.core.settings import Retry
from taskyard.core.state import Dice
from taskyard.core.task import Failure, Task, ms_of
from taskyard.vocabulary import COUNTED, AttemptStatus, Backoff, Category, ErrorCode
from taskyard.vocabulary.rate_limits import says_rate_limited

PERMANENT: Final = frozenset({ErrorCode.INVALID_INPUT, ErrorCode.PERMISSION_DENIED, ErrorCode.RESOURCE_NOT_FOUND})

END_OF: Final = {
    Category.TRANSIENT: AttemptStatus.FAILED,
    Category.PERMANENT: AttemptStatus.FAILED,
    Category.TIMEOUT: AttemptStatus.TIMEOUT,
    Category.RATE_LIMITED: AttemptStatus.RATE_LIMITED,
    Category.INCOMPLETE: AttemptStatus.INCOMPLETE,
}


class Decision(Struct, frozen=True):
    """Try again at `at`, or give up with `error`."""

    at: int | None
    error: Failure
    due: int | None = None
    """When the next try is due, also of a task whose deadline is before that."""


def classify(error: Failure) -> Category:
    """The category of an error that an agent or daemon reported."""
    if error.code == ErrorCode.RATE_LIMITED:
        return Category.RATE_LIMITED
    # What is said outright goes before what is only found in a text: a rate limit is retried without end.
    if error.retryable is False or error.code in PERMANENT:
        return Category.PERMANENT
    if error.code == ErrorCode.DECISION_REPORT_MISSING:
        return Category.INCOMPLETE
    if error.code == ErrorCode.EXECUTION_TIMEOUT:
        return Category.TIMEOUT
    says_so = says_rate_limited(error.message) or says_rate_limited(error.code)
    return Category.RATE_LIMITED if says_so else Category.TRANSIENT


def decide(
    task: Task,
    error: Failure,
    category: Category,
    *,
    now_ms: int,
    said_ms: int | None,
    numbers: Retry,
    dice: Dice,
) -> Decision:
    """Whether and when this task is tried again, its newest attempt having just ended in this category."""
    if category is Category.PERMANENT:
        return Decision(None, error)
    if category is Category.RATE_LIMITED:
        times = task.trouble.rate_limits if task.trouble else 1
        delay = rate_limit_delay_ms(times, said_ms, numbers, dice)
    else:
        failures = counted(task)
        if failures >= task.terms.max_attempts:
            return Decision(None, error)
        delay = delay_ms(task, failures, numbers, dice)
    at = now_ms + delay
    if task.deadline is not None and at >= task.deadline:
        return Decision(
            None,
            Failure(
                ErrorCode.DEADLINE_PASSED,
                f"Its next try would begin past its deadline; the last one said: {error.message}",
            ),
            at,
        )
    return Decision(at, error, at)


def counted(task: Task) -> int:
    """Tries of this series that count against `max_attempts`."""
    return sum(a.series == task.series and a.status in COUNTED for a in task.attempts or ())


def delay_ms(task: Task, failures: int, numbers: Retry, dice: Dice) -> int:
    """Linear `d·n`; exponential `d·2^(n-1)` with jitter; capped."""
    base, most = task.terms.retry_delay_ms, ms_of(numbers.delay_max_s)
    if task.terms.backoff is Backoff.LINEAR:
        return min(base * failures, most)
    # 2^20 is past every cap; the exponent is bounded so that a thousandth retry is no big number.
    grown = base << min(failures - 1, 20)
    return min(grown + int(grown * numbers.jitter * dice.random()), most)


def rate_limit_delay_ms(times: int, said_ms: int | None, numbers: Retry, dice: Dice) -> int:
    """When the provider said, else a minute at the first time, doubling to an hour, with jitter."""
    if said_ms is not None:
        return min(max(said_ms, 0), ms_of(numbers.rate_limit_said_max_s))
    grown = min(numbers.rate_limit_s * 2 ** min(times - 1, 20), numbers.rate_limit_max_s)
    return ms_of(grown * (1 + numbers.rate_limit_jitter * dice.random()))


def timeout_ms(task: Task, most_ms: int | None = None) -> int:
    """This attempt's time: longer after each timeout, within what its user's plan allows."""
    factor = task.trouble.timeout_factor if task.trouble else 1.0
    grown = round(task.terms.timeout_ms * factor)
    return grown if most_ms is None else min(grown, most_ms)
