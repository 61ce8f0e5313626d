"""When a schedule is due."""

from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from taskyard.core.cron import COUNTED_MAX, Cron, Heartbeat, zone_names, zone_of
from taskyard.core.cron_fields import fault_of
from tests.support import calendar

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def at(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def told(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")


def cron(expression: str, zone: str = "UTC") -> Cron:
    found = zone_of(zone)
    assert found is not None
    return Cron(expression, found)


def due(expression: str, zone: str, after: str, count: int) -> list[str]:
    return [told(instant) for instant in islice(cron(expression, zone).after(at(after)), count)]


def test_a_time_that_the_clocks_skip_runs_right_after_the_gap() -> None:
    # On 28 March 2027 clocks in Paris go from 02:00 to 03:00, which is 01:00 UTC.
    found = due("30 2 * * *", "Europe/Paris", "2027-03-27 00:00", 3)
    assert found == ["2027-03-27 01:30", "2027-03-28 01:00", "2027-03-29 00:30"]


def test_a_time_that_the_clocks_repeat_runs_the_first_time() -> None:
    # On 31 October 2027 they go back from 03:00 to 02:00, which is 01:00 UTC.
    found = due("30 2 * * *", "Europe/Paris", "2027-10-30 00:00", 3)
    assert found == ["2027-10-30 00:30", "2027-10-31 00:30", "2027-11-01 01:30"]


def test_what_begins_within_the_second_of_two_like_hours_has_had_its_run() -> None:
    assert due("30 2 * * *", "Europe/Paris", "2027-10-31 01:10", 1) == ["2027-11-01 01:30"]


def test_every_hour_goes_by_elapsed_time() -> None:
    found = due("0 * * * *", "Europe/Paris", "2027-10-30 23:30", 4)
    assert found == ["2027-10-31 00:00", "2027-10-31 01:00", "2027-10-31 02:00", "2027-10-31 03:00"]


def test_a_star_in_an_hour_that_is_skipped_does_not_run() -> None:
    found = due("*/30 2 * * *", "Europe/Paris", "2027-03-27 01:00", 2)
    assert found == ["2027-03-27 01:30", "2027-03-29 00:00"]


def test_two_times_that_fall_on_one_instant_run_once() -> None:
    found = due("0 2,3 * * *", "Europe/Paris", "2027-03-27 12:00", 3)
    assert found == ["2027-03-28 01:00", "2027-03-29 00:00", "2027-03-29 01:00"]


def test_half_an_hour_of_daylight_saving_moves_nothing_else() -> None:
    # On Lord Howe Island clocks go from 02:00 to 02:30, on 3 October 2027 at 15:30 UTC of the day before.
    found = due("*/15 5 * * *", "Australia/Lord_Howe", "2027-10-02 15:00", 2)
    assert found == ["2027-10-02 18:00", "2027-10-02 18:15"]


@pytest.mark.parametrize("minute", ["0", "*/5"])
def test_what_never_comes_has_no_next_run(minute: str) -> None:
    # The first day of a month is never its fifth Monday.
    assert cron(f"{minute} 0 */29 2 1#5").next_after(at("2027-01-01 00:00")) is None


def test_the_newest_of_many_missed_runs_are_found_without_walking_through_all() -> None:
    every_minute, year = cron("* * * * *", "Europe/Paris"), at("2027-01-01 00:00")

    newest, before = every_minute.newest(year, year + 365 * DAY_MS, 100)

    end = year + 365 * DAY_MS
    assert newest == [end - n * 60_000 for n in range(99, -1, -1)]
    assert before == COUNTED_MAX


def test_a_few_missed_runs_are_counted_exactly() -> None:
    hourly, begin = cron("0 * * * *"), at("2027-01-01 00:30")
    newest, before = hourly.newest(begin, begin + 5 * HOUR_MS, 1)
    assert [told(instant) for instant in newest] == ["2027-01-01 05:00"]
    assert before == 4


def test_a_heartbeat_does_not_drift() -> None:
    beat = Heartbeat(300_000, anchor=1_000)
    assert beat.next_after(1_000) == 301_000
    assert beat.next_after(301_700) == 601_000
    assert list(islice(beat.after(600_999), 3)) == [601_000, 901_000, 1_201_000]


def test_a_heartbeat_knows_what_it_missed() -> None:
    beat = Heartbeat(1_000, anchor=0)
    assert beat.newest(5_000, 9_999, 2) == ([8_000, 9_000], 2)
    assert beat.newest(5_000, 5_999, 1) == ([], 0)
    assert beat.newest(5_000, 6_000, 100) == ([6_000], 0)


@pytest.mark.parametrize("expression", calendar.EXPRESSIONS)
def test_every_expression_of_the_oracle_is_right(expression: str) -> None:
    assert fault_of(expression) is None


def test_zones_are_those_of_the_package_and_no_others() -> None:
    assert zone_of("Mars/Olympus") is None
    assert zone_of("../../etc/passwd") is None
    assert {"UTC", "Europe/Paris", "Australia/Lord_Howe"} <= zone_names()
    assert isinstance(zone_of("Europe/Paris"), ZoneInfo)
