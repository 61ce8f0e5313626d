"""Who is next of those that wait in one line at one level: the party whose user has the smallest turn (`fairness.py`).

Of ten thousand users hardly anybody is next, and what is not in the processor's caches costs more than what is done
with it. So a change of turn looks at nobody but its own party, and only the nearest few are kept in order:

* near: a heap, of turns before `_near_end`;
* further off, before `_bound`: in buckets of so many turns each, as they came; if nobody is near, the first bucket is;
* aside: everybody who runs more than the others that wait here; when there are no others, all are looked at anew.

A party knows its place: the turn under which it stands. If its turn grew since, that is found out when it surfaces; if
it shrank, it must be told (`move`). An entry under another turn than its party's place is a leftover and passed over.
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

from taskyard.core.fairness import SERVED_BITS

if TYPE_CHECKING:
    from taskyard.core.lines import Party

WIDTH_BITS: Final = 6
# A bucket has 64 turns: few enough to be ordered at once, and then one decision in 64 opens the next.
WASTE_MAX: Final = 64
# Beside twice as many as wait: below this, looking at everybody anew costs more than it saves.
ASIDE: Final = 1 << 80
"""The place of who has none: behind every turn."""
GONE: Final = -1
"""The place of who left."""


class Turns:
    __slots__ = ("_bound", "_buckets", "_near", "_near_end", "_numbers", "_parties", "_puts", "_wasted")

    def __init__(self) -> None:
        self._parties: dict[Party, None] = {}
        self._near: list[tuple[int, int, Party]] = []
        self._near_end = 0
        self._buckets: dict[int, list[Party]] = {}
        self._numbers: list[int] = []
        """A heap of the buckets' numbers."""
        self._bound = 0
        self._puts = 0
        self._wasted = 0
        """Leftovers, and entries that came to the heap one by one, since all were last looked at."""

    def __len__(self) -> int:
        return len(self._parties)

    def __iter__(self) -> "Iterator[Party]":
        """In the order in which they came."""
        return iter(self._parties)

    def add(self, party: "Party") -> None:
        """A party that is new here."""
        self._parties[party] = None
        self.move(party, party.user.turn)

    def drop(self, party: "Party") -> None:
        del self._parties[party]
        if party.place != ASIDE:
            self._wasted += 1
            party.place = GONE
            if self._wasted > 2 * len(self._parties) + WASTE_MAX:
                self._look_anew()

    def move(self, party: "Party", turn: int) -> None:
        """Its user's turn is this now, which may be nearer than it was."""
        place = party.place
        if turn >= self._bound or place <= turn:
            return
        if place != ASIDE:
            self._wasted += 1
        self._put(party, turn)

    def first(self) -> "Party | None":
        """Whose turn it is; the one that came first between equals."""
        parties = self._parties
        if len(parties) < 2:
            return next(iter(parties), None)
        if self._wasted > 2 * len(parties) + WASTE_MAX:
            self._look_anew()
        while True:
            near = self._near
            while near:
                place, _, party = near[0]
                if party.place == place:
                    turn = party.user.turn
                    if turn == place:
                        return party
                    # It has moved back since.
                    party.place = ASIDE
                    heappop(near)
                    if turn < self._bound:
                        self._put(party, turn)
                else:
                    heappop(near)
            self._come_near()

    def _put(self, party: "Party", turn: int) -> None:
        party.place = turn
        if turn < self._near_end:
            self._wasted += 1
            self._puts += 1
            heappush(self._near, (turn, self._puts, party))
            return
        number = turn >> WIDTH_BITS
        bucket = self._buckets.get(number)
        if bucket is None:
            self._buckets[number] = [party]
            heappush(self._numbers, number)
        else:
            bucket.append(party)

    def _come_near(self) -> None:
        """Nobody is near: the first bucket is now."""
        if not self._numbers:
            self._look_anew()
        number = heappop(self._numbers)
        self._near_end = (number + 1) << WIDTH_BITS
        near = self._near
        for party in self._buckets.pop(number):
            place = party.place
            if place >> WIDTH_BITS == number:
                self._puts += 1
                near.append((place, self._puts, party))
        heapify(near)

    def _look_anew(self) -> None:
        """Give everybody a place: those who run the fewest by their turn, the others aside."""
        fewest = min((party.user.turn for party in self._parties), default=0) >> SERVED_BITS
        self._near, self._near_end = [], fewest << SERVED_BITS
        self._buckets, self._numbers = {}, []
        self._bound = (fewest + 1) << SERVED_BITS
        self._wasted = 0
        for party in self._parties:
            party.place = ASIDE
            self.move(party, party.user.turn)
