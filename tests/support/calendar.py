"""Cron by the hand of a clock: what `core/cron.py` must say, found out another way.

No library reads the fields here, and nothing jumps: a clock is walked minute by minute through the instants of real
time, and at each of them it is asked what it shows and whether that matches.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache
from importlib import resources
from zoneinfo import ZoneInfo

MINUTE_MS = 60_000
DAY_MS = 86_400_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
NAMES = {name: number for names in (MONTHS, WEEKDAYS) for number, name in enumerate(names, 1)}

EXPRESSIONS = (
    "* * * * *",
    "*/5 * * * *",
    "*/7 * * * *",
    "0 * * * *",
    "30 * * * *",
    "59 * * * *",
    "0 */2 * * *",
    "15 */3 * * *",
    "*/15 2 * * *",
    "*/20 0-3 * * *",
    "* 1,2,3 * * *",
    "*/30 0 * * 0",
    "0 0 * * *",
    "30 0 * * *",
    "0 1 * * *",
    "30 1 * * *",
    "0 2 * * *",
    "30 2 * * *",
    "45 2 * * *",
    "0 3 * * *",
    "15 3 * * *",
    "0 9 * * *",
    "59 23 * * *",
    "0 2,3 * * *",
    "30 1,2,3 * * *",
    "0,30 0,1,2,3 * * *",
    "0-59 2 * * *",
    "10-50/20 1-4 * * *",
    "0 0-23 * * *",
    "0 9 * * 1-5",
    "30 2 * * 0",
    "30 2 * * sun",
    "0 1 * * 7",
    "0 4 * * 6,0",
    "30 2 1-7 * *",
    "0 0 1 * *",
    "15 2 29 2 *",
    "30 1 * 3,10,11 *",
    "0 12 13 * 5",
    "30 2 */2 mar-nov *",
)
"""Forty, most of them about the hours at which clocks are changed."""


def zone_names() -> list[str]:
    return resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()


class Clock:
    """What the clocks of a place show, from one instant to another, minute by minute."""

    def __init__(self, zone: tzinfo, begin_ms: int, end_ms: int) -> None:
        self.instants = range(begin_ms - begin_ms % MINUTE_MS, end_ms, MINUTE_MS)
        self.shown = [
            (EPOCH + timedelta(milliseconds=at)).astimezone(zone).replace(tzinfo=None) for at in self.instants
        ]


class Expression:
    def __init__(self, text: str) -> None:
        fields = text.lower().split()
        self.by_elapsed_time = fields[0][0] == "*" or fields[1][0] == "*"
        bounds = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
        self.minutes, self.hours, self.days, self.months, self.weekdays = (
            _numbers(field, *between) for field, between in zip(fields, bounds, strict=True)
        )
        self.both_days = fields[2][0] == "*" or fields[4][0] == "*"
        self._days: dict[date, bool] = {}

    def matches(self, shown: datetime) -> bool:
        if shown.minute not in self.minutes or shown.hour not in self.hours:
            return False
        day = shown.date()
        if day not in self._days:
            self._days[day] = self._matches_day(day)
        return self._days[day]

    def _matches_day(self, day: date) -> bool:
        weekday = day.isoweekday()
        by_weekday = weekday in self.weekdays or (weekday == 7 and 0 in self.weekdays)
        by_day = day.day in self.days
        return day.month in self.months and ((by_day and by_weekday) if self.both_days else (by_day or by_weekday))

    def due(self, clock: Clock) -> list[int]:
        """When it is due, of the instants that this clock walks through."""
        if self.by_elapsed_time:
            return [at for at, shown in zip(clock.instants, clock.shown, strict=True) if self.matches(shown)]
        return list(self._once_each(clock))

    def _once_each(self, clock: Clock) -> Iterator[int]:
        """Each time of the calendar once: when it is first shown, or at the first instant after a gap it fell into."""
        furthest = clock.shown[0] - timedelta(minutes=1)
        for at, shown in zip(clock.instants, clock.shown, strict=True):
            if shown <= furthest:
                continue
            if any(self.matches(furthest + timedelta(minutes=n)) for n in range(1, _minutes(shown - furthest) + 1)):
                yield at
            furthest = shown


def _minutes(span: timedelta) -> int:
    return span // timedelta(minutes=1)


def _numbers(field: str, least: int, most: int) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if first == "*":
            begin, end = least, most
        else:
            begin = NAMES[first] if first in NAMES else int(first)
            end = begin if not last else NAMES[last] if last in NAMES else int(last)
        found.update(range(begin, end + 1, int(step or 1)))
    return frozenset(found)


@cache
def changes_of(zone: ZoneInfo, begin_year: int, years: int) -> Sequence[int]:
    """The instants at which a zone's clocks are changed, to the minute."""
    begin, hours = _ms(datetime(begin_year, 1, 1, tzinfo=UTC)), years * 366 * 24
    offsets = [_offset(zone, begin + hour * 3_600_000) for hour in range(0, hours, 24)]
    return [
        _change_after(zone, begin + day * DAY_MS) for day in range(len(offsets) - 1) if offsets[day] != offsets[day + 1]
    ]


def _change_after(zone: ZoneInfo, at: int) -> int:
    minutes, was = range(at, at + DAY_MS + 1, MINUTE_MS), _offset(zone, at)
    return minutes[bisect_right(minutes, 0, key=lambda minute: int(_offset(zone, minute) != was))]


def _offset(zone: ZoneInfo, at: int) -> timedelta | None:
    return (EPOCH + timedelta(milliseconds=at)).astimezone(zone).utcoffset()


def _ms(time: datetime) -> int:
    return (time - EPOCH) // timedelta(milliseconds=1)
