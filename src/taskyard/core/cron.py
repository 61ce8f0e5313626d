"""When a schedule is due: an instant in, the next instants out.

`cron_fields.py` finds the times at which an expression matches, on a calendar without time zones. What these times are
on the clock of a place is decided here. An expression that names its hours and its minutes runs once for each of its
times a day, whatever the clocks do: a time that they skip runs at the first instant after the gap, one that they repeat
runs the first time. An expression with a `*` at the head of either field goes by elapsed time: each time that really
comes, as often as it comes. This is what Debian's cron does.

Zones are read from the `tzdata` package, never from the machine: two hubs of one yard must agree on what nine o'clock
is. They are loaded like code, once, and held.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from itertools import islice, takewhile
from typing import Final
from zoneinfo import ZoneInfo

from taskyard.core.cron_fields import Times, rewritten

COUNTED_MAX: Final = 200
# Of runs that were missed, so many are counted one by one, which takes about 2 ms: a thousand schedules may have missed
# theirs when a hub starts. What lies between these and the newest is passed over; it could be a year of minutes.
EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - times here are those of a place, whose zone is applied apart
MS: Final = timedelta(milliseconds=1)
SECOND: Final = timedelta(seconds=1)
CHANGE_MAX: Final = timedelta(hours=3)
# Clocks are put back or forth by two hours at most.


class Cron:
    """A five-field expression on the clock of a place."""

    __slots__ = ("_expression", "_is_by_elapsed_time", "_zone")

    def __init__(self, expression: str, zone: ZoneInfo) -> None:
        self._expression = rewritten(expression)
        self._zone = zone
        minute, hour, *_ = self._expression.split()
        self._is_by_elapsed_time = minute.startswith("*") or hour.startswith("*")

    def next_after(self, after: int) -> int | None:
        """The first instant after this one at which it is due; None: it never is again."""
        return next(self.after(after), None)

    def after(self, after: int) -> Iterator[int]:
        """Every instant after this one at which it is due, in order."""
        found = self._by_elapsed_time(after) if self._is_by_elapsed_time else self._by_the_clock(after)
        return (due for due in found if due > after)

    def newest(self, after: int, until: int, most: int) -> tuple[list[int], int]:
        """The last `most` of those that are after `after` and not after `until`; and how many were due before them."""
        found = list(islice(self._between(after, until), COUNTED_MAX + most))
        if len(found) == COUNTED_MAX + most:
            # There may be many more: the newest are found from the other end.
            found = found[:COUNTED_MAX] + list(self._between(self._well_before(until, most), until))[-most:]
        return found[-most:], max(0, len(found) - most)

    def _between(self, after: int, until: int) -> Iterator[int]:
        return takewhile(lambda due: due <= until, self.after(after))

    def _well_before(self, until: int, most: int) -> int:
        """An instant with at least `most` due ones between it and `until`, and not many more."""
        back = Times(self._expression, self._local(until), reverse=True)
        # Twice as many, and some hours: a few of these times the clocks may have skipped.
        *_, earliest = islice(back, 2 * most)
        return _ms(earliest - CHANGE_MAX)

    def _by_the_clock(self, after: int) -> Iterator[int]:
        """Each time of the calendar once: the first time it is shown, or right after the gap that swallowed it."""
        zone, newest = self._zone, None
        for time in Times(self._expression, self._local(after)):
            first, second = (time.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
            due = _ms_of(first)
            if _ms_of(second) < due:
                # Before a gap a clock shows less than after it: this time is in between.
                due = self._change(_ms_of(second), due)
            if due != newest:
                yield due
            newest = due

    def _by_elapsed_time(self, after: int) -> Iterator[int]:
        """Each time of the calendar as often as a clock shows it."""
        shown = self._local(after)
        while True:
            offset = self._offset(after)
            for time in Times(self._expression, shown):
                due = _ms(time - offset)
                if self._offset(due) != offset:
                    break
                yield due
                after = due
            else:
                return
            # From where the clocks change on, the calendar is read anew; that very instant may be due.
            after = self._change(after, due)
            shown = self._local(after) - SECOND

    def _change(self, before: int, after: int) -> int:
        """The instant between these two at which the clocks change."""
        was = self._offset(before)
        while after - before > 1:
            middle = (before + after) // 2
            if self._offset(middle) == was:
                before = middle
            else:
                after = middle
        return after

    def _local(self, at: int) -> datetime:
        """What a clock there shows."""
        return EPOCH + at * MS + self._offset(at)

    def _offset(self, at: int) -> timedelta:
        offset = (EPOCH + at * MS).replace(tzinfo=UTC).astimezone(self._zone).utcoffset()
        assert offset is not None, "a zone knows its offset"
        return offset


class Heartbeat:
    """Every so often, counted from an anchor: what comes late delays nothing that comes after it."""

    __slots__ = ("_anchor", "_every_ms")

    def __init__(self, every_ms: int, anchor: int) -> None:
        self._every_ms = every_ms
        self._anchor = anchor

    def next_after(self, after: int) -> int:
        return next(self.after(after))

    def after(self, after: int) -> Iterator[int]:
        due = self._anchor + self._beats(after) * self._every_ms
        while True:
            due += self._every_ms
            yield due

    def newest(self, after: int, until: int, most: int) -> tuple[list[int], int]:
        first, last = self._beats(after) + 1, self._beats(until)
        kept = range(max(first, last - most + 1), last + 1)
        return [self._anchor + beat * self._every_ms for beat in kept], max(0, last - first + 1 - most)

    def _beats(self, at: int) -> int:
        """How many were due by then."""
        return (at - self._anchor) // self._every_ms


Timing = Cron | Heartbeat


@cache
def zone_names() -> frozenset[str]:
    """Of the IANA's zones, all that there are."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())


def zone_of(name: str) -> ZoneInfo | None:
    """None: there is no such zone."""
    return _loaded(name) if name in zone_names() else None


@cache
def _loaded(name: str) -> ZoneInfo:
    """As many are held as there are zones."""
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def _ms(time: datetime) -> int:
    """Of a time in UTC, without its zone."""
    return (time - EPOCH) // MS


def _ms_of(time: datetime) -> int:
    return _ms(time.astimezone(UTC).replace(tzinfo=None))
