"""The smallest of many, while their order changes."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from taskyard.core.ordered import LEFTOVERS_MAX, Ordered

NAMES = st.sampled_from("abcdef")


def test_one_by_itself_is_kept_without_any_order() -> None:
    asked: list[str] = []
    ordered: Ordered[str] = Ordered(lambda name: (len(asked.append(name) or asked),))  # type: ignore[func-returns-value]
    assert (ordered.first(), len(ordered)) == (None, 0)
    ordered.put("a")
    ordered.put("a")
    assert (ordered.first(), list(ordered), "a" in ordered, asked) == ("a", ["a"], True, [])
    ordered.drop("a")
    assert (ordered.first(), "a" in ordered) == (None, False)


def test_leftovers_do_not_pile_up() -> None:
    keys = {"a": 1, "b": 2}
    ordered: Ordered[str] = Ordered(lambda name: (keys[name],))
    ordered.put("a")
    ordered.put("b")
    for _ in range(10 * LEFTOVERS_MAX):
        ordered.put("b")
        assert ordered.first() == "a"
    assert len(ordered._heap) <= LEFTOVERS_MAX + 5


def test_what_moves_many_times_finds_its_place_when_the_smallest_is_asked_for() -> None:
    # Given two, of which one moves forward again and again
    asked: list[str] = []
    keys = {"a": 50, "b": 100, "c": 0}
    ordered: Ordered[str] = Ordered(lambda name: asked.append(name) or (keys[name],))  # type: ignore[func-returns-value]
    ordered.put("a")
    ordered.put("b")
    for key in range(99, 0, -1):
        keys["b"] = key
        ordered.put("b")

    # Then nobody looks where it belongs before it is asked for
    assert asked == []
    assert ordered.first() == "b"

    # And what left meanwhile is not looked at
    ordered.put("a")
    ordered.drop("a")
    ordered.put("c")
    asked.clear()
    assert ordered.first() == "c"
    assert "a" not in asked


class OrderedAgainstASort(RuleBasedStateMachine):
    """Keys grow in silence and shrink with a `put`."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: dict[str, int] = {}
        self.ordered: Ordered[str] = Ordered(lambda name: (self.keys[name],))

    @rule(name=NAMES, key=st.integers(0, 9))
    def put(self, name: str, key: int) -> None:
        self.keys[name] = key
        self.ordered.put(name)

    @precondition(lambda self: self.keys)
    @rule(data=st.data(), by=st.integers(0, 5))
    def grow(self, data: st.DataObject, by: int) -> None:
        self.keys[data.draw(st.sampled_from(sorted(self.keys)))] += by

    @precondition(lambda self: self.keys)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.keys)))
        self.ordered.drop(name)
        del self.keys[name]

    @precondition(lambda self: self.keys)
    @rule(data=st.data(), by=st.integers(0, 5))
    def shrink(self, data: st.DataObject, by: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.keys)))
        self.keys[name] -= by
        self.ordered.put(name)

    @rule()
    def ask(self) -> None:
        first = self.ordered.first()
        assert (first is None) == (not self.keys)
        assert first is None or self.keys[first] == min(self.keys.values())

    @invariant()
    def it_holds_what_was_put(self) -> None:
        assert list(self.ordered) == list(self.keys)


OrderedAgainstASort.TestCase.settings = settings(
    max_examples=80, stateful_step_count=40, derandomize=True, deadline=None
)
test_ordered_agrees_with_a_plain_sort = OrderedAgainstASort.TestCase
