"""What a request's head must be, beyond what the parser asks of it: its version, target, framing and repeated fields.

Two readers of one request, a proxy and this hub, must not understand it differently. So what the parser takes and
RFC 9112 leaves open, or others are known to read in another way, is refused; see ADR 31.
"""

import re
from collections.abc import Iterable
from typing import Final

from taskyard.gateway.asgi import Scope
from taskyard.gateway.call import RequestRefused
from taskyard.vocabulary import Refusal

RawHeaders = Iterable[tuple[bytes, bytes]]

# Fields that decide who asks, what for, or where the request ends: with two of them, each reader may take another.
SINGLE: Final = frozenset(
    {
        b"authorization",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"cookie",
        b"host",
        b"idempotency-key",
        b"last-event-id",
        b"origin",
        b"transfer-encoding",
        b"x-taskyard-request",
    }
)
TRACE_PARENT: Final = b"traceparent"
# The field of an answer that is the last on its connection.
CLOSES: Final = (b"connection", b"close")

_VERSIONS: Final = frozenset({"1.0", "1.1"})
# Finds what no target may have, though the parser takes it.
is_odd: Final = re.compile(rb"[^\x21-\x7e]|#").search
_ABSOLUTE: Final = re.compile(rb"https?://([^/?]+)(.*)", re.IGNORECASE)


def malformed(detail: str) -> RequestRefused:
    """The refusal of a request that others could read differently. Its connection is not used again."""
    return RequestRefused(Refusal.BAD_REQUEST, detail, headers=(CLOSES,))


def fields_of(scope: Scope) -> dict[bytes, bytes]:
    """Return the header fields by name, if the head says once what may be said once. Raises `RequestRefused`."""
    # The parser leaves the spaces behind a value, which are no part of it (RFC 9110, 5.5).
    given = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
    fields = dict(given)
    if len(fields) != len(given):
        fields = _combined(given)
    version = scope["http_version"]
    if version not in _VERSIONS:
        raise malformed(f"This hub speaks HTTP/1.1, not HTTP/{version}.")
    if b"host" not in fields and version == "1.1":
        raise malformed("A request of HTTP/1.1 has a `Host` field; send it.")
    coding = fields.get(b"transfer-encoding")
    if coding is not None and (coding.lower() != b"chunked" or version != "1.1"):
        raise malformed("The only `Transfer-Encoding` is `chunked`, in HTTP/1.1; send the body as it is.")
    return fields


def _combined(given: RawHeaders) -> dict[bytes, bytes]:
    """Combine repeated fields into lists, as RFC 9110 (5.3) has it.

    More than one `traceparent` counts as none: the W3C's Trace Context asks for that.
    """
    values: dict[bytes, list[bytes]] = {}
    for name, value in given:
        values.setdefault(name, []).append(value)
    for name, several in values.items():
        if len(several) > 1 and name in SINGLE:
            raise malformed(f"`{name.decode().title()}` stands more than once in this request; send it once.")
    if len(values.get(TRACE_PARENT, ())) > 1:
        del values[TRACE_PARENT]
    return {name: b", ".join(several) for name, several in values.items()}


def origin_form(method: bytes, target: bytes, headers: RawHeaders) -> bytes:
    """Return the target as a path with its query, if it means this hub. Raises `RequestRefused`."""
    if method == b"CONNECT":
        raise malformed("This hub is no proxy; `CONNECT` opens nothing here.")
    if is_odd(target):
        raise malformed("An address has printable ASCII and no `#`; escape everything else.")
    if target.startswith(b"/") or (target == b"*" and method == b"OPTIONS"):
        return target
    absolute = _ABSOLUTE.fullmatch(target)
    hosts = [value.strip().lower() for name, value in headers if name == b"host"]
    if absolute is None or hosts != [absolute[1].lower()]:
        raise malformed("The request's target names another host than its `Host` field; send a path.")
    rest = absolute[2]
    return bytes(rest) if rest.startswith(b"/") else b"/" + rest
