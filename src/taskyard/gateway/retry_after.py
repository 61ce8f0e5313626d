"""When a provider said to come back: `Retry-After` as seconds, as an HTTP date, or in words.

Only what the error itself says is read, never an agent's output. What cannot be understood is None, and
the core then waits as it does for any rate limit.
"""

import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

AFTER_MS_MAX: Final = 24 * 3600 * 1000
MESSAGE_CHARS_MAX: Final = 4096

_UNIT_MS: Final = {"ms": 1, "s": 1000, "sec": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000}
_IN_WORDS: Final = re.compile(
    r"(?:retry[- ]after|(?:try|retry)(?: again)? (?:in|after)|wait)\D{0,12}?"
    r"(\d{1,9}(?:\.\d{1,6})?)\s*(ms|milliseconds?|s|sec(?:ond)?s?|m|min(?:ute)?s?|h|hours?)?\b",
    re.IGNORECASE,
)


def retry_after_ms(said: object, message: str, now_ms: int) -> int | None:
    """`said` is the error's `details.retry_after`; `message` is looked at when it says nothing."""
    found = _of_value(said, now_ms)
    if found is None:
        found = _of_words(message[:MESSAGE_CHARS_MAX])
    return None if found is None else min(max(found, 0), AFTER_MS_MAX)


def _of_value(said: object, now_ms: int) -> int | None:
    if isinstance(said, bool) or said is None:
        return None
    if isinstance(said, int | float):
        return round(min(said, AFTER_MS_MAX) * 1000) if said >= 0 else None
    if not isinstance(said, str) or len(said) > 100:
        return None
    try:
        return _of_value(float(said), now_ms)
    except (ValueError, OverflowError):
        pass
    try:
        date = parsedate_to_datetime(said)
    except ValueError:
        return None
    return round(date.replace(tzinfo=date.tzinfo or UTC).timestamp() * 1000) - now_ms


def _of_words(message: str) -> int | None:
    match = _IN_WORDS.search(message)
    if match is None:
        return None
    unit = (match[2] or "s").lower()
    name = next(name for name in ("ms", "milli", "min", "m", "sec", "s", "h") if unit.startswith(name))
    return round(float(match[1]) * _UNIT_MS.get(name, 1))
