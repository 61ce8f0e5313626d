"""How long a task will take."""

from taskyard.core.changes import UserRecord
from taskyard.core.estimates import TYPES_MAX, estimated_ms, note_duration
from taskyard.core.settings import Priorities
from taskyard.core.state import User
from taskyard.core.task import Terms
from tests.support.harness import HubHarness, Level

NUMBERS = Priorities()


def a_user() -> User:
    return User(UserRecord("ann", "ann", 0), 0)


def test_a_tasks_own_estimate_comes_first() -> None:
    user = a_user()
    note_duration(user, "x", 5)
    assert estimated_ms(user, "x", 7, NUMBERS) == 7
    assert estimated_ms(user, "x", 0, NUMBERS) == 0


def test_else_it_is_what_tasks_of_this_user_and_type_took_lately() -> None:
    user = a_user()
    note_duration(user, "x", 1000)
    assert estimated_ms(user, "x", None, NUMBERS) == 1000
    note_duration(user, "x", 2000)
    assert estimated_ms(user, "x", None, NUMBERS) == 1250


def test_else_it_is_300_s() -> None:
    user = a_user()
    note_duration(user, "x", 1000)
    assert estimated_ms(user, "y", None, NUMBERS) == 300_000


def test_only_so_many_types_are_remembered() -> None:
    user = a_user()
    for n in range(TYPES_MAX + 1):
        note_duration(user, f"t{n}", 1000)
    assert len(user.lately) == TYPES_MAX
    assert "t0" not in user.lately


def test_what_tasks_took_lately_decides_when_a_deadline_is_near() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon()
    first = hub.run(hub.submit(type="quick"))
    hub.live(s=10)
    hub.complete(first)
    soon = {"deadline": hub.now.wall + 60_000, "scheduled_for": hub.now.wall + 1}
    assert hub.submit(type="quick", **soon).level is Level.NORMAL
    assert hub.submit(type="other", **soon).level is Level.CRITICAL
    assert hub.submit(type="quick", user="bob", **soon).level is Level.CRITICAL
    assert hub.submit(type="quick", terms=Terms(estimated_ms=50_000), **soon).level is Level.CRITICAL


def test_an_attempt_that_failed_says_nothing_about_how_long_such_tasks_take() -> None:
    hub = HubHarness()
    hub.daemon()
    hub.fail(hub.run(hub.submit(type="quick")))
    assert hub.state.users["ann"].lately == {}
