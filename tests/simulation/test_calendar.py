"""`core/cron.py` against a clock that is walked by hand, around the changes of clocks all over the world."""

import pytest

from tests.simulation import calendar_oracle


@pytest.mark.slow
def test_every_run_is_due_once_and_at_the_right_instant_wherever_clocks_change() -> None:
    windows = calendar_oracle.chosen_windows(seed=5, count=20)
    assert not [fault for window in windows for fault in calendar_oracle.disagreements(window)]


def test_the_walker_finds_what_was_counted_by_hand() -> None:
    # Paris, 28 March 2027: of 24 hours the third is missing. 31 October: there are two third ones.
    spring, autumn = (
        calendar_oracle.window_around("Europe/Paris", at) for at in (1_806_195_600_000, 1_824_944_400_000)
    )
    assert calendar_oracle.counted("0 * * * *", spring) == calendar_oracle.counted("0 * * * *", autumn) == 72
    assert calendar_oracle.counted("30 2 * * *", spring) == calendar_oracle.counted("30 2 * * *", autumn) == 3
    assert calendar_oracle.counted("*/30 2 * * *", spring) == 4
    assert calendar_oracle.counted("*/30 2 * * *", autumn) == 8
