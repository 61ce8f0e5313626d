"""How fast a line gets shorter."""

import pytest

from taskyard.core.pace import WINDOW_MS, Pace


def a_pace(*starts_ms: int) -> Pace:
    pace = Pace()
    for at in starts_ms:
        pace.note(at)
    return pace


def test_before_anything_has_started_nothing_is_known() -> None:
    assert Pace().wait_ms(10, 0) is None


def test_a_burst_at_the_beginning_is_not_taken_for_what_a_moment_brings() -> None:
    pace = a_pace(*[0] * 100)
    assert pace.wait_ms(100, 0) == WINDOW_MS // 4


def test_a_steady_pace_is_found_whatever_the_instant() -> None:
    pace = a_pace(*range(0, 10 * WINDOW_MS, 1000))
    for at in range(9 * WINDOW_MS + 59_001, 10 * WINDOW_MS, 100):
        assert pace.wait_ms(60, at) == pytest.approx(60_000, rel=0.03)


def test_what_the_last_minute_has_not_seen_is_forgotten() -> None:
    pace = a_pace(*[0] * 30)
    assert pace.wait_ms(30, WINDOW_MS + WINDOW_MS // 2) == 2 * WINDOW_MS
    assert pace.wait_ms(30, 2 * WINDOW_MS) is None


def test_a_line_that_stood_still_is_known_again_when_it_moves() -> None:
    pace = a_pace(0)
    pace.note(10 * WINDOW_MS)
    assert pace.wait_ms(1, 10 * WINDOW_MS) == WINDOW_MS
