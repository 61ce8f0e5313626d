"""Whether a webhook's delivery was signed with a hook's secret, each provider's way. No I/O; the time is an argument.

GitHub   X-Hub-Signature-256: sha256=HEX                     over the body
Stripe   Stripe-Signature: t=TIME,v1=HEX[,v1=HEX]            over TIME.body
Slack    X-Slack-Signature: v0=HEX, X-Slack-Request-Timestamp  over v0:TIME:body
generic  webhook-signature: v1,BASE64[ v1,BASE64], webhook-id, webhook-timestamp  over ID.TIME.body (Standard Webhooks)

All are HMAC-SHA256 over the bytes as they came, before anything reads them. What a header holds is compared as text
with what it should be, in constant time: to decode it first would give one signature several spellings. Other versions
of a scheme are passed over, so that none can be chosen that is weaker. A header that comes twice is as good as none:
two readers could mean two different ones. The hash is taken also where nothing can fit, so that the time it takes does
not tell a hook that exists from one that does not.
"""

import base64
import binascii
import hmac
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Final

from msgspec import Struct

from taskyard.vocabulary import HookProvider
from taskyard.wire import webhooks
from taskyard.wire.webhooks import KEY_BYTES_MAX, KEY_BYTES_MIN, SECRET_PREFIX, secret_of

RawHeaders = Sequence[tuple[bytes, bytes]]
"""As they came: names in lower case, repeats included."""

SIGNATURES_MAX: Final = 10
# In one header. A sender that rotates its secret sends two.
TIME_DIGITS_MAX: Final = 12
GITHUB_SIGNATURE: Final = b"x-hub-signature-256"
STRIPE_SIGNATURE: Final = b"stripe-signature"
SLACK_SIGNATURE: Final = b"x-slack-signature"
SLACK_TIME: Final = b"x-slack-request-timestamp"
STANDARD_ID: Final = webhooks.ID.encode()
STANDARD_TIME: Final = webhooks.TIMESTAMP.encode()
STANDARD_SIGNATURE: Final = webhooks.SIGNATURE.encode()
_NOBODYS: Final = b"no hook has this key"


class Fault(StrEnum):
    """Why a delivery is not believed, as the log tells it."""

    NO_HOOK = "a delivery was refused: there is no such hook"
    HEADER = "a delivery was refused: a header of its signature is missing, given twice or cannot be read"
    SIGNATURE = "a delivery was refused: its signature does not fit the hook's secret"
    OLD = "a delivery was refused: it was signed too long ago"
    AHEAD = "a delivery was refused: it was signed in the future"


class Window(Struct, frozen=True):
    """When a delivery may have been signed, seen from now."""

    now_ms: int
    old_s_max: float
    ahead_s_max: float


class Claim(Struct, frozen=True):
    """What a delivery says of its own signature."""

    before: bytes
    """What is signed in front of the body."""
    signatures: Sequence[bytes]
    """Any of them must be right."""
    spell: Callable[[bytes], bytes]
    """How this provider writes a hash down."""
    signed_s: int | None = None
    """When, where that is signed too."""


def fault_in(
    provider: HookProvider | None, secrets: Sequence[str], headers: RawHeaders, body: bytes, window: Window
) -> Fault | None:
    """What is wrong with a delivery's signature; no provider: there is no such hook."""
    claim = None if provider is None else CLAIMS[provider](headers)
    if provider is None or claim is None:
        _hash(_NOBODYS, b"", body)
        return Fault.NO_HOOK if provider is None else Fault.HEADER
    expected = [claim.spell(_hash(key, claim.before, body)) for secret in secrets for key in keys_of(provider, secret)]
    # Every pair is compared, whichever fits.
    fitting = [hmac.compare_digest(one, given) for one in expected for given in claim.signatures]
    return _fault_of_time(claim, window) if any(fitting) else Fault.SIGNATURE


def _fault_of_time(claim: Claim, window: Window) -> Fault | None:
    if claim.signed_s is None:
        return None
    age_ms = window.now_ms - 1000 * claim.signed_s
    if age_ms > 1000 * window.old_s_max:
        return Fault.OLD
    return Fault.AHEAD if -age_ms > 1000 * window.ahead_s_max else None


def _hash(key: bytes, before: bytes, body: bytes) -> bytes:
    mac = hmac.new(key, before, sha256)
    mac.update(body)
    return mac.digest()


def only(headers: RawHeaders, name: bytes) -> bytes | None:
    """The value of a header that is there exactly once."""
    found = [value for key, value in headers if key == name]
    return found[0].strip() if len(found) == 1 else None


# What each provider sends. None: not what it would send.


def _of_github(headers: RawHeaders) -> Claim | None:
    signature = only(headers, GITHUB_SIGNATURE)
    if signature is None or not signature.startswith(b"sha256="):
        return None
    return Claim(b"", (signature[7:],), _hex)


def _of_stripe(headers: RawHeaders) -> Claim | None:
    said = only(headers, STRIPE_SIGNATURE)
    parts = [part.strip().partition(b"=") for part in (said or b"").split(b",")]
    times = [value for name, _, value in parts if name == b"t"]
    signatures = [value for name, _, value in parts if name == b"v1"]
    if len(times) != 1 or not _is_time(times[0]) or not 0 < len(signatures) <= SIGNATURES_MAX:
        return None
    return Claim(times[0] + b".", signatures, _hex, int(times[0]))


def _of_slack(headers: RawHeaders) -> Claim | None:
    signature, at = only(headers, SLACK_SIGNATURE), only(headers, SLACK_TIME)
    if signature is None or at is None or not _is_time(at) or not signature.startswith(b"v0="):
        return None
    return Claim(b"v0:" + at + b":", (signature[3:],), _hex, int(at))


def _of_standard(headers: RawHeaders) -> Claim | None:
    said, at, delivery = (only(headers, name) for name in (STANDARD_SIGNATURE, STANDARD_TIME, STANDARD_ID))
    signatures = [each[3:] for each in (said or b"").split() if each.startswith(b"v1,")]
    if not delivery or at is None or not _is_time(at) or not 0 < len(signatures) <= SIGNATURES_MAX:
        return None
    return Claim(b"%b.%b." % (delivery, at), signatures, base64.b64encode, int(at))


CLAIMS: Final[Mapping[HookProvider, Callable[[RawHeaders], Claim | None]]] = {
    HookProvider.GITHUB: _of_github,
    HookProvider.STRIPE: _of_stripe,
    HookProvider.SLACK: _of_slack,
    HookProvider.GENERIC: _of_standard,
}


def _is_time(text: bytes) -> bool:
    """Seconds since 1970, and nothing that only looks like it: what was signed is the text."""
    return text.isdigit() and len(text) <= TIME_DIGITS_MAX


def _hex(hash: bytes) -> bytes:
    return hash.hex().encode()


# Secrets.


def keys_of(provider: HookProvider, secret: str) -> list[bytes]:
    """What is hashed with. Of a secret without the prefix some senders take the text and some what it decodes to."""
    raw = secret.encode()
    if provider is not HookProvider.GENERIC:
        return [raw]
    decoded = _decoded(secret.removeprefix(SECRET_PREFIX))
    if secret.startswith(SECRET_PREFIX):
        return [] if decoded is None else [decoded]
    return [raw] if decoded is None else [raw, decoded]


def new_secret(provider: HookProvider, drawn: str) -> str:
    """A secret of what was drawn, 256 bits in 43 url-safe characters, in the form that the provider's senders take."""
    if provider is not HookProvider.GENERIC:
        return drawn
    return secret_of(drawn)


def objection_to_secret(provider: HookProvider, secret: str) -> str | None:
    """Why it does not do for a hook. Of a provider that makes them itself any does."""
    if provider is not HookProvider.GENERIC:
        return None
    if secret.startswith(SECRET_PREFIX):
        is_good = webhooks.key_of(secret) is not None
        return (
            None
            if is_good
            else f"what follows `{SECRET_PREFIX}` must be {KEY_BYTES_MIN} to {KEY_BYTES_MAX} bytes in base64"
        )
    return None if len(secret.encode()) >= KEY_BYTES_MIN else f"it must have at least {KEY_BYTES_MIN} bytes"


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True) or None
    except (binascii.Error, ValueError):
        return None
