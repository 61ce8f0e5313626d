"""Standard Webhooks: how what the hub sends is signed, and how a receiver knows it.

Signed is `ID.TIME.body` with HMAC-SHA256; the header may hold several signatures, of which one must be right. The time
is that of the sending and is signed anew with every try; the id stays.
"""

import base64
import binascii
import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

ID: Final = "webhook-id"
TIMESTAMP: Final = "webhook-timestamp"
SIGNATURE: Final = "webhook-signature"
SECRET_PREFIX: Final = "whsec_"
VERSION: Final = "v1"
KEY_BYTES_MIN: Final = 24
KEY_BYTES_MAX: Final = 64
# As the specification has it.


def key_of(secret: str) -> bytes | None:
    """What is hashed with; None: this is no secret of the scheme."""
    if not secret.startswith(SECRET_PREFIX):
        return None
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if KEY_BYTES_MIN <= len(key) <= KEY_BYTES_MAX else None


def secret_of(drawn: str) -> str:
    """A secret of 256 random bits in 43 url-safe characters."""
    return SECRET_PREFIX + base64.b64encode(base64.urlsafe_b64decode(drawn + "=")).decode()


def signature_of(key: bytes, id: str, timestamp: str, body: bytes) -> str:
    """As one entry of the header."""
    digest = hmac.new(key, f"{id}.{timestamp}.".encode() + body, sha256).digest()
    return f"{VERSION},{base64.b64encode(digest).decode()}"


def is_signed(keys: Sequence[bytes], id: str, timestamp: str, signatures: str, body: bytes) -> bool:
    """Whether any entry of the header fits any of the keys. All are compared, in constant time."""
    expected = [signature_of(key, id, timestamp, body).encode() for key in keys]
    given = [entry.encode(errors="replace") for entry in signatures.split(" ")]
    fitting = [hmac.compare_digest(one, other) for one in expected for other in given]
    return any(fitting)
