"""Bounds that no type can have: those that are settings, and those in bytes, since a decoder counts characters.

They are checked once a body is decoded, and hold from the next request on when the settings change. All other bounds
stand on the types.
"""

from typing import Final

from msgspec import Raw, Struct

from taskyard.core.settings import Sizes
from taskyard.gateway.call import RequestRefused
from taskyard.vocabulary import Refusal
from taskyard.wire.fields import CHECKPOINT_BYTES_MAX, FIELD_BYTES_MAX, OBJECT_BYTES_MAX
from taskyard.wire.invalid import sentence_of
from taskyard.wire.problems import FieldError

BYTES_MAX: Final = {
    "context": OBJECT_BYTES_MAX,
    "payload": OBJECT_BYTES_MAX,
    "metadata": FIELD_BYTES_MAX,
    "title": FIELD_BYTES_MAX,
    "goal": FIELD_BYTES_MAX,
    "constraints": FIELD_BYTES_MAX,
    "checkpoint": CHECKPOINT_BYTES_MAX,
    "data": CHECKPOINT_BYTES_MAX,
    "decision_report": FIELD_BYTES_MAX,
}


def oversize_of(body: Struct, size: Sizes) -> tuple[FieldError, ...]:
    """The fields of a decoded body that have more bytes than they may."""
    bounds = {"input": size.input, "description": size.input, **BYTES_MAX, "result": size.result}
    return tuple(
        FieldError(name, f"is {length:,} bytes; at most {most:,} are possible")
        for name, most in bounds.items()
        if (length := _length(getattr(body, name, None))) > most
    )


def smallest_field(size: Sizes) -> int:
    """A submission that is no larger as a whole has no field that is too large."""
    return min(size.input, FIELD_BYTES_MAX)


def check_batch(tasks: int, size: Sizes) -> None:
    if tasks > size.batch:
        fault = FieldError("tasks", f"should have at most {size.batch:,} entries")
        raise RequestRefused(Refusal.INVALID_INPUT, sentence_of(fault), errors=(fault,))


def bytes_max(size: Sizes, *, is_batch: bool) -> int:
    """Of a request's body."""
    return size.request if is_batch else min(size.request, size.frame)


def _length(value: object) -> int:
    """In bytes, as UTF-8. What is no text and no JSON has fields of its own, with bounds of their own."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode())
    if isinstance(value, list):
        return sum(map(_length, value))
    return len(memoryview(value)) if isinstance(value, Raw) else 0
