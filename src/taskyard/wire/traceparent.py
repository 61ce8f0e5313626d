"""`traceparent` and `tracestate` as the W3C defines them: where in which trace something happens, and what the systems
that it came through add to that. A value that cannot be read counts as none.

See https://www.w3.org/TR/trace-context/: a system that cannot read `traceparent` begins a trace of its own, and never
refuses a request for it. Without one, `tracestate` means nothing.
"""

import re
from typing import Final

_FORM: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_NO_VERSION: Final = "ff"
_FIRST_VERSION: Final = "00"
_SAMPLED: Final = 1

STATE_CHARS_MAX: Final = 512
"""What every system is to hand on at least; members beyond it are left out, from the end."""
STATE_MEMBERS_MAX: Final = 32
_KEY: Final = r"[a-z0-9][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13}"
_VALUE: Final = r"[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
_MEMBER: Final = re.compile(f"({_KEY})=({_VALUE})")


def read_traceparent(text: str) -> str | None:
    """The header as version 00 writes it, which is all that is known of a later one."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == _NO_VERSION or (version == _FIRST_VERSION and more) or not int(trace_id, 16) or not int(span_id, 16):
        return None
    return write_traceparent(trace_id, span_id, is_sampled=bool(int(flags, 16) & _SAMPLED))


def write_traceparent(trace_id: str, span_id: str, *, is_sampled: bool) -> str:
    return f"{_FIRST_VERSION}-{trace_id}-{span_id}-{int(is_sampled):02x}"


def parts_of(traceparent: str) -> tuple[str, str, bool]:
    """Trace, span, and whether it is recorded; of one that was read before."""
    _, trace_id, span_id, flags = traceparent.split("-")
    return trace_id, span_id, bool(int(flags, 16) & _SAMPLED)


def read_tracestate(text: str) -> str | None:
    """The header as it is handed on."""
    said = [member for part in text.split(",") if (member := part.strip(" \t"))]
    found = [_MEMBER.fullmatch(member) for member in said]
    keys = {member[1] for member in found if member is not None}
    # A key stands once, and one member that cannot be read makes the whole unreadable.
    if not said or len(said) > STATE_MEMBERS_MAX or len(keys) < len(said):
        return None
    while sum(map(len, said)) + len(said) - 1 > STATE_CHARS_MAX:
        said.pop()
    return ",".join(said)
