"""What may stand in a cron expression, and what is said of the rest.

The times were found by `croniter`, with which a few thousand random expressions were compared; where it reads a form
that others do not, the calendar says who is right.
"""

from datetime import date, datetime, timedelta
from itertools import islice

import pytest

from taskyard.core.cron_fields import NICKNAMES, Times, fault_of, nearest_weekday, rewritten

THURSDAY = datetime(2026, 1, 1, 0, 0)  # noqa: DTZ001 - a calendar without zones


def times(expression: str, count: int, *, reverse: bool = False) -> list[str]:
    found = islice(Times(rewritten(expression), THURSDAY, reverse=reverse), count)
    return [f"{time:%Y-%m-%d %H:%M %a}" for time in found]


def days(expression: str, count: int) -> list[str]:
    return [time[:10] for time in times(expression, count)]


@pytest.mark.parametrize(
    ("nickname", "first"),
    [
        ("@yearly", "2027-01-01 00:00 Fri"),
        ("@annually", "2027-01-01 00:00 Fri"),
        ("@monthly", "2026-02-01 00:00 Sun"),
        ("@weekly", "2026-01-04 00:00 Sun"),
        ("@daily", "2026-01-02 00:00 Fri"),
        ("@midnight", "2026-01-02 00:00 Fri"),
        ("@hourly", "2026-01-01 01:00 Thu"),
        (" @Daily ", "2026-01-02 00:00 Fri"),
    ],
)
def test_nicknames_are_what_every_cron_takes_them_for(nickname: str, first: str) -> None:
    assert fault_of(nickname) is None
    assert times(nickname, 1) == [first]


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("0 0 ? * 1", "0 0 * * 1"),
        ("0 0 15 * ?", "0 0 15 * *"),
        ("0 9 * * friday", "0 9 * * 5"),
        ("0 9 * * Monday-THURSDAY", "0 9 * * 1-4"),
        ("0 9 * * tues,thurs", "0 9 * * 2,4"),
        ("0 9 1 september *", "0 9 1 9 *"),
        ("0 9 1 sept-dec/2 *", "0 9 1 9-12/2 *"),
        ("0 9 * * friL", "0 9 * * 5l"),
        ("0 9 * * fridayL", "0 9 * * 5l"),
        ("0 9 * * 5#L", "0 9 * * 5l"),
        ("0 9 * * L5", "0 9 * * 5l"),
        ("0 9 * * mon#2,fri#L", "0 9 * * 1#2,5l"),
        ("0 22-2 * * *", "0 22,23,0,1,2 * * *"),
        ("50-10/10 * * * *", "50,0,10 * * * *"),
        ("0 0 28-2 * *", "0 0 28,29,30,31,1,2 * *"),
        ("0 0 1 nov-feb *", "0 0 1 11,12,1,2 *"),
        ("0 0 * * fri-mon", "0 0 * * 5,6,0,1"),
        ("0 0 * * sat-sun", "0 0 * * 6,0"),
        ("0 0 * * 5-7", "0 0 * * 5-7"),
        ("0 0 * * 7-2", "0 0 * * 0-2"),
        ("5-5 * * * *", "5-5 * * * *"),
        ("0 0 LW * *", "0 0 lw * *"),
    ],
)
def test_what_is_written_in_other_ways_is_the_same_in_plain_fields(written: str, plain: str) -> None:
    assert rewritten(written) == plain
    assert fault_of(written) is None


def test_the_weekday_nearest_to_a_day_stays_in_its_month() -> None:
    # 15 February and 15 March 2026 are Sundays, 15 August a Saturday.
    assert days("0 0 15W * *", 8)[1:3] == ["2026-02-16", "2026-03-16"]
    assert "2026-08-14" in days("0 0 15W * *", 8)
    # 1 February is a Sunday, 1 August a Saturday, 31 May a Sunday, 31 October a Saturday.
    assert days("0 0 1W 2,8 *", 2) == ["2026-02-02", "2026-08-03"]
    assert days("0 0 31W 5,10 *", 2) == ["2026-05-29", "2026-10-30"]
    assert days("0 0 31W 2,4 *", 2) == ["2026-02-27", "2026-04-30"]
    assert days("0 0 15W,3 2 *", 2) == ["2026-02-03", "2026-02-16"]
    assert days("0 0 15W 2 3", 3) == ["2026-02-04", "2026-02-11", "2026-02-16"]
    assert times("0 0 15W * *", 1, reverse=True) == ["2025-12-15 00:00 Mon"]


def test_the_nearest_weekday_is_a_weekday_of_the_same_month_at_most_two_days_away() -> None:
    day = date(2026, 1, 1)
    for _ in range(366):
        near = date(day.year, day.month, nearest_weekday(day.year, day.month, day.day))
        assert near.weekday() < 5
        assert abs(near - day) <= timedelta(days=2)
        assert (near == day) is (day.weekday() < 5)
        day += timedelta(days=1)


def test_the_last_friday_and_ranges_over_the_end_come_when_they_should() -> None:
    assert days("0 0 * * friL", 3) == days("0 0 * * 5#L", 3) == ["2026-01-30", "2026-02-27", "2026-03-27"]
    assert days("0 0 * * fri-mon", 4) == ["2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05"]
    assert [time[11:16] for time in times("0 22-2 * * *", 5)] == ["01:00", "02:00", "22:00", "23:00", "00:00"]


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "* * * *",
        "* * * * * *",
        "61 * * * *",
        "0 0 30 2 *",
        "0 0 */29 2 1#5",
        "* * * * mon#9",
        "x y z a b",
        "0 0 0W * *",
        "0 0 32W * *",
        "0 0 W * *",
        "0 0 * * m-f",
        "0 0 * * ju",
        "0 0 * j-f *",
        "5-1-3 * * * *",
        "70-5 * * * *",
        "-5 * * * *",
        "22-2/x * * * *",
        "0 0 * * fri-9",
        "0 0 * * #",
        "0 0 * * 9L",
        "0 0 * * L9",
        "0 0 * * xL",
        ", * * * *",
        "/5 * * * *",
    ],
)
def test_a_wrong_expression_is_told_in_a_sentence(expression: str) -> None:
    fault = fault_of(expression)
    assert fault is not None
    assert fault.endswith((".", "`."))


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("0 0 30 2 *", "There is no such day in any year."),
        ("0 0 * 13 *", "`13` is no month: possible are 1-12, jan-dec"),
        ("61 * * * *", "`61` is no minute: possible are 0-59; also *, lists (1,15), ranges (1-5) and steps (*/15)."),
        ("0 0 Freitag * *", "`Freitag` is no day: possible are 1-31"),
        ("? * * * *", "`?` is no minute: `?` is only for a day and a weekday; write `*`."),
        ("H * * * *", "`H` is no minute: write a number in place of `H`."),
        ("0 24 * * *", "`24` is no hour: write 0 for midnight."),
        ("0 0 * * L", "`L` is no weekday: write `sat` for Saturday, or the weekday too, as in `5L`."),
        ("0 0 L-3 * *", "`L-3` is no day: write `L` for the last day, or a day such as 28."),
        ("*/0 * * * *", "`*/0` is no minute: a step is at least 1."),
        ("22-2/0 * * * *", "`22-2/0` is no minute: a step is at least 1."),
        ("0 0 9 * * *", "has 6. Leave out the seconds and the year."),
        ("0 9 * *", "`0 9 * *` has 4. Or write a nickname, such as `@daily`."),
        ("@reboot", "submit the task from what starts there."),
        ("@every 5m", "write it as `every`, for example `5m`."),
        ("@weekdays", "There is no `@weekdays`: possible are @yearly"),
    ],
)
def test_what_is_wrong_is_named_with_what_to_write(expression: str, said: str) -> None:
    assert said in (fault_of(expression) or "")


def test_every_nickname_is_named_where_one_is_not_known() -> None:
    assert all(name in (fault_of("@often") or "") for name in NICKNAMES)


def test_an_expression_that_is_far_too_long_is_told_so() -> None:
    assert "too long" in (fault_of(",".join(map(str, [0] * 200)) + " * * * *") or "")
