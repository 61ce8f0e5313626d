"""What a receiver checks, with the signature that Standard Webhooks publishes."""

from email.message import Message
from typing import Any

import pytest

import taskyard
from taskyard.sdk.errors import TaskyardError
from taskyard.sdk.webhooks import BadSignature, verify
from taskyard.wire.webhooks import key_of, signature_of

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
BODY = b'{"type":"task_completed","timestamp":"2026-01-02T03:04:05Z","data":{"event":"task.completed","ref":"T-001"}}'
NOW_S = 1_614_265_330


def headers(body: bytes = BODY, *, secret: str = SECRET, at: int = NOW_S) -> dict[str, str]:
    key = key_of(secret)
    assert key is not None
    return {
        "Webhook-Id": "d_1",
        "Webhook-Timestamp": str(at),
        "WEBHOOK-SIGNATURE": signature_of(key, "d_1", str(at), body),
    }


def test_three_lines_are_enough_for_a_receiver() -> None:
    notice = taskyard.verify(BODY, headers(), SECRET, now_s=NOW_S)
    assert (notice.id, notice.type, notice.data.ref) == ("d_1", "task_completed", "T-001")


def test_while_a_secret_is_changed_both_are_good() -> None:
    for secret in (SECRET, OTHER):
        assert verify(BODY, headers(secret=secret), [SECRET, OTHER], now_s=NOW_S).id == "d_1"


def test_bodies_and_headers_are_taken_as_frameworks_have_them() -> None:
    given = headers()
    raw = [(name.lower().encode(), value.encode()) for name, value in given.items()]
    message = Message()
    for name, value in given.items():
        message[name] = value
    for body in (BODY, BODY.decode(), bytearray(BODY), memoryview(BODY)):
        for each in (given, list(given.items()), iter(given.items()), raw, dict(raw), message):
            assert verify(body, each, SECRET, now_s=NOW_S).id == "d_1"  # type: ignore[arg-type]


def test_the_published_signature_is_taken_for_one() -> None:
    published = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    with pytest.raises(BadSignature, match="It is signed, but is no notification"):
        verify(b'{"test": 2432232314}', published, SECRET, now_s=NOW_S)


@pytest.mark.parametrize(
    ("given", "body", "secret", "now_s", "why"),
    [
        (headers(), BODY + b" ", SECRET, NOW_S, "does not fit"),
        (headers(), BODY, OTHER, NOW_S, "does not fit"),
        (headers(secret=OTHER), BODY, SECRET, NOW_S, "does not fit"),
        ({**headers(), "Webhook-Id": "d_2"}, BODY, SECRET, NOW_S, "does not fit"),
        ({**headers(), "Webhook-Timestamp": str(NOW_S + 1)}, BODY, SECRET, NOW_S, "does not fit"),
        (headers(), BODY, SECRET, NOW_S + 301, "more than 300 s"),
        (headers(), BODY, SECRET, NOW_S - 301, "more than 300 s"),
        ({}, BODY, SECRET, NOW_S, "are needed"),
        ({**headers(), "Webhook-Timestamp": "soon"}, BODY, SECRET, NOW_S, "no number of seconds"),
        ({**headers(), "Webhook-Timestamp": "9" * 40}, BODY, SECRET, NOW_S, "no number of seconds"),
        (headers(), BODY, "secret", NOW_S, "No secret is usable"),
        (headers(), BODY, [], NOW_S, "No secret is usable"),
        (headers(), BODY, None, NOW_S, "No secret is usable"),
        (headers(), BODY, SECRET.encode(), NOW_S, "No secret is usable"),
        (headers(), BODY, [None], NOW_S, "No secret is usable"),
        (headers(), None, SECRET, NOW_S, "The body must be the bytes as they came, or their text, not nothing"),
        (headers(), {"type": "a"}, SECRET, NOW_S, "not a dict"),
        (None, BODY, SECRET, NOW_S, "The headers must be a mapping, or pairs of name and value, not nothing"),
        (["webhook-id"], BODY, SECRET, NOW_S, "The headers must be a mapping"),
        ({**headers(), "Webhook-Timestamp": None}, BODY, SECRET, NOW_S, "no number of seconds"),
        (headers(), "\ud800", SECRET, NOW_S, "does not fit"),
    ],
)
def test_what_is_altered_old_or_signed_by_another_is_not_believed(
    given: Any, body: Any, secret: Any, now_s: int, why: str
) -> None:
    with pytest.raises(TaskyardError, match=why):
        verify(body, given, secret, now_s=now_s)


def test_by_itself_it_goes_by_the_machines_clock() -> None:
    with pytest.raises(BadSignature, match="is this machine's clock right"):
        verify(BODY, headers(), SECRET)
