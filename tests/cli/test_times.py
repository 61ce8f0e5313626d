from datetime import UTC, datetime, timedelta

import pytest

from taskyard.cli.times import instant_of, relative, seconds_of

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "now"),
        (-1, "1 s ago"),
        (-59.9, "59 s ago"),
        (-60, "1 min ago"),
        (-3599, "59 min ago"),
        (-7200, "2 h ago"),
        (-86_400 * 3, "3 d ago"),
        (90, "in 1 min"),
    ],
)
def test_times_are_said_as_people_say_them(seconds: float, said: str) -> None:
    assert relative(NOW + timedelta(seconds=seconds), NOW) == said


def test_no_time_is_a_dash() -> None:
    assert relative(None, NOW) == "-"


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5h", 5400), ("1h30m", 5400), ("2d", 172_800)]
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2h", NOW + timedelta(hours=2)),
        ("2026-02-01T09:00:00Z", datetime(2026, 2, 1, 9, tzinfo=UTC)),
        ("2026-02-01T09:00:00+01:00", datetime(2026, 2, 1, 8, tzinfo=UTC)),
    ],
)
def test_instants_are_read(text: str, at: datetime) -> None:
    assert instant_of(text, NOW) == at


def test_a_time_without_a_zone_is_this_machines() -> None:
    assert instant_of("2026-02-01T09:00", NOW) == datetime(2026, 2, 1, 9).astimezone()


def test_what_is_no_time_is_said_so() -> None:
    with pytest.raises(ValueError, match="is no time"):
        instant_of("soon", NOW)
    with pytest.raises(ValueError, match="is no duration"):
        seconds_of("soon")
    with pytest.raises(ValueError, match="further away than any calendar goes"):
        instant_of("99999999d", NOW)
