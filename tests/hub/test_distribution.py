"""Counts and sizes over time: what they say of always, and of lately."""

from math import inf
from random import Random

import pytest

from taskyard.hub.distribution import WINDOW_S, Sizes, Tally


def test_a_tally_counts_for_ever_and_forgets_what_was_not_lately() -> None:
    tally = Tally()
    tally.add({"a": 2, "b": 1}, 10)
    tally.add({"a": 3}, 10)
    tally.add({"a": 1}, 40)
    assert tally.total == {"a": 6, "b": 1}
    assert tally.lately(40, 60) == {"a": 6, "b": 1}
    assert tally.lately(70, 60) == {"a": 1}
    assert tally.lately(40 + WINDOW_S) == {}
    tally.add({"b": 1}, 40 + WINDOW_S)
    assert tally.lately(40 + WINDOW_S) == {"b": 1}
    assert tally.total == {"a": 6, "b": 2}


def test_nothing_measured_is_nothing() -> None:
    shown = Sizes(least=1, decades=2).distribution(5)
    assert (shown.lately.mean, shown.lately.p50, shown.lately.p99, shown.total) == (0, 0, 0, 0)
    assert shown.buckets == [(1, 0), (2.5, 0), (5, 0), (10, 0), (25, 0), (50, 0), (inf, 0)]


def test_sizes_are_shown_as_how_many_were_not_above_each_bound() -> None:
    sizes = Sizes(least=1, decades=2)
    sizes.add([0, 1, 2, 7], 5)
    sizes.add([40, 1000], 6)
    shown = sizes.distribution(6)
    assert shown.buckets == [(1, 2), (2.5, 3), (5, 3), (10, 4), (25, 4), (50, 5), (inf, 6)]
    assert shown.total == 1050
    assert shown.lately.mean == 175


def test_a_size_below_nothing_is_left_out() -> None:
    sizes = Sizes(least=1, decades=2)
    sizes.add([-3, 3], 5)
    shown = sizes.distribution(5)
    assert (shown.buckets[-1], shown.total, shown.lately.mean) == ((inf, 1), 3, 3)


def test_looking_in_the_middle_of_a_second_changes_nothing() -> None:
    looked, other = Sizes(least=1, decades=3), Sizes(least=1, decades=3)
    for number in range(100):
        for sizes in (looked, other):
            sizes.add([number], 5)
        looked.distribution(5)
    assert looked.distribution(5) == other.distribution(5)


@pytest.mark.parametrize("part", ["p50", "p99"])
def test_a_quantile_is_within_a_quarter_of_the_true_one(part: str) -> None:
    dice, sizes = Random(3), Sizes(least=1, decades=8)
    drawn = sorted(int(dice.lognormvariate(7, 2)) + 1 for _ in range(5000))
    sizes.add(drawn, 5)
    true = drawn[{"p50": 2500, "p99": 4950}[part]]
    assert getattr(sizes.distribution(5).lately, part) == pytest.approx(true, rel=0.25)


def test_a_quantile_beyond_the_last_bound_is_that_bound() -> None:
    sizes = Sizes(least=1, decades=1)
    sizes.add([500], 5)
    assert sizes.distribution(5).lately.p99 == 8


def test_lately_forgets_and_the_buckets_do_not() -> None:
    sizes = Sizes(least=1, decades=2)
    sizes.add([10], 5)
    later = 5 + WINDOW_S
    assert sizes.distribution(later - 1).lately.mean == 10
    assert sizes.distribution(later).lately.mean == 0
    sizes.add([20], later)
    shown = sizes.distribution(later)
    assert (shown.lately.mean, shown.total) == (20, 30)
