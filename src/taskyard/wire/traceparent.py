"""`traceparent` as the W3C defines it: where in whose trace something happens. What is not one counts as none.

See https://www.w3.org/TR/trace-context/: whoever cannot read the header begins a trace of their own, and never
refuses a request for it.
"""

import re
from typing import Final

_FORM: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_NO_VERSION: Final = "ff"
_FIRST_VERSION: Final = "00"
_SAMPLED: Final = 1


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
