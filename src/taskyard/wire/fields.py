"""Shapes that several bodies share: times, names, JSON that passes through, and the limits on them.

A bound stands on the type, so that the decoder enforces it and the OpenAPI document shows it. A decoder counts
characters and entries, no bytes: bounds in bytes, and those that are settings, are checked in `gateway/sizes.py`.
"""

from datetime import UTC, datetime
from typing import Annotated, Final

from msgspec import Meta, Raw

KIB: Final = 1024
NAME_CHARS_MAX: Final = 255
INPUT_BYTES_MAX: Final = 256 * KIB
"""The default of the setting `limits.size.input`."""
OBJECT_BYTES_MAX: Final = 256 * KIB
"""Of `context` and of `payload`."""
FIELD_BYTES_MAX: Final = 64 * KIB
RESULT_BYTES_MAX: Final = 1024 * KIB
"""The default of the setting `limits.size.result`."""
CHECKPOINT_BYTES_MAX: Final = 1024 * KIB
DEPENDENCIES_MAX: Final = 100
CAPABILITIES_MAX: Final = 50
BATCH_TASKS_MAX: Final = 1000
"""The default of the setting `limits.size.batch`."""
PLACES_MAX: Final = 100
"""Of the places of a template that are set in one submission, and of its defaults."""
ATTEMPTS_MAX: Final = 1000
SECONDS_MAX: Final = 366 * 24 * 3600
WAIT_S_MAX: Final = 60
# A reason may travel in the address, which has to fit into a request's head however it is escaped.
REASON_CHARS_MAX: Final = 2000
PAGE_MAX: Final = 500
PAGE: Final = 50

Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
Text = Annotated[str, Meta(max_length=FIELD_BYTES_MAX)]
Names = Annotated[list[Name], Meta(max_length=CAPABILITIES_MAX)]
Seconds = Annotated[float, Meta(gt=0, le=SECONDS_MAX)]
Instant = Annotated[datetime, Meta(tz=True)]
Limit = Annotated[int, Meta(ge=1, le=PAGE_MAX)]
AttemptNumber = Annotated[int, Meta(ge=1, le=2**31)]

# JSON that is checked and kept as it came. Whether it is an object is looked at by its first byte.
JsonObject = Annotated[
    Raw,
    Meta(description=f"at most {OBJECT_BYTES_MAX:,} bytes", extra_json_schema={"type": ["object", "null"]}),
]
Metadata = Annotated[
    Raw,
    Meta(description=f"at most {FIELD_BYTES_MAX:,} bytes", extra_json_schema={"type": ["object", "null"]}),
]
JsonValue = Annotated[Raw, Meta(description="any JSON")]

NULL: Final = b"null"


def is_object(raw: Raw) -> bool:
    """Of JSON that the decoder has already found to be well-formed."""
    return bytes(memoryview(raw)[:1]) == b"{"


def ms_of(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def instant_of(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def instant_or_none(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)
