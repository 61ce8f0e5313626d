"""What a delivery brings, read once its signature is known to be right: an event, an id, a payload.

Where the provider signs an id of its own inside the body, that is the delivery's; GitHub names it in a header only.
Where Stripe's or Slack's has none, what was signed is its own id: the same bytes again are the same delivery.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Final
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from taskyard.gateway import plain_json
from taskyard.gateway.call import RequestRefused
from taskyard.gateway.signatures import STANDARD_ID, RawHeaders, only
from taskyard.vocabulary import HOOK_KEY_PREFIX, HookProvider, Refusal
from taskyard.wire.depth import without_nul

FORM: Final = b"application/x-www-form-urlencoded"
FIELDS_MAX: Final = 100
# Of a form. Slack's have about a dozen, GitHub's one.
WORD_CHARS_MAX: Final = 255
# Of an event's name, and of an id where it is shown.
_PLAIN_ID: Final = re.compile(r"[!-~]{1,128}")


class Delivery(Struct, frozen=True):
    id: str
    event: str
    payload: object
    is_greeting: bool = False
    """The provider only wants to see who is there."""
    challenge: str | None = None
    """What it asked to be given back for that."""
    is_command: bool = False
    """A slash command of Slack: what it is answered with is shown to the person who typed it."""

    def is_among(self, events: Sequence[str]) -> bool:
        """Whether a hook takes it that takes these, by its name alone or with its action; none are all."""
        action = _word(self.payload, "action")
        return not events or self.event in events or (action != "" and f"{self.event}.{action}" in events)

    def key(self, hook_id: str) -> str:
        """By which the task it makes is known, whatever that holds. An id that no key could hold stands by its hash."""
        name = self.id if _PLAIN_ID.fullmatch(self.id) else _fingerprint(self.id.encode(errors="surrogatepass"))
        return f"{HOOK_KEY_PREFIX}{hook_id}:{name}"


def read(provider: HookProvider, headers: RawHeaders, body: bytes) -> Delivery:
    """Raises `RequestRefused` for what cannot be read."""
    payload = _of_form(body) if _is_form(headers, body) else _of_json(body)
    return READERS[provider](headers, payload, body)


def _is_form(headers: RawHeaders, body: bytes) -> bool:
    """Many senders say so of JSON, because it is what their libraries say unless told. No form begins like that."""
    kind = (only(headers, b"content-type") or b"").partition(b";")[0].strip().lower()
    return kind == FORM and not body.lstrip().startswith((b"{", b"["))


def _of_json(raw: bytes) -> object:
    # Refusing it would lose a delivery that its sender cannot mend.
    raw = without_nul(raw)
    plain_json.check(raw, wraps=0)
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError):
        raise plain_json.not_json() from None


def _of_form(raw: bytes) -> object:
    """A form with JSON in its field `payload` is that; any other is its fields."""
    try:
        text = raw.decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="strict")
    except ValueError:
        raise RequestRefused(Refusal.INVALID_INPUT, "The form cannot be read; send JSON instead.") from None
    fields = {name: value.replace("\0", "\ufffd") for name, value in pairs}
    payload = fields.get("payload")
    return fields if payload is None else _of_json(payload.encode())


# What each provider says, and where.


def _of_github(headers: RawHeaders, payload: object, _body: bytes) -> Delivery:
    delivery, event = _header(headers, b"x-github-delivery"), _header(headers, b"x-github-event")
    if not delivery:
        raise RequestRefused(Refusal.INVALID_INPUT, "X-GitHub-Delivery must be there, once.")
    return Delivery(delivery, event, payload, is_greeting=event == "ping")


def _of_stripe(_headers: RawHeaders, payload: object, body: bytes) -> Delivery:
    return Delivery(_word(payload, "id") or _fingerprint(body), _word(payload, "type"), payload)


def _of_slack(headers: RawHeaders, payload: object, body: bytes) -> Delivery:
    kind, inner = _word(payload, "type"), payload.get("event") if isinstance(payload, dict) else None
    event = _word(inner, "type") if kind == "event_callback" else kind or _word(payload, "command")
    name = _word(payload, "event_id") or _word(payload, "trigger_id") or _fingerprint(body)
    if kind == "url_verification":
        return Delivery(name, event, payload, is_greeting=True, challenge=_text(payload, "challenge"))
    is_command = not kind and event.startswith("/") and _is_form(headers, body)
    return Delivery(name, event, payload, is_command=is_command)


def _of_standard(headers: RawHeaders, payload: object, _body: bytes) -> Delivery:
    return Delivery(_header(headers, STANDARD_ID), _word(payload, "type"), payload)


READERS: Final[Mapping[HookProvider, Callable[[RawHeaders, object, bytes], Delivery]]] = {
    HookProvider.GITHUB: _of_github,
    HookProvider.STRIPE: _of_stripe,
    HookProvider.SLACK: _of_slack,
    HookProvider.GENERIC: _of_standard,
}


def _header(headers: RawHeaders, name: bytes) -> str:
    return (only(headers, name) or b"").decode("latin-1")


def _text(payload: object, name: str) -> str:
    said = payload.get(name) if isinstance(payload, dict) else None
    return said if isinstance(said, str) else ""


def _word(payload: object, name: str) -> str:
    """An id or a name. One that is longer than any is none."""
    said = _text(payload, name)
    return said if len(said) <= WORD_CHARS_MAX else ""


def _fingerprint(content: bytes) -> str:
    return f"sha256:{sha256(content).hexdigest()}"
