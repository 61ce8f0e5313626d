"""What an endpoint's answer other than 200 means."""

import pytest

from taskyard.daemon.openai.failures import refusal


@pytest.mark.parametrize(
    ("status", "headers", "said", "code", "details"),
    [
        (503, {"Retry-After": "7"}, b"", "RATE_LIMITED", {"retry_after": 7}),
        (503, {"retry-after-ms": "500"}, b"", "RATE_LIMITED", {"retry_after": 0.5}),
        (503, {}, b"overloaded", "ENDPOINT_ERROR", None),
        (500, {"Retry-After": "7"}, b"", "ENDPOINT_ERROR", None),
        (500, {}, b'{"error": {"message": "Rate limit reached"}}', "RATE_LIMITED", None),
        (400, {"Retry-After": "7"}, b'{"error": {"message": "Rate limit reached"}}', "ENDPOINT_REFUSED", None),
    ],
)
def test_an_endpoint_that_asks_to_wait_is_a_rate_limit(
    status: int, headers: dict[str, str], said: bytes, code: str, details: object
) -> None:
    error = refusal(status, headers, said, now_s=0)
    assert (error.code, error.details) == (code, details)
