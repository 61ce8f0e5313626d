"""Whose turn it is among several lines, while one slot after the other is given away.

Who is first in a line is asked once and remembered. A start moves only its own user back, and nobody forward, so only
the lines in which that user was first are asked again: the next slot costs a look or two, not one per line and level.
"""

from taskyard.core.lines import Line, Party, order_of
from taskyard.vocabulary import RANK


class Contest:
    """The lines of one pool that have a task and a free daemon."""

    __slots__ = ("_firsts", "ages", "lines")

    def __init__(self, lines: list[Line], ages: tuple[int, ...]) -> None:
        self.lines = lines
        self.ages = ages
        """Per level: who was queued before this has waited longer than they should."""
        self._firsts: list[dict[Line, Party]] = [{} for _ in RANK]
        """Per level: who is first in each line, as far as that was asked and still holds."""

    def first(self, ranks: tuple[int, ...]) -> Party | None:
        """Of the first level that has anybody: the user whose turn it is, and what they would run first."""
        if len(self.lines) == 1:
            line = self.lines[0]
            for rank in ranks:
                if line.waiting[rank]:
                    return line.parties[rank].first()
            return None
        for rank in ranks:
            parties = self._parties(rank)
            if parties:
                return parties[0] if len(parties) == 1 else self._best(parties, rank)
        return None

    def _parties(self, rank: int) -> list[Party]:
        firsts, found = self._firsts[rank], []
        for line in self.lines:
            if line.waiting[rank]:
                party = firsts.get(line) or line.parties[rank].first()
                assert party is not None, "I5: a line knows who waits in it"
                firsts[line] = party
                found.append(party)
        return found

    def _best(self, parties: list[Party], rank: int) -> Party:
        """Whose turn it is decides most of the time; what they would run is looked at only between equals."""
        turn_now = min(party.user.turn for party in parties)
        equals = [party for party in parties if party.user.turn == turn_now]
        if len(equals) == 1:
            return equals[0]
        return min(equals, key=lambda party: order_of(party, self.ages[rank]))

    def settle(self, party: Party) -> None:
        """This party's user was given a slot, or put to sleep: where it was first, somebody else may be now."""
        user, line = party.user, party.line
        for firsts in self._firsts:
            if firsts:
                for each in [each for each, first in firsts.items() if first.user is user]:
                    del firsts[each]
        if line.blocker is not None or not line.is_waiting():
            self.drop(line)

    def drop(self, line: Line) -> None:
        """It has no daemon with room, nobody left, or sleeps."""
        self.lines.remove(line)
