"""For receivers of notifications: whether what came is from the hub, and what it says.

    notice = verify(body, headers, secret)      # raises BadSignature
    if notice.type == "task_completed":
        print(notice.data.ref)

The body is the bytes as they came, before anything reads them. A notification comes at least once: remember
`notice.id` and pass over what came before.
"""

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct

from taskyard.sdk.answers import Event
from taskyard.sdk.errors import TaskyardError
from taskyard.wire.webhooks import ID, SIGNATURE, TIMESTAMP, is_signed, key_of

TOLERANCE_S: Final = 300.0
TIME_DIGITS_MAX: Final = 12


class BadSignature(TaskyardError):
    """It does not come from the hub, or is too old to be believed. Answer it with 401."""


class Notice(Struct, kw_only=True):
    """What a notification tells."""

    id: str = ""
    """The same at every try; to tell what came before."""
    type: str
    timestamp: datetime
    data: Event


_decode: Final = msgspec.json.Decoder(Notice).decode


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance_s: float = TOLERANCE_S,
    now_s: float | None = None,
) -> Notice:
    """The notice, if it was signed with this secret, or with one of these, within the tolerance."""
    given = {name.lower(): value for name, value in headers.items()}
    id, sent, signatures = (given.get(name, "") for name in (ID, TIMESTAMP, SIGNATURE))
    keys = [key for each in ([secret] if isinstance(secret, str) else secret) if (key := key_of(each)) is not None]
    if not keys:
        raise BadSignature(
            "No secret is usable: one begins with whsec_, as it was shown when the notification was made."
        )
    if not id or not (sent.isascii() and sent.isdecimal() and len(sent) <= TIME_DIGITS_MAX):
        raise BadSignature(f"The headers {ID}, {TIMESTAMP} and {SIGNATURE} are needed.")
    if not is_signed(keys, id, sent, signatures, body):
        raise BadSignature("The signature does not fit the secret.")
    if abs((time.time() if now_s is None else now_s) - int(sent)) > tolerance_s:
        raise BadSignature(f"It was signed more than {tolerance_s:g} s ago or ahead; is this machine's clock right?")
    try:
        notice = _decode(body)
    except msgspec.MsgspecError as error:
        raise BadSignature(f"It is signed, but is no notification: {error}") from error
    notice.id = id
    return notice
