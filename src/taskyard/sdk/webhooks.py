"""For receivers of notifications: whether what came is from the hub, and what it says.

    notice = verify(body, headers, secret)      # raises BadSignature
    if notice.type == "task_completed":
        print(notice.data.ref)

The body is the bytes as they came, before anything reads them, or their text; the headers, a mapping or pairs. A
notification comes at least once: remember `notice.id` and pass over what came before.
"""

import time
from collections.abc import Iterable, Mapping
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


Word = str | bytes


def verify(
    body: Word,
    headers: Mapping[str, str] | Mapping[bytes, bytes] | Iterable[tuple[Word, Word]],
    secret: str | Iterable[str],
    *,
    tolerance_s: float = TOLERANCE_S,
    now_s: float | None = None,
) -> Notice:
    """The notice, if it was signed with this secret, or with one of these, within the tolerance."""
    given, raw, keys = _headers_of(headers), _bytes_of(body), _keys_of(secret)
    id, sent, signatures = (given.get(name, "") for name in (ID, TIMESTAMP, SIGNATURE))
    if not (id and sent and signatures):
        raise BadSignature(f"The headers {ID}, {TIMESTAMP} and {SIGNATURE} are needed.")
    if not (sent.isascii() and sent.isdecimal() and len(sent) <= TIME_DIGITS_MAX):
        raise BadSignature(f"The header {TIMESTAMP} is no number of seconds since 1970.")
    if not is_signed(keys, id, sent, signatures, raw):
        raise BadSignature("The signature does not fit the secret.")
    if abs((time.time() if now_s is None else now_s) - int(sent)) > tolerance_s:
        raise BadSignature(f"It was signed more than {tolerance_s:g} s ago or ahead; is this machine's clock right?")
    try:
        notice = _decode(raw)
    except msgspec.MsgspecError as error:
        raise BadSignature(f"It is signed, but is no notification: {error}") from error
    notice.id = id
    return notice


def _bytes_of(body: object) -> bytes:
    if isinstance(body, str):
        return body.encode(errors="surrogatepass")
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    raise BadSignature(f"The body must be the bytes as they came, or their text, not {_kind(body)}.")


def _headers_of(headers: object) -> dict[str, str]:
    """By names in lower case, whatever kind of headers a framework has."""
    items = getattr(headers, "items", None)
    try:
        pairs = items() if callable(items) else list(headers)  # type: ignore[call-overload]
        return {_text_of(name).lower(): _text_of(value) for name, value in pairs}
    except (TypeError, ValueError):
        said = f"The headers must be a mapping, or pairs of name and value, not {_kind(headers)}."
        raise BadSignature(said) from None


def _text_of(word: object) -> str:
    if isinstance(word, bytes):
        return word.decode("latin-1")
    return word if isinstance(word, str) else str(word)


def _keys_of(secret: object) -> list[bytes]:
    secrets = [secret] if isinstance(secret, str) else secret if isinstance(secret, Iterable) else []
    keys = [key for each in secrets if isinstance(each, str) and (key := key_of(each)) is not None]
    if not keys:
        raise BadSignature(
            "No secret is usable: one is text that begins with whsec_, as it was shown when the notification was made."
        )
    return keys


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
