"""From the decoder's complaint to the field it is about."""

import re
from typing import Final

from taskyard.wire.problems import FieldError

_AT: Final = re.compile(r"^(?P<message>.*?)(?: - at (?P<where>`(?:key|keys)` in )?`\$\.?(?P<path>[^`]*)`)?$", re.DOTALL)
_FIELD: Final = re.compile(r"field `(?P<name>[^`]+)`$")


def faults_in(complaint: str) -> tuple[FieldError, ...]:
    """msgspec stops at the first fault, so there is one."""
    match = _AT.match(complaint)
    assert match is not None, "the pattern takes any text"
    path, message = match["path"] or "", match["message"]
    named = _FIELD.search(message)
    if named is not None:
        path = f"{path}.{named['name']}" if path else named["name"]
    return (FieldError(path, message),)
