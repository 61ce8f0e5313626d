"""The clients' clock: what a person at this machine calls now."""

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)
