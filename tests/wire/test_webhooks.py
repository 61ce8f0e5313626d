"""Standard Webhooks, by the vector that its reference libraries test themselves with."""

import base64

import pytest

from taskyard.wire.webhooks import KEY_BYTES_MAX, is_signed, key_of, secret_of, signature_of

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID, TIME = "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330"
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
KEY = key_of(SECRET)


def test_what_is_signed_is_signed_as_published() -> None:
    assert KEY is not None
    assert signature_of(KEY, ID, TIME, BODY) == SIGNATURE


def test_one_fitting_signature_among_several_is_enough() -> None:
    assert KEY is not None
    other = b"another key of enough bytes"
    assert is_signed([KEY], ID, TIME, SIGNATURE, BODY)
    assert is_signed([other, KEY], ID, TIME, SIGNATURE, BODY)
    assert is_signed([KEY], ID, TIME, f"v1,AAAA v2,AAAA {SIGNATURE}", BODY)


@pytest.mark.parametrize(
    ("id", "time", "signatures", "body"),
    [
        (ID + "x", TIME, SIGNATURE, BODY),
        (ID, "1614265331", SIGNATURE, BODY),
        (ID, TIME, SIGNATURE, BODY + b" "),
        (ID, TIME, SIGNATURE.removeprefix("v1,"), BODY),
        (ID, TIME, SIGNATURE.replace("v1,", "v1a,"), BODY),
        (ID, TIME, SIGNATURE.replace("=", ""), BODY),
        (ID, TIME, SIGNATURE.swapcase(), BODY),
        (ID, TIME, "", BODY),
        (ID, TIME, "\udcff", BODY),
    ],
)
def test_anything_else_is_not_signed(id: str, time: str, signatures: str, body: bytes) -> None:
    assert KEY is not None
    assert not is_signed([KEY], id, time, signatures, body)
    assert not is_signed([], ID, TIME, SIGNATURE, BODY)


def test_a_secret_that_is_drawn_is_one() -> None:
    drawn = base64.urlsafe_b64encode(bytes(range(224, 256))).decode().rstrip("=")
    secret = secret_of(drawn)
    assert key_of(secret) == bytes(range(224, 256))


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "whsec_",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
        "whsec_ü" + "A" * 32,
        "whsec_" + "A" * 28,
        "whsec_" + base64.b64encode(bytes(KEY_BYTES_MAX + 1)).decode(),
    ],
)
def test_what_is_too_short_too_long_or_no_base64_is_no_secret(secret: str) -> None:
    assert key_of(secret) is None
