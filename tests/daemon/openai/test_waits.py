"""How long a provider wants to be left alone, however it says so. What ten kinds say for real is in `test_agent.py`."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskyard.daemon.openai.waits import WAIT_S_MAX, wait_s

NOW_S = 1_800_000_000.0


@pytest.mark.parametrize(
    ("headers", "body", "wait"),
    [
        ({}, None, None),
        ({"Retry-After": "soon"}, None, None),
        ({"Retry-After": "nan"}, None, None),
        ({"Retry-After": "-5"}, None, None),
        ({"Retry-After": "1e12"}, None, 0.0),
        ({"Retry-After": "100000000"}, None, WAIT_S_MAX),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, None, 0.0),
        # An answer goes before what it could be guessed from.
        ({"Retry-After": "3", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "9s"}, None, 3),
        # The longest of what is used up.
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "2s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "1h2m3s",
            },
            None,
            3723,
        ),
        # Nobody says what is used up: the shortest.
        ({"x-ratelimit-reset-requests": "8s", "x-ratelimit-reset-tokens": "500ms"}, None, 0.5),
        ({"x-ratelimit-reset": "1800000020"}, None, 20),
        ({"ratelimit": "limit=10, remaining=0, reset=12"}, None, 12),
        ({}, {"error": {"message": "try again in 2 bananas"}}, None),
        ({}, {"error": {"details": [None, {"retryDelay": "4s"}]}}, 4),
        ({}, {"error": "no"}, None),
    ],
)
def test_a_wait_is_read_where_there_is_one(headers: dict[str, str], body: Any, wait: float | None) -> None:
    assert wait_s(headers, body, NOW_S) == wait


@pytest.mark.slow
@settings(deadline=None)
@given(
    headers=st.dictionaries(
        st.sampled_from(
            ["Retry-After", "retry-after-ms", "x-ratelimit-reset", "ratelimit", "anthropic-ratelimit-tokens-reset"]
        ),
        st.text(max_size=40) | st.from_regex(r"\d{1,40}(\.\d+)?(ms|s|m|h|d)?", fullmatch=True),
    )
)
def test_no_header_makes_it_stumble_or_wait_for_ever(headers: dict[str, str]) -> None:
    wait = wait_s(headers, {"error": {"message": " ".join(headers.values())}}, NOW_S)
    assert wait is None or 0 <= wait <= WAIT_S_MAX
