"""When a provider said to come back."""

import pytest

from taskyard.gateway.retry_after import AFTER_MS_MAX, retry_after_ms

NOW_MS = 1_800_000_000_000  # Fri, 15 Jan 2027 08:00:00 GMT


@pytest.mark.parametrize(
    ("said", "message", "after_ms"),
    [
        (7, "", 7000),
        (0.5, "", 500),
        ("30", "", 30_000),
        ("Fri, 15 Jan 2027 08:01:00 GMT", "", 60_000),
        ("Fri, 15 Jan 2027 07:00:00 GMT", "", 0),
        (10**9, "", AFTER_MS_MAX),
        ("1e400", "", AFTER_MS_MAX),
        ("nan", "", None),
        (-1, "", None),
        (True, "", None),
        ([1], "", None),
        ("soon", "", None),
        ("x" * 1000, "", None),
        (None, "429: retry after 20 seconds", 20_000),
        (None, "Rate limit exceeded. Please try again in 1.5s.", 1500),
        (None, "Retry-After: 12", 12_000),
        (None, "please wait 2 minutes", 120_000),
        (None, "try again in 350ms", 350),
        (None, "try again in 1 hour", 3_600_000),
        (None, "too many requests", None),
        ("soon", "retry after 3", 3000),
    ],
)
def test_it_is_understood_as_seconds_as_a_date_or_in_words(said: object, message: str, after_ms: int | None) -> None:
    assert retry_after_ms(said, message, NOW_MS) == after_ms
