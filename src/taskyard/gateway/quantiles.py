"""Buckets of sizes and what is read from them. They are a tenth of a decade wide: a quantile is at most a quarter off,
and seldom more than a twentieth; and counts of different times and processes can be added up.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Final

_STEPS: Final = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)


def bounds_of(*, least: float, decades: int) -> list[float]:
    """Upper bounds, from `least` over that many decades; one more bucket is for what is larger."""
    return [least * 10.0**decade * step for decade in range(decades) for step in _STEPS]


def quantile(bounds: Sequence[float], counted: Mapping[int, int], part: float) -> float:
    """The size that this part of them does not exceed, as if each bucket's were spread evenly over it.

    There must be some.
    """
    edges = list(pairwise(chain((0.0,), bounds, (bounds[-1],))))
    left = part * sum(counted.values())
    for bucket in sorted(counted):
        lower, upper = edges[bucket]
        if counted[bucket] >= left:
            break
        left -= counted[bucket]
    return lower + (upper - lower) * left / counted[bucket]


DURATION_MS_MIN, DURATION_DECADES = 1, 8
"""Of waits and runs: from a millisecond to most of a day."""
DURATIONS_MS: Final = bounds_of(least=DURATION_MS_MIN, decades=DURATION_DECADES)
