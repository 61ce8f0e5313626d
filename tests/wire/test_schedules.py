"""Schedules as they are written down."""

import pytest

from taskyard.core.cron_fields import fault_of
from taskyard.wire.schedules import PRESETS, every_ms_of, plain_every, without_zone


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("30s", 30_000),
        ("5m", 300_000),
        ("1h", 3_600_000),
        ("1d", 86_400_000),
        ("1w", 604_800_000),
        ("every 5m", 300_000),
        (" Every  5 M ", 300_000),
    ],
)
def test_an_interval_is_a_number_and_a_unit(text: str, ms: int) -> None:
    assert every_ms_of(text) == ms


@pytest.mark.parametrize("text", ["", "5", "m", "0s", "-1m", "1.5h", "5 minutes", "60w", "9999999999s", "\u0665m"])
def test_what_is_no_interval_is_none(text: str) -> None:
    assert every_ms_of(text) is None


def test_the_word_before_an_interval_is_left_out() -> None:
    assert plain_every("every 05M") == "5m"


def test_presets_are_the_four_that_the_sources_name() -> None:
    assert [preset.title for preset in PRESETS] == [
        "Every 5 minutes",
        "Every hour",
        "Daily at midnight",
        "Weekly on Monday",
    ]
    assert all((preset.every is None) != (preset.cron is None) for preset in PRESETS)
    assert all(fault_of(preset.cron) is None for preset in PRESETS if preset.cron is not None)
    assert all(every_ms_of(preset.every) for preset in PRESETS if preset.every is not None)


@pytest.mark.parametrize(
    ("written", "parted"),
    [
        ("CRON_TZ=Europe/Paris 0 9 * * *", ("0 9 * * *", "Europe/Paris")),
        ("tz=UTC  @daily", ("@daily", "UTC")),
        ("0 9 * * *", ("0 9 * * *", None)),
        ("CRON_TZ=UTC", ("", "UTC")),
        ("X=1 0 9 * * *", ("X=1 0 9 * * *", None)),
        ("", ("", None)),
    ],
)
def test_a_zone_before_the_fields_is_taken_off(written: str, parted: tuple[str, str | None]) -> None:
    assert without_zone(written) == parted
