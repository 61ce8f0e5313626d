"""One-time things: the first who shows one has it, and nobody after."""

from taskyard.hub.spent import SPENT_MAX, Spent


def test_the_first_who_shows_it_has_it_and_nobody_after() -> None:
    spent = Spent()
    assert spent.spend("a", expires_at=100, now_ms=0)
    assert not spent.spend("a", expires_at=100, now_ms=1)
    assert spent.spend("b", expires_at=100, now_ms=1)


def test_what_is_over_is_nobodys() -> None:
    spent = Spent()
    assert not spent.spend("a", expires_at=100, now_ms=100)
    assert spent.spend("b", expires_at=100, now_ms=99)


def test_a_step_back_of_the_clock_does_not_bring_back_what_was_used() -> None:
    spent = Spent()
    assert spent.spend("a", expires_at=100, now_ms=0)
    # When it was over, and forgotten for that
    assert spent.spend("b", expires_at=200, now_ms=150)
    # Then an earlier hour is no second chance, and what is made in it works
    assert not spent.spend("a", expires_at=100, now_ms=50)
    assert not spent.spend("b", expires_at=200, now_ms=50)
    assert spent.spend("c", expires_at=150, now_ms=50)


def test_more_than_can_be_remembered_wait_until_some_are_over() -> None:
    spent = Spent()
    assert all(spent.spend(f"{n}", expires_at=100 + n, now_ms=0) for n in range(SPENT_MAX))
    assert not spent.spend("one more", expires_at=50_000, now_ms=0)
    assert not spent.spend("0", expires_at=100, now_ms=0)
    assert spent.spend("one more", expires_at=50_000, now_ms=100)
