"""Who is next among very many, while turns change."""

from collections import deque

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from taskyard.core import turns as turns_module
from taskyard.core.changes import UserRecord
from taskyard.core.fairness import take_stock
from taskyard.core.lines import Line, Party, Pool
from taskyard.core.placement import SHARED
from taskyard.core.state import User
from taskyard.core.task import Needs
from taskyard.core.turns import WASTE_MAX, WIDTH_BITS, Turns
from taskyard.vocabulary import RANK, Level

NORMAL = RANK[Level.NORMAL]
NAMES = "abcdefgh"


class Crowd:
    """Users of whom some wait in one line; who is served is told to the line when a task of theirs ends, as the yard
    does it."""

    def __init__(self, names: str | list[str] = NAMES, of: type[User] = User) -> None:
        self.line = Line((SHARED, "default", Needs(), (), None), Pool(SHARED))
        self.users = {name: of(UserRecord(name, name, 0), 0) for name in names}
        self.parties: dict[str, Party] = {}
        self.grants = 0

    @property
    def turns(self) -> Turns:
        return self.line.parties[NORMAL]

    def come(self, name: str) -> None:
        party = self.parties[name] = Party(self.line, self.users[name], NORMAL)
        self.turns.add(party)

    def go(self, name: str) -> None:
        self.turns.drop(self.parties.pop(name))

    def grant(self, name: str) -> None:
        self.grants += 1
        self.users[name].live[f"task {self.grants}"] = None  # type: ignore[assignment]
        take_stock(self.users[name], served=self.grants)

    def end(self, name: str) -> None:
        user = self.users[name]
        user.live.popitem()
        take_stock(user)
        if name in self.parties:
            self.turns.move(self.parties[name], user.turn)

    def first(self) -> str | None:
        party = self.turns.first()
        return None if party is None else party.user.id

    def entries(self) -> int:
        return len(self.turns._near) + sum(map(len, self.turns._buckets.values()))


def test_nobody_is_first_of_none_and_one_by_itself_is_kept_without_any_order() -> None:
    crowd = Crowd()
    assert crowd.first() is None
    crowd.come("a")
    for _ in range(3):
        crowd.grant("a")
        crowd.end("a")
    assert (crowd.first(), crowd.entries(), len(crowd.turns)) == ("a", 0, 1)
    crowd.go("a")
    assert (crowd.first(), list(crowd.turns)) == (None, [])


def test_who_was_never_served_goes_in_the_order_in_which_they_came() -> None:
    crowd = Crowd()
    for name in "cab":
        crowd.come(name)
    served = []
    for late in "def":
        served.append(crowd.first() or "")
        crowd.grant(served[-1])
        # Whoever comes meanwhile comes after them
        crowd.come(late)
    assert served == ["c", "a", "b"]
    assert crowd.first() == "d"


def test_leftovers_do_not_pile_up_where_turns_come_nearer_and_go_again() -> None:
    crowd = Crowd("abc")
    for name in "abc":
        crowd.come(name)
    for _ in range(10 * WASTE_MAX):
        for name in "abc":
            crowd.grant(name)
        assert crowd.first() == "a"
        for name in "cba":
            crowd.end(name)
            assert crowd.first() is not None
        assert crowd.entries() <= WASTE_MAX + 9


def test_leftovers_do_not_pile_up_where_users_come_and_go() -> None:
    crowd = Crowd("abc")
    crowd.come("a")
    crowd.come("b")
    assert crowd.first() == "a"
    crowd.go("b")
    for _ in range(10 * WASTE_MAX):
        crowd.come("c")
        crowd.go("c")
        assert crowd.entries() <= WASTE_MAX + 9
    assert crowd.first() == "a"


def test_a_line_that_empties_keeps_nobody() -> None:
    names = [f"u{n}" for n in range(5 * WASTE_MAX)]
    crowd = Crowd(names)
    for name in names:
        crowd.come(name)
    assert crowd.first() == names[0]
    for name in names:
        crowd.go(name)
    assert crowd.entries() <= WASTE_MAX


class Watched(User):
    """Counts how often somebody looks whose turn it is."""

    looks = 0

    @property
    def turn(self) -> int:
        Watched.looks += 1
        return self._turn

    @turn.setter
    def turn(self, turn: int) -> None:
        self._turn = turn


@pytest.mark.parametrize("users", [100, 3000])
def test_however_many_wait_a_start_and_an_end_look_at_a_handful(users: int) -> None:
    # Given so many who wait in turn for twenty slots
    names = [f"u{n}" for n in range(users)]
    crowd = Crowd(names, of=Watched)
    for name in names:
        crowd.come(name)
    running: deque[str] = deque()
    for _ in range(20):
        running.append(crowd.first() or "")
        crowd.grant(running[-1])

    # When each has had several, then they came in turn, and hardly anybody was looked at for it
    Watched.looks, served = 0, []
    for _ in range(3 * users):
        crowd.end(running.popleft())
        served.append(crowd.first() or "")
        crowd.grant(served[-1])
        running.append(served[-1])
    assert served == [names[(20 + n) % users] for n in range(3 * users)]
    assert Watched.looks <= 8 * len(served)
    assert max(map(len, crowd.turns._buckets.values())) <= 1 << WIDTH_BITS


class TurnsAgainstASort(RuleBasedStateMachine):
    """Turns grow in silence, and the line is told when they shrink."""

    waste_max = WASTE_MAX

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(turns_module, "WASTE_MAX", self.waste_max)
        self.crowd = Crowd()

    def teardown(self) -> None:
        self.patch.undo()

    @rule(name=st.sampled_from(NAMES))
    def come_or_go(self, name: str) -> None:
        if name in self.crowd.parties:
            self.crowd.go(name)
        else:
            self.crowd.come(name)

    @rule(name=st.sampled_from(NAMES), others=st.sampled_from((0, 0, 1, 70, 500)))
    def grant(self, name: str, others: int) -> None:
        """After so many to users of other lines."""
        self.crowd.grants += others
        self.crowd.grant(name)

    @rule(name=st.sampled_from(NAMES))
    def adopt(self, name: str) -> None:
        """It runs more, and was given nothing: its daemon came back with it."""
        user = self.crowd.users[name]
        user.live[f"adopted {len(user.live)}"] = None  # type: ignore[assignment]
        take_stock(user)

    @precondition(lambda self: any(user.live for user in self.crowd.users.values()))
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        self.crowd.end(data.draw(st.sampled_from([n for n, user in self.crowd.users.items() if user.live])))

    @rule()
    def serve_the_first(self) -> None:
        self.ask()
        first = self.crowd.first()
        if first is not None:
            self.crowd.grant(first)

    @rule()
    def ask(self) -> None:
        parties = self.crowd.parties.values()
        first = self.crowd.turns.first()
        assert (first is None) == (not parties)
        assert first is None or first.user.turn == min(party.user.turn for party in parties)

    @invariant()
    def it_holds_who_came(self) -> None:
        assert list(self.crowd.turns) == list(self.crowd.parties.values())

    @invariant()
    def it_holds_little_more(self) -> None:
        assert self.crowd.entries() <= 3 * len(NAMES) + self.waste_max + 1


class TidyTurnsAgainstASort(TurnsAgainstASort):
    """All are looked at anew as often as can be."""

    waste_max = 0


TurnsAgainstASort.TestCase.settings = settings(max_examples=80, stateful_step_count=50, derandomize=True, deadline=None)
TidyTurnsAgainstASort.TestCase.settings = TurnsAgainstASort.TestCase.settings
test_turns_agree_with_a_plain_sort = TurnsAgainstASort.TestCase
test_tidy_turns_agree_with_a_plain_sort = TidyTurnsAgainstASort.TestCase
