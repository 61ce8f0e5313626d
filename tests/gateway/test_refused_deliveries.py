"""Which refused deliveries the log hears of."""

from taskyard.gateway.refused_deliveries import KINDS_MAX, MINUTE_MS, PER_MINUTE_MAX, RefusedDeliveries


def told(refused: RefusedDeliveries, times: int, *, hook: str | None = None, now_ms: int = 0) -> list[int | None]:
    return [refused.untold(hook, "why", now_ms) for _ in range(times)]


def test_each_reason_of_each_hook_is_told_a_few_times_a_minute() -> None:
    refused = RefusedDeliveries()
    assert told(refused, PER_MINUTE_MAX + 2) == [0] * PER_MINUTE_MAX + [None, None]
    assert told(refused, 1, hook="wh_1") == [0]
    assert refused.untold(None, "another", 0) == 0


def test_what_was_not_told_is_counted_with_the_next_line() -> None:
    refused = RefusedDeliveries()
    told(refused, PER_MINUTE_MAX + 7)
    assert told(refused, 2, now_ms=MINUTE_MS) == [7, 0]


def test_however_many_hooks_there_are_only_so_many_lines_are_written() -> None:
    refused = RefusedDeliveries()
    lines = [each for number in range(10_000) for each in told(refused, 11, hook=f"wh_{number}") if each is not None]
    assert len(lines) <= (KINDS_MAX + 1) * PER_MINUTE_MAX
    assert told(refused, 1, hook="wh_9999", now_ms=MINUTE_MS) == [0]
