"""How long a provider wants to be left alone, from the headers and words that providers use for it.

`Retry-After` is an answer. The others say when some allowance is full again: those count whose allowance is used up,
and the longest of them; if none says that it is used up, the shortest, since one of them must have been.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

WAIT_S_MAX: Final = 24 * 3600.0
EPOCH_S_MIN: Final = 1e9
"""A number as large as this is an instant, and no span."""
EPOCH_MS_MIN: Final = 1e12
TEXT_CHARS_MAX: Final = 200

_UNITS_S: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_SPAN: Final = re.compile(r"(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[smhd]))+")
_PART: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|[smhd])")
_IN_WORDS: Final = re.compile(
    r"(?:try again|retry) in ((?:\d{1,9}(?:\.\d{1,9})?(?:ms|[smhd]))+)(?![a-z])", re.IGNORECASE
)
_RESET: Final = re.compile(
    r"(?P<brand>x-|anthropic-|)ratelimit-(?:reset(?P<after>-[a-z0-9-]+)?|(?P<before>[a-z0-9-]+)-reset)"
)
_STRUCTURED: Final = re.compile(r"(?:^|[;,\s])(?:t|reset)=(\d{1,12})")
_USED_UP: Final = re.compile(r"(?:^|[;,\s])(?:r|remaining)=0(?!\d)")


def wait_s(headers: Mapping[str, str], body: Any, now_s: float) -> float | None:
    """None: it did not say."""
    said = {name.lower(): value.strip()[:TEXT_CHARS_MAX] for name, value in headers.items()}
    if (milliseconds := _number(said.get("retry-after-ms"))) is not None:
        return _bounded(milliseconds / 1000)
    if (asked := said.get("retry-after")) is not None and (found := _instant_or_span(asked, now_s)) is not None:
        return _bounded(found)
    resets = list(_resets(said, now_s))
    spent = [span for span, is_spent in resets if is_spent]
    if spent:
        return _bounded(max(spent))
    if (found := _in_body(body)) is not None:
        return _bounded(found)
    return _bounded(min(span for span, _ in resets)) if resets else None


def _resets(said: Mapping[str, str], now_s: float) -> Iterator[tuple[float, bool]]:
    """Spans until something is full again, and whether that is used up."""
    for name, value in said.items():
        if (match := _RESET.fullmatch(name)) is not None:
            span = _instant_or_span(value, now_s)
            if span is not None:
                brand, kind = match["brand"], (match["after"] or "").lstrip("-") or match["before"]
                remaining = f"{brand}ratelimit-remaining{f'-{kind}' if kind else ''}"
                other = f"{brand}ratelimit-{kind}-remaining"
                yield span, _number(said.get(remaining) or said.get(other)) == 0
        elif name == "ratelimit" and (found := _STRUCTURED.search(value)) is not None:
            yield float(found[1]), _USED_UP.search(value) is not None


def _instant_or_span(text: str, now_s: float) -> float | None:
    number = _number(text)
    if number is not None:
        if number >= EPOCH_MS_MIN:
            return number / 1000 - now_s
        return number - now_s if number >= EPOCH_S_MIN else number
    if _SPAN.fullmatch(text):
        return _span(text)
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            instant = read(text)
        except ValueError:
            continue
        return instant.replace(tzinfo=instant.tzinfo or UTC).timestamp() - now_s
    return None


def _span(text: str) -> float:
    return sum(float(number) * _UNITS_S[unit] for number, unit in _PART.findall(text.lower()))


def _in_body(body: Any) -> float | None:
    """What an error says in its own words, or among its details as Google's do."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return None
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and _SPAN.fullmatch(delay):
            return _span(delay)
    match = _IN_WORDS.search(str(error.get("message") or "")[:4096])
    return _span(match[1]) if match is not None else None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _bounded(span_s: float) -> float:
    return round(min(max(span_s, 0.0), WAIT_S_MAX), 3)
