"""What a doctor says of one thing."""

from enum import StrEnum

from msgspec import Struct


class Health(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


class Finding(Struct):
    name: str
    state: Health
    detail: str
