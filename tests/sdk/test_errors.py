from typing import Any

import msgspec
import pytest

from taskyard.sdk.errors import BY_CODE, BY_STATUS, Conflict, Limited, Refused, refusal
from taskyard.vocabulary import Refusal
from taskyard.wire.problems import PROBLEMS


def test_every_refusal_of_the_hub_has_its_exception() -> None:
    assert set(BY_CODE) == set(Refusal) == set(PROBLEMS)


@pytest.mark.parametrize("code", list(Refusal))
def test_a_refusal_is_of_the_class_of_its_code(code: Refusal) -> None:
    error = refusal(400, {}, msgspec.json.encode({"code": code, "detail": "No."}))
    assert type(error) is BY_CODE[code]
    assert (error.code, error.detail, error.status) == (code, "No.", 400)


@pytest.mark.parametrize(("status", "kind"), [*BY_STATUS.items(), (418, Refused)])
def test_a_code_from_a_newer_hub_falls_back_on_its_status(status: int, kind: type[Refused]) -> None:
    assert type(refusal(status, {}, b'{"code": "NEVER_HEARD_OF"}')) is kind


def test_a_code_says_more_than_its_status() -> None:
    assert type(refusal(400, {}, b'{"code": "TOO_MANY_PENDING"}')) is Limited
    assert type(refusal(400, {}, b'{"code": "TASK_ALREADY_COMPLETED"}')) is Conflict


@pytest.mark.parametrize("body", [b"", b"<html>Bad gateway</html>", b"[]", b'{"detail": 7}'])
def test_what_a_proxy_says_is_not_repeated(body: bytes) -> None:
    error = refusal(502, {}, body)
    assert (error.code, error.detail) == ("HTTP_502", "The hub answered with status 502.")


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("-1", 0.0), ("Wed, 21 Oct 2026 07:28:00 GMT", None), (None, None)]
)
def test_when_to_come_back_is_read_in_seconds(header: str | None, seconds: Any) -> None:
    headers = {} if header is None else {"Retry-After": header}
    assert refusal(503, headers, b"{}").retry_after == seconds


def test_what_the_body_says_about_when_to_come_again_is_exact_and_goes_before_the_header() -> None:
    body = {"code": "RATE_LIMITED", "retry_after": 1.2, "backpressure": {"level": "warning", "queue_depth": 7}}
    error = refusal(429, {"Retry-After": "2"}, msgspec.json.encode(body))
    assert error.retry_after == 1.2
    assert error.backpressure is not None
    assert (error.backpressure.level, error.backpressure.queue_depth) == ("warning", 7)
