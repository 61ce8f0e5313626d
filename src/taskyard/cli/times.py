"""Times as people say them: `3 min ago`, `in 2 h`; and back: `10m`, `1h30m`, an ISO date."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION: Final = re.compile(r"(?:\d+(?:\.\d+)?[smhdw])+")
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")


def relative(at: datetime | None, now: datetime) -> str:
    """Rounded down, so that nothing is said to be older than it is."""
    if at is None:
        return "-"
    seconds = (at - now).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"in {span(seconds)}" if seconds > 0 else f"{span(-seconds)} ago"


def span(seconds: float) -> str:
    """A duration in its largest unit."""
    if seconds < 60:
        return f"{int(seconds)} s"
    if seconds < 3600:
        return f"{int(seconds / 60)} min"
    if seconds < 86_400:
        return f"{int(seconds / 3600)} h"
    return f"{int(seconds / 86_400)} d"


def seconds_of(text: str) -> float:
    """`90`, `90s`, `10m`, `1h30m`, `2d`; `ValueError` for what is no duration."""
    if _DURATION.fullmatch(text):
        return sum(float(number) * UNITS_S[unit] for number, unit in _PART.findall(text))
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is no duration; write 90s, 10m, 1h30m or 2d") from None


def instant_of(text: str, now: datetime) -> datetime:
    """A duration from now, or an ISO date and time; without a zone it is this machine's."""
    try:
        if _DURATION.fullmatch(text):
            return now + timedelta(seconds=seconds_of(text))
        return datetime.fromisoformat(text).astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{text!r} is further away than any calendar goes") from None
    except ValueError:
        raise ValueError(f"{text!r} is no time; write 10m, 2h or 1d for a time from now, or 2026-01-31T09:00") from None
