"""Counts and sizes over time: since the start for whoever adds up, and of the last minutes for whoever looks.

The last minutes are kept by the second, and sizes by bucket: what is kept is bounded by the length of the window and
the number of buckets, however much happens. They are added by the batch: one by one would cost more than all the rest.
"""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from itertools import accumulate
from math import inf
from typing import Final

from taskyard.gateway.figures import Distribution, Lately
from taskyard.gateway.quantiles import bounds_of, quantile

WINDOW_S: Final = 300
"""How long ago something still counts as lately."""
_SHOWN: Final = (1.0, 2.5, 5.0)
# Of each decade, what others are shown: every bucket is a series that somebody stores.


class Tally:
    """How often something of each name happened."""

    def __init__(self) -> None:
        self.total: Counter[str] = Counter()
        self._seconds: deque[tuple[int, Counter[str]]] = deque()

    def add(self, found: Mapping[str, int], second: int) -> None:
        seconds, total = self._seconds, self.total
        if not seconds or seconds[-1][0] != second:
            seconds.append((second, Counter()))
            while seconds[0][0] <= second - WINDOW_S:
                seconds.popleft()
        newest = seconds[-1][1]
        for name, times in found.items():
            total[name] += times
            newest[name] += times

    def lately(self, second: int, within_s: int = WINDOW_S) -> Counter[str]:
        summed: Counter[str] = Counter()
        for at, counted in self._seconds:
            if at > second - within_s:
                summed.update(counted)
        return summed


class Sizes:
    """How large things were. Bounds go from `least` over that many decades."""

    def __init__(self, *, least: float, decades: int) -> None:
        self._bounds = bounds_of(least=least, decades=decades)
        self._shown = [least * 10.0**decade * step for decade in range(decades) for step in _SHOWN]
        self._counts = [0] * (len(self._bounds) + 1)
        self._total = 0.0
        self._seconds: deque[tuple[int, float, Counter[int]]] = deque()
        """When, how much altogether, and how many by bucket. A second may come in several parts."""
        self._unsorted: Counter[float] = Counter()
        self._second = 0

    def add(self, sizes: Iterable[float], second: int) -> None:
        """Only counted, which runs in C; what a size amounts to is worked out once for all of this second."""
        if second != self._second:
            self._sort_in()
            self._second = second
        self._unsorted.update(sizes)

    def _sort_in(self) -> None:
        """What was added within one second goes into its buckets; below 0 there is nothing."""
        if not self._unsorted:
            return
        seconds, counts, found, total = self._seconds, self._counts, Counter[int](), 0.0
        for size, times in self._unsorted.items():
            if size >= 0:
                found[bisect_left(self._bounds, size)] += times
                total += size * times
        self._unsorted = Counter()
        seconds.append((self._second, total, found))
        while seconds[0][0] <= self._second - WINDOW_S:
            seconds.popleft()
        self._total += total
        for bucket, times in found.items():
            counts[bucket] += times

    def counts(self) -> list[int]:
        """By bucket, since the start."""
        self._sort_in()
        return list(self._counts)

    def distribution(self, second: int) -> Distribution:
        self._sort_in()
        up_to = dict(zip((*self._bounds, inf), accumulate(self._counts), strict=True))
        shown = [(bound, up_to[bound]) for bound in (*self._shown, inf)]
        return Distribution(shown, self._total, self._lately(second))

    def _lately(self, second: int) -> Lately:
        total, counted = 0.0, Counter[int]()
        for at, summed, counts in self._seconds:
            if at > second - WINDOW_S:
                total += summed
                counted.update(counts)
        number = counted.total()
        if not number:
            return Lately(0.0, 0.0, 0.0)
        return Lately(total / number, quantile(self._bounds, counted, 0.5), quantile(self._bounds, counted, 0.99))
