"""Why a daemon with room gets nothing, and what holds most of a user's tasks."""

import pytest

from taskyard.core.counts import fleet_changed
from taskyard.core.idle import overview, why_idle
from taskyard.core.settings import Queue, Settings, Shares
from taskyard.core.state import Daemon
from taskyard.core.yard_commands import ChangeUser, PauseQueue
from taskyard.vocabulary import Level, Profile
from taskyard.vocabulary.reasons import Reason
from tests.core.test_claims import claimed, slot
from tests.support.harness import HubHarness, a_draft
from tests.support.suspects import two_busy_daemons

MODEL = Settings(queues={"q": Queue(models=("m",))})


def because(hub: HubHarness, daemon: Daemon, viewer: str | None = "ann") -> str | None:
    return why_idle(hub.core.turn(hub.now), daemon, viewer)


def test_one_that_is_away_drains_or_is_full() -> None:
    hub = HubHarness()
    away, draining, full = hub.daemon("a"), hub.daemon("b"), hub.daemon("c", slots=1)
    hub.submit(target="c")
    hub.disconnect(away)
    hub.drain(draining)
    assert because(hub, away) == "It is offline since 08:00:00 UTC."
    assert because(hub, draining) == "It is draining: it finishes what it has and takes nothing new."
    assert because(hub, full) is None


@pytest.mark.parametrize(
    ("shared", "viewer", "words"),
    [
        (False, "ann", "Nothing waits."),
        (True, "ann", "Nothing of yours waits."),
        (True, None, "Nothing waits."),
    ],
)
def test_nothing_waits(shared: bool, viewer: str | None, words: str) -> None:
    hub = HubHarness()
    assert because(hub, hub.daemon(shared=shared), viewer) == words


def test_what_waits_is_not_for_it() -> None:
    hub = HubHarness()
    daemon = hub.daemon(types=("general",))
    hub.submit(capabilities=("browser",))
    assert because(hub, daemon) == "1 task waits that it cannot run: has no browser."
    hub.submit(capabilities=("browser",))
    hub.submit(type="other")
    assert because(hub, daemon) == "3 tasks wait that it cannot run: has no browser (2), and 1 other reason."


def test_what_waits_is_held() -> None:
    hub = HubHarness(MODEL, users=("ann", "bob"))
    daemon = hub.daemon(shared=True)
    hub.submit(model="m")
    hub.submit(model="m")
    hub.submit(model="m")
    assert because(hub, daemon) == "2 tasks wait that it could run. Queue q runs 1 of 1 tasks at a time."
    # Others see nothing of it, an admin that it is so.
    assert because(hub, daemon, "bob") == "Nothing of yours waits."
    assert because(hub, daemon, None) == "2 tasks wait that it could run. Held by: queue full."


def test_one_that_is_kept_for_a_suspect() -> None:
    hub = HubHarness()
    _, two, _ = two_busy_daemons(hub)
    hub.complete(next(iter(two.holding.values())))
    hub.live(s=61)
    assert because(hub, two) == "It is kept for a task that must run alone."


def test_a_user_sees_what_runs_and_waits_and_what_holds_most_of_it() -> None:
    hub = HubHarness(MODEL)
    hub.daemon(slots=20)
    hub.ask(PauseQueue("q", "ann"))
    hub.ask(ChangeUser("ann", "root", overrides={"max_concurrent_agents": 2}))
    for _ in range(2):
        hub.submit()
    for _ in range(3):
        hub.submit(model="m")
    hub.submit(level=Level.LOW)
    found = overview(hub.core.turn(hub.now), hub.state.users["ann"])
    assert (found.profile, found.running, found.waiting) == (Profile.LOCAL, 2, 4)
    assert [(s.queue, s.level, s.running, s.waiting) for s in found.shares] == [
        ("default", Level.NORMAL, 2, 0),
        ("default", Level.LOW, 0, 1),
        ("q", Level.NORMAL, 0, 3),
    ]
    assert [(g.cause.code, g.tasks, g.example) for g in found.held] == [
        (Reason.QUEUE_PAUSED, 3, "T-003"),
        (Reason.USER_CONCURRENCY, 1, "T-006"),
    ]


def test_what_asks_for_different_things_to_be_done_is_told_apart() -> None:
    hub = HubHarness(MODEL)
    hub.daemon(types=("general",))
    # No daemon can run any of them. Two want the same of one, whatever their queue.
    hub.submit(capabilities=("browser",))
    hub.submit(capabilities=("gpu",))
    hub.submit(capabilities=("browser",), model="m")
    found = overview(hub.core.turn(hub.now), hub.state.users["ann"])
    assert [(g.cause.code, g.cause.message, g.tasks) for g in found.held] == [
        (Reason.NO_ELIGIBLE_DAEMON, "None of the daemons you may use has ever offered browser.", 2),
        (Reason.NO_ELIGIBLE_DAEMON, "None of the daemons you may use has ever offered gpu.", 1),
    ]


def test_strict_shares_of_two_levels_are_two_things() -> None:
    hub = HubHarness(Settings(shares=Shares(strict=True)))
    hub.daemon(slots=4)
    for level in (Level.NORMAL, Level.HIGH):
        hub.submit_all(*(a_draft(level=level) for _ in range(2)))
    found = overview(hub.core.turn(hub.now), hub.state.users["ann"])
    assert [(g.cause.code, g.example) for g in found.held] == [
        (Reason.PRIORITY_SHARE, "T-002"),
        (Reason.PRIORITY_SHARE, "T-004"),
    ]


def test_what_is_about_to_start_is_held_by_nothing() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    turn = hub.core.turn(hub.now)
    hub.disconnect(daemon)
    task = hub.submit()
    daemon.session = 7
    fleet_changed(hub.state, daemon)
    assert why_idle(turn, daemon, "ann") == (
        "1 task waits that it could run. Nothing else holds it, and none of your tasks of its queue go first."
    )
    assert task.ref == "T-001"


def test_an_agent_that_works_on_what_it_claimed_is_not_called_offline() -> None:
    hub = HubHarness()
    claimed(hub)
    assert because(hub, slot(hub)) is None
