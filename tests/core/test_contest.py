"""Whose turn it is among several lines, while slots are given away one by one."""

from taskyard.core.contest import Contest
from taskyard.core.fairness import take_stock
from taskyard.core.limits import ages_of
from taskyard.core.lines import Line
from tests.support.harness import HubHarness, Level, a_draft

RANKS = (0, 1, 2, 3)


def a_contest(hub: HubHarness) -> Contest:
    return Contest(list(hub.state.yard.lines.values()), ages_of(hub.core.turn(hub.now)))


def test_the_first_level_that_has_anybody_is_served() -> None:
    hub = HubHarness()
    hub.submit_all(a_draft(level=Level.LOW), a_draft(level=Level.HIGH, type="x"))
    contest = a_contest(hub)
    first = contest.first(RANKS)
    assert first.rank == 1
    low = contest.first((3, 1))
    assert low.rank == 3
    assert contest.first((0,)) is None


def test_whose_turn_it_is_comes_before_what_they_would_run() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.submit(type="x", value=7)
    hub.submit(user="bob", type="y", value=5)
    take_stock(hub.state.users["ann"], served=1)
    first = a_contest(hub).first(RANKS)
    assert first.user.id == "bob"


def test_a_user_who_was_served_is_asked_for_anew_and_the_others_are_not() -> None:
    # Given two lines in which ann comes before bob
    hub = HubHarness(users=("ann", "bob"))
    for user in ("ann", "bob"):
        hub.submit_all(a_draft(type="x"), a_draft(type="x"), a_draft(type="y"), user=user)
    contest = a_contest(hub)
    first = contest.first(RANKS)
    assert first.user.id == "ann"

    # When she was served, then he is first in both
    take_stock(hub.state.users["ann"], served=1)
    contest.settle(first)
    second = contest.first(RANKS)
    assert second.user.id == "bob"
    assert {party.user.id for party in contest._firsts[2].values()} == {"bob"}


def test_a_line_that_sleeps_or_is_empty_is_out() -> None:
    hub = HubHarness()
    tasks = hub.submit_all(a_draft(type="x"), a_draft(type="y"))
    contest = a_contest(hub)
    lines: list[Line] = list(contest.lines)
    first = contest.first(RANKS)
    hub.state.yard.sleep_line(first.line, ("test",))
    contest.settle(first)
    assert contest.lines == [line for line in lines if line is not first.line]
    hub.state.yard.wake(("test",))
    other = contest.first(RANKS)
    hub.cancel(next(task for task in tasks if task.kind.needs is other.line.needs))
    contest.settle(other)
    assert contest.lines == []
    contest = a_contest(hub)
    contest.drop(first.line)
    assert first.line not in contest.lines
