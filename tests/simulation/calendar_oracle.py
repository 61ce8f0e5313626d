"""`python -m tests.simulation.calendar_oracle [--budget-s N]`: forty expressions in every zone of the IANA.

Three days around each change of clocks within five years, and days drawn at random: what `core/cron.py` says against a
clock that is walked through these days minute by minute (`tests/support/calendar.py`). All of it takes minutes, so
`make soak` runs it; `make test` runs a part.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator

from msgspec import Struct

from taskyard.core.cron import Cron, zone_of
from tests.support.calendar import EXPRESSIONS, MINUTE_MS, Clock, Expression, changes_of, zone_names

DAY_MS = 86_400_000
FIRST_YEAR, YEARS = 2025, 5
FIRST_MS = 1_735_689_600_000
RANDOM_DAYS = 2
"""Drawn for each zone."""
ALWAYS = (
    ("Australia/Lord_Howe", "clocks change by half an hour"),
    ("Antarctica/Troll", "by two hours"),
    ("America/Havana", "at midnight"),
    ("Africa/Cairo", "at midnight, on a Friday"),
    ("Africa/Casablanca", "for Ramadan"),
    ("America/St_Johns", "half an hour off"),
    ("Asia/Kathmandu", "never, and 45 minutes off"),
)
EXPRESSIONS_READ = {text: Expression(text) for text in EXPRESSIONS}


class Window(Struct, frozen=True):
    zone: str
    begin_ms: int
    end_ms: int


def window_around(zone: str, at: int) -> Window:
    begin = at - 3 * DAY_MS // 2
    return Window(zone, begin, begin + 3 * DAY_MS)


def windows_of(zone: str, rng: random.Random) -> list[Window]:
    found = zone_of(zone)
    assert found is not None, zone
    drawn = [FIRST_MS + rng.randrange(YEARS * 365 * 1440) * MINUTE_MS for _ in range(RANDOM_DAYS)]
    return [window_around(zone, at) for at in (*changes_of(found, FIRST_YEAR, YEARS), *drawn)]


def chosen_windows(*, seed: int, count: int) -> list[Window]:
    """A part: two of each strange zone, the rest of any."""
    rng = random.Random(seed)
    strange = [window for zone, _ in ALWAYS for window in rng.sample(windows_of(zone, rng), 2)]
    others = [rng.choice(windows_of(zone, rng)) for zone in rng.sample(zone_names(), count - len(strange))]
    return strange + others


def disagreements(window: Window) -> Iterator[str]:
    zone = zone_of(window.zone)
    assert zone is not None, window.zone
    clock, rng = Clock(zone, window.begin_ms, window.end_ms), random.Random(window.begin_ms)
    for text, expression in EXPRESSIONS_READ.items():
        cron, expected = Cron(text, zone), expression.due(clock)
        found = _between(cron, window)
        if found != expected:
            yield f"{text} in {window.zone}, from {window.begin_ms}: {sorted({*found} ^ {*expected})[:5]}"
        middle = rng.randrange(window.begin_ms, window.end_ms)
        first = next((at for at in expected if at > middle), None)
        if first is not None and cron.next_after(middle) != first:
            yield f"{text} in {window.zone}, after {middle}: {cron.next_after(middle)}, not {first}"


def counted(text: str, window: Window) -> int:
    zone = zone_of(window.zone)
    assert zone is not None, window.zone
    return len(Expression(text).due(Clock(zone, window.begin_ms, window.end_ms)))


def _between(cron: Cron, window: Window) -> list[int]:
    found = []
    for at in cron.after(window.begin_ms - 1):
        if at >= window.end_ms:
            break
        found.append(at)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget-s", type=float, default=3600.0)
    budget_s = parser.parse_args().budget_s
    began = time.monotonic()  # noqa: TID251 - the budget is in real seconds; no calendar sees them
    checked, rng = 0, random.Random(1)
    for number, zone in enumerate(zone_names(), 1):
        for window in windows_of(zone, rng):
            for fault in disagreements(window):
                print(fault)
                return 1
            checked += 1
        if time.monotonic() - began > budget_s:  # noqa: TID251 - as above
            print(f"out of time after {number} zones")
            break
    print(f"{len(EXPRESSIONS)} expressions, {number} zones, {checked} windows of three days: all agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
