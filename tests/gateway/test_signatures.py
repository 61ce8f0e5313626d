"""Signatures of deliveries: each provider's published examples, and everything that is not one of them."""

import base64
import hmac
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskyard.gateway.signatures import (
    Fault,
    RawHeaders,
    Window,
    fault_in,
    keys_of,
    new_secret,
    objection_to_secret,
    only,
)
from taskyard.vocabulary import HookProvider

GITHUB, STRIPE, SLACK, GENERIC = HookProvider

# As published: GitHub, "Validating webhook deliveries"; Stripe's own library, the event of its signature test; Slack,
# "Verifying requests from Slack"; Standard Webhooks, the example of its libraries.
GITHUB_BODY = b"Hello, World!"
GITHUB_SECRET = "It's a Secret to Everybody"
GITHUB_SIGNATURE = b"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
STRIPE_BODY = b"""{
  "id": "evt_123",
  "object": "event",
  "account": "acct_123",
  "api_version": "2017-05-25",
  "created": 1533204620,
  "data": {
    "object": {
      "id": "cus_123",
      "object": "customer",
      "created": 123456789,
      "email": "test@stripe.com",
      "livemode": false,
      "metadata": {}
    }
  },
  "livemode": false,
  "pending_webhooks": 1,
  "request": {
    "id": "req_123",
    "idempotency_key": "idempotency-key-123"
  },
  "type": "customer.created"
}
"""
STRIPE_SECRET = "webhook_secret"
STRIPE_HASH = b"2220f87ef101a04665f11cdf770523143f875572008577fa0f20882ddb9cc3c7"
STRIPE_OLD_SCHEME = b"63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef"
STRIPE_SIGNATURE = b"t=1533204620,v1=%b,v0=%b" % (STRIPE_HASH, STRIPE_OLD_SCHEME)
SLACK_BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
    b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
    b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
    b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
SLACK_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
SLACK_SIGNATURE = b"v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
STANDARD_BODY = b'{"test": 2432232314}'
STANDARD_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
STANDARD_SIGNATURE = b"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

Sample = tuple[HookProvider, str, RawHeaders, bytes, int]
PUBLISHED: dict[HookProvider, Sample] = {
    GITHUB: (GITHUB, GITHUB_SECRET, [(b"x-hub-signature-256", GITHUB_SIGNATURE)], GITHUB_BODY, 1_700_000_000),
    STRIPE: (STRIPE, STRIPE_SECRET, [(b"stripe-signature", STRIPE_SIGNATURE)], STRIPE_BODY, 1_533_204_620),
    SLACK: (
        SLACK,
        SLACK_SECRET,
        [(b"x-slack-request-timestamp", b"1531420618"), (b"x-slack-signature", SLACK_SIGNATURE)],
        SLACK_BODY,
        1_531_420_618,
    ),
    GENERIC: (
        GENERIC,
        STANDARD_SECRET,
        [
            (b"webhook-id", b"msg_p5jXN8AQM9LWM0D4loKWxJek"),
            (b"webhook-timestamp", b"1614265330"),
            (b"webhook-signature", STANDARD_SIGNATURE),
        ],
        STANDARD_BODY,
        1_614_265_330,
    ),
}
TIMED = [STRIPE, SLACK, GENERIC]
every = pytest.mark.parametrize("provider", HookProvider)


def judged(
    provider: HookProvider,
    *,
    secrets: tuple[str, ...] | None = None,
    headers: RawHeaders | None = None,
    body: bytes | None = None,
    late_s: float = 0,
) -> Fault | None:
    """The published example, but for what is given."""
    _, secret, sent, signed, at_s = PUBLISHED[provider]
    window = Window(now_ms=round(1000 * (at_s + late_s)), old_s_max=300, ahead_s_max=60)
    return fault_in(
        provider,
        (secret,) if secrets is None else secrets,
        sent if headers is None else headers,
        signed if body is None else body,
        window,
    )


def with_value(provider: HookProvider, name: bytes, value: bytes) -> RawHeaders:
    return [(key, value if key == name else old) for key, old in PUBLISHED[provider][2]]


# --- what is believed --------------------------------------------------------------------------------------


@every
def test_the_published_example_is_believed(provider: HookProvider) -> None:
    assert judged(provider) is None


@every
def test_either_secret_of_a_rotation_will_do(provider: HookProvider) -> None:
    secret, other = PUBLISHED[provider][1], new_secret(provider, "A" * 43)
    assert judged(provider, secrets=(other, secret)) is None
    assert judged(provider, secrets=(secret, other)) is None


def test_any_signature_of_several_will_do() -> None:
    both = b"t=1533204620,v1=" + b"0" * 64 + b",v1=" + STRIPE_HASH
    assert judged(STRIPE, headers=[(b"stripe-signature", both)]) is None
    several = b"v1,%b v1a,x v2,y %b" % (base64.b64encode(b"0" * 32), STANDARD_SIGNATURE)
    assert judged(GENERIC, headers=with_value(GENERIC, b"webhook-signature", several)) is None


@pytest.mark.parametrize("provider", TIMED)
@pytest.mark.parametrize(
    ("late_s", "fault"),
    [(300, None), (300.001, Fault.OLD), (3600, Fault.OLD), (-60, None), (-60.001, Fault.AHEAD), (-3600, Fault.AHEAD)],
)
def test_a_time_that_is_signed_holds_for_five_minutes_and_a_minute_ahead(
    provider: HookProvider, late_s: float, fault: Fault | None
) -> None:
    assert judged(provider, late_s=late_s) is fault


def test_github_signs_no_time() -> None:
    assert judged(GITHUB, late_s=10**9) is None


# --- what is not -------------------------------------------------------------------------------------------


@every
def test_a_single_bit_that_differs_is_noticed(provider: HookProvider) -> None:
    body = PUBLISHED[provider][3]
    for at in (0, len(body) // 2, len(body) - 1):
        altered = bytearray(body)
        altered[at] ^= 1
        assert judged(provider, body=bytes(altered)) is Fault.SIGNATURE
    assert judged(provider, body=body + b" ") is Fault.SIGNATURE
    assert judged(provider, body=b"") is Fault.SIGNATURE


@every
def test_another_secret_is_wrong(provider: HookProvider) -> None:
    assert judged(provider, secrets=(new_secret(provider, "A" * 43),)) is Fault.SIGNATURE
    assert judged(provider, secrets=()) is Fault.SIGNATURE


@every
def test_the_secret_of_a_hook_of_another_provider_is_wrong(provider: HookProvider) -> None:
    for other in HookProvider:
        if other is not provider:
            assert judged(provider, secrets=(PUBLISHED[other][1],)) is Fault.SIGNATURE
            assert judged(provider, headers=PUBLISHED[other][2]) is Fault.HEADER


@every
def test_each_header_of_the_signature_must_be_there_once(provider: HookProvider) -> None:
    sent = list(PUBLISHED[provider][2])
    for at in range(len(sent)):
        assert judged(provider, headers=sent[:at] + sent[at + 1 :]) is Fault.HEADER
        assert judged(provider, headers=[*sent, sent[at]]) is Fault.HEADER
    assert judged(provider, headers=[]) is Fault.HEADER


@pytest.mark.parametrize("provider", [SLACK, GENERIC])
def test_a_time_that_was_not_signed_is_noticed(provider: HookProvider) -> None:
    name, at_s = (
        (b"x-slack-request-timestamp", 1_531_420_618) if provider is SLACK else (b"webhook-timestamp", 1_614_265_330)
    )
    moved = with_value(provider, name, str(at_s + 1).encode())
    assert judged(provider, headers=moved) is Fault.SIGNATURE


def test_stripes_time_and_the_id_of_standard_webhooks_are_signed_too() -> None:
    moved = STRIPE_SIGNATURE.replace(b"t=1533204620", b"t=1533204621")
    assert judged(STRIPE, headers=[(b"stripe-signature", moved)]) is Fault.SIGNATURE
    other = with_value(GENERIC, b"webhook-id", b"msg_another")
    assert judged(GENERIC, headers=other) is Fault.SIGNATURE


@pytest.mark.parametrize(
    "said", [b"", b" ", b"-1", b"1e9", b"1_533", b"0x10", b"1533204620.0", b"9" * 13, "\uff11".encode()]
)
def test_what_is_no_time_is_none(said: bytes) -> None:
    stripe = STRIPE_SIGNATURE.replace(b"t=1533204620", b"t=" + said)
    assert judged(STRIPE, headers=[(b"stripe-signature", stripe)]) is Fault.HEADER
    for provider, name in ((SLACK, b"x-slack-request-timestamp"), (GENERIC, b"webhook-timestamp")):
        assert judged(provider, headers=with_value(provider, name, said)) is Fault.HEADER


@pytest.mark.parametrize(
    "said",
    [
        b"t=,v1=" + STRIPE_HASH,
        b"t,v1=,v0=",
        b"t,v1=,v0",
        b"t,,",
        b",,",
        b"t",
        b"v1=" + STRIPE_HASH,
        b"t=1533204620",
        b"t=1533204620,v0=" + STRIPE_HASH,
        b"t=1533204620,t=1533204620,v1=" + STRIPE_HASH,
        b"t=1533204620" + b",v1=0" * 11,
    ],
)
def test_a_header_that_stripe_would_not_send_is_not_read(said: bytes) -> None:
    assert judged(STRIPE, headers=[(b"stripe-signature", said)]) is Fault.HEADER


def test_no_other_version_of_a_scheme_counts() -> None:
    assert (
        judged(GITHUB, headers=[(b"x-hub-signature-256", GITHUB_SIGNATURE.replace(b"sha256", b"sha1"))]) is Fault.HEADER
    )
    assert judged(GITHUB, headers=[(b"x-hub-signature", GITHUB_SIGNATURE)]) is Fault.HEADER
    assert judged(SLACK, headers=with_value(SLACK, b"x-slack-signature", SLACK_SIGNATURE[3:])) is Fault.HEADER
    for said in (STANDARD_SIGNATURE.replace(b"v1,", b"v2,"), STANDARD_SIGNATURE[3:], b"v1", b""):
        assert judged(GENERIC, headers=with_value(GENERIC, b"webhook-signature", said)) is Fault.HEADER
    many = b" ".join([b"v1,x"] * 11)
    assert judged(GENERIC, headers=with_value(GENERIC, b"webhook-signature", many)) is Fault.HEADER


def test_a_signature_has_one_spelling() -> None:
    upper = b"sha256=" + GITHUB_SIGNATURE[7:].upper()
    for said in (upper, GITHUB_SIGNATURE + b"0", GITHUB_SIGNATURE[:-1], b"sha256="):
        assert judged(GITHUB, headers=[(b"x-hub-signature-256", said)]) is Fault.SIGNATURE
    unpadded = with_value(GENERIC, b"webhook-signature", STANDARD_SIGNATURE.rstrip(b"="))
    assert judged(GENERIC, headers=unpadded) is Fault.SIGNATURE


def test_a_hook_that_does_not_exist_believes_nobody() -> None:
    _, _, headers, body, at_s = PUBLISHED[GITHUB]
    window = Window(1000 * at_s, 300, 60)
    assert fault_in(None, (), headers, body, window) is Fault.NO_HOOK


# --- any headers at all ------------------------------------------------------------------------------------

WORDS = [b"t=1", b"v1=", b"v0=", b"v1,", b"sha256=", b",", b" ", b"=", b"1614265330", STANDARD_SIGNATURE, STRIPE_HASH]
values = st.lists(st.sampled_from(WORDS) | st.binary(max_size=8), max_size=8).map(b"".join)
names = st.sampled_from([name for sample in PUBLISHED.values() for name, _ in sample[2]])


@every
@settings(max_examples=150, deadline=None)
@given(headers=st.lists(st.tuples(names, values), max_size=6), body=st.binary(max_size=40))
def test_no_headers_are_believed_that_nobody_signed(
    provider: HookProvider, headers: list[tuple[bytes, bytes]], body: bytes
) -> None:
    secret = new_secret(provider, "B" * 43)
    window = Window(1_614_265_330_000, 300, 60)
    assert fault_in(provider, (secret,), headers, body, window) in (Fault.HEADER, Fault.SIGNATURE)


# --- secrets -----------------------------------------------------------------------------------------------


def test_a_new_secret_of_each_provider_can_be_used() -> None:
    for provider in HookProvider:
        secret = new_secret(provider, "Zm9v-_" + "A" * 37)
        assert objection_to_secret(provider, secret) is None
        assert all(len(key) >= 32 for key in keys_of(provider, secret))
    assert new_secret(GENERIC, "A" * 43).startswith("whsec_")


def test_only_standard_webhooks_decode_a_secret() -> None:
    assert keys_of(STRIPE, STANDARD_SECRET) == [STANDARD_SECRET.encode()]
    assert keys_of(GENERIC, STANDARD_SECRET) == [base64.b64decode(STANDARD_SECRET[6:])]


def test_a_secret_of_ones_own_must_not_be_guessed_easily() -> None:
    short = base64.b64encode(b"x" * 23).decode()
    for bad in ("whsec_", "whsec_not base64!", "whsec_größe", f"whsec_{short}"):
        assert objection_to_secret(GENERIC, bad) == "what follows `whsec_` must be 24 to 64 bytes in base64"
    for bad in ("", "x", "x" * 23):
        assert objection_to_secret(GENERIC, bad) == "it must have at least 24 bytes"
    for good in (STANDARD_SECRET, STANDARD_SECRET[6:], "x" * 24, "ö" * 12):
        assert objection_to_secret(GENERIC, good) is None
    assert objection_to_secret(STRIPE, "x") is None


@pytest.mark.parametrize("derive", [str.encode, base64.b64decode])
def test_a_secret_without_its_prefix_is_taken_as_text_and_as_base64(derive: Callable[[str], bytes]) -> None:
    secret = STANDARD_SECRET[6:]
    digest = hmac.digest(derive(secret), b"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330." + STANDARD_BODY, "sha256")
    headers = with_value(GENERIC, b"webhook-signature", b"v1," + base64.b64encode(digest))
    assert judged(GENERIC, secrets=(secret,), headers=headers) is None
    assert keys_of(GENERIC, "my secret") == [b"my secret"]


def test_a_header_is_taken_if_it_is_there_once() -> None:
    headers = [(b"a", b" 1 "), (b"b", b"2"), (b"b", b"2")]
    assert (only(headers, b"a"), only(headers, b"b"), only(headers, b"c")) == (b"1", None, None)
