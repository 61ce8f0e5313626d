"""Daemons that are emptied and kept for a suspect, which runs alone."""

import pytest
from msgspec.structs import replace

from taskyard.core.commands import (
    ChangeSettings,
    Command,
    CompleteTask,
    OpenBreaker,
    PauseQueue,
    ResetBreaker,
    ResumeQueue,
)
from taskyard.core.daemon_commands import Held
from taskyard.core.settings import Limits, Queue, Settings, Suspects
from taskyard.core.state import Daemon
from taskyard.core.task import Task
from tests.support.harness import HubHarness, Level, Status, attempt_of
from tests.support.suspects import a_suspect, kill, two_busy_daemons


def a_kept_daemon() -> tuple[HubHarness, Daemon, Daemon, Task]:
    """One that is emptied for a suspect, another that is busy, and the suspect."""
    hub = HubHarness()
    one, two, task = two_busy_daemons(hub)
    hub.live(s=61)
    kept, other = (one, two) if one.alone else (two, one)
    assert (kept.alone, other.alone) == (task.id, None)
    return hub, kept, other, task


def test_after_60_s_of_waiting_one_daemon_gets_nothing_new_until_it_is_empty() -> None:
    hub = HubHarness()
    one, two, task = two_busy_daemons(hub)
    hub.complete(next(iter(two.holding.values())))
    hub.live(s=55)
    assert (one.alone, two.alone) == (None, None)
    hub.live(s=5)
    # The emptier one is kept for it.
    assert (one.alone, two.alone) == (None, task.id)
    other = hub.submit(target="c", level=Level.CRITICAL)
    assert other.status is Status.QUEUED
    hub.complete(next(iter(two.holding.values())))
    assert (task.status, attempt_of(task).daemon_id) == (Status.SCHEDULED, two.id)
    hub.complete(task)
    assert (two.alone, other.status) == (None, Status.SCHEDULED)


def test_one_daemon_is_kept_for_a_suspect_and_not_one_more_each_minute() -> None:
    hub = HubHarness()
    one, two, _ = two_busy_daemons(hub)
    hub.live(s=200)
    assert [one.alone is None, two.alone is None].count(False) == 1


def test_a_daemon_kept_for_a_suspect_that_found_another_is_free_again() -> None:
    hub, kept, other, task = a_kept_daemon()
    for held in list(other.holding.values()):
        hub.complete(held)
    assert attempt_of(task).daemon_id == other.id
    assert (kept.alone, other.alone) == (None, task.id)


@pytest.mark.parametrize("how", ["away", "draining"])
def test_when_the_daemon_kept_for_it_goes_no_heartbeat_of_another_is_needed_to_keep_that(how: str) -> None:
    # Given a daemon that has been kept for a suspect for a while
    hub = HubHarness(Settings(suspects=Suspects(hold_after_s=10)))
    one, two, task = two_busy_daemons(hub)
    hub.live(s=10)
    kept, other = (one, two) if one.alone else (two, one)
    hub.advance(s=10)

    # When it goes, and nobody says anything
    if how == "away":
        hub.disconnect(kept)
    else:
        hub.drain(kept)
    hub.advance(s=10)

    # Then another is kept
    assert (kept.alone, other.alone) == (None, task.id)


def test_a_suspect_that_finds_nobody_to_keep_asks_again() -> None:
    hub = HubHarness()
    one, two, task = two_busy_daemons(hub)
    hub.live(s=5)
    for daemon in (one, two):
        hub.drain(daemon)
    hub.live(s=60)
    assert (one.alone, two.alone) == (None, None)
    third = hub.daemon("e")
    assert attempt_of(task).daemon_id == third.id


def test_a_suspect_that_is_put_off_keeps_no_daemon() -> None:
    hub, kept, other, task = a_kept_daemon()
    hub.change(task, scheduled_for=hub.now.wall + 60_000)
    assert (task.status, kept.alone, other.alone) == (Status.PENDING, None, None)


def test_a_suspect_that_is_put_off_before_its_time_is_up_is_left_alone() -> None:
    hub = HubHarness()
    one, two, task = two_busy_daemons(hub)
    hub.live(s=5)
    hub.change(task, scheduled_for=hub.now.wall + 120_000)
    hub.live(s=61)
    assert (task.status, one.alone, two.alone) == (Status.PENDING, None, None)


def test_a_suspect_that_is_cancelled_keeps_no_daemon() -> None:
    hub, kept, other, task = a_kept_daemon()
    hub.cancel(task)
    assert (kept.alone, other.alone) == (None, None)


def two_suspects(hub: HubHarness) -> tuple[Task, Task]:
    """Of the one daemon that is there, which they shared each time that it died."""
    first, second = hub.run(hub.submit()), hub.run(hub.submit())
    for _ in range(3):
        kill(hub, first)
        for task in (first, second):
            if task.status is Status.SCHEDULED:
                hub.run(task)
    return first, second


def test_two_suspects_do_not_wait_for_each_other() -> None:
    # Given a fleet of one that is busy and kept for one suspect
    hub = HubHarness()
    daemon = hub.daemon()
    first, second = two_suspects(hub)
    assert (first.status, second.status) == (Status.RUNNING, Status.QUEUED)
    hub.reject(first, drained=True)
    running, kept = (second, first) if daemon.alone == second.id else (first, second)
    hub.live(s=61, starting=True)
    # When the other one becomes more urgent
    hub.change(kept, level=Level.CRITICAL)
    # Then each gets its turn
    hub.complete(running)
    hub.run(kept)
    hub.complete(kept)
    assert (first.status, second.status) == (Status.COMPLETED, Status.COMPLETED)


def test_a_daemon_kept_for_one_suspect_is_not_held_up_by_a_more_urgent_one() -> None:
    # Given two suspects in the queue, and the one daemon kept for the less urgent
    hub = HubHarness()
    daemon = hub.daemon()
    first, second = two_suspects(hub)
    busy = hub.submit(level=Level.CRITICAL)
    hub.reject(first, drained=True)
    assert (first.status, second.status, busy.status) == (Status.QUEUED, Status.QUEUED, Status.SCHEDULED)
    hub.run(busy)
    hub.live(s=61)
    kept = hub.state.tasks[daemon.alone or ""]
    other = second if kept is first else first
    hub.change(other, level=Level.CRITICAL)
    # When it is empty
    hub.complete(busy)
    # Then the one it was kept for starts
    assert (kept.status, other.status) == (Status.SCHEDULED, Status.QUEUED)


def test_a_daemon_is_not_kept_on_for_a_suspect_that_something_else_holds() -> None:
    # Given a daemon that is emptied for a suspect
    hub, kept, _, task = a_kept_daemon()

    # When its breaker opens before the daemon is empty
    hub.step(OpenBreaker("ann", "general", "admin"))
    for held in list(kept.holding.values()):
        hub.complete(held)

    # Then others may use it meanwhile
    assert task.status is Status.QUEUED
    assert hub.submit(type="other", target=kept.record.name).status is Status.SCHEDULED


@pytest.mark.parametrize(
    ("holds", "lets_go"),
    [
        (OpenBreaker("ann", "general", "admin"), ResetBreaker("ann", "general", "admin")),
        (PauseQueue("default", "admin"), ResumeQueue("default", "admin")),
    ],
    ids=["breaker", "queue"],
)
def test_no_daemon_is_emptied_for_a_suspect_that_something_else_holds(holds: Command, lets_go: Command) -> None:
    hub = HubHarness()
    one, two, task = two_busy_daemons(hub)
    hub.step(holds)
    hub.live(s=100)
    assert (task.status, one.alone, two.alone) == (Status.QUEUED, None, None)

    # But once that is over, one is
    hub.step(lets_go)
    hub.live(s=61)
    assert task.id in (one.alone, two.alone)


def test_those_who_wait_for_a_daemon_kept_for_a_suspect_get_it_the_moment_the_suspect_is_held() -> None:
    # Given a daemon that was emptied for a suspect, and others who wait for that daemon
    hub, kept, _, task = a_kept_daemon()
    other = hub.submit(type="other", target=kept.record.name)
    assert other.status is Status.QUEUED

    # When the suspect's breaker is opened while the last of what ran there ends
    turn = hub.core.turn(hub.now)
    hub.core.decide(turn, OpenBreaker("ann", "general", "admin"))
    for held in list(kept.holding.values()):
        hub.core.decide(turn, CompleteTask(kept.id, held.id, attempt_of(held).number, kept.session, b"{}"))
    hub.core.dispatch(turn)

    # Then the other starts in the same turn
    assert (task.status, other.status) == (Status.QUEUED, Status.SCHEDULED)


def test_a_full_daemon_too_is_kept_for_a_suspect_after_60_s() -> None:
    # Given a suspect, and a daemon whose one slot is taken, with more work behind; its level has room elsewhere
    hub = HubHarness()
    hub.daemon("a")
    task = a_suspect(hub)
    full = hub.daemon("b", slots=1)
    hub.daemon("c", slots=1, types=("other",))
    busy, next_one = hub.run(hub.submit(target="b")), hub.submit(target="b")

    # When the suspect goes back to the queue and nothing ends for 60 s
    hub.drain(hub.state.daemons["d-a"])
    hub.reject(task, drained=True)
    hub.live(s=60)
    assert (task.status, full.alone) == (Status.QUEUED, task.id)

    # Then it is the next to run there, alone
    hub.complete(busy)
    assert (task.status, next_one.status) == (Status.SCHEDULED, Status.QUEUED)


def test_a_daemon_that_comes_back_unable_to_run_the_suspect_it_was_kept_for_is_there_for_others() -> None:
    # Given a daemon that is kept for a suspect
    hub, kept, other, task = a_kept_daemon()

    # When it comes back as one that runs another type
    hub.daemon(kept.record.name, boot="boot-2", types=("other",))

    # Then others may use it at once, and another one is kept after a while
    assert hub.submit(type="other", target=kept.record.name).status is Status.SCHEDULED
    hub.live(s=61, starting=True)
    assert (kept.alone, other.alone) == (None, task.id)


def test_a_daemon_that_merely_comes_back_is_still_kept_for_its_suspect() -> None:
    hub, kept, _, task = a_kept_daemon()
    inventory = [Held(each.id, attempt_of(each).number) for each in kept.holding.values()]
    hub.daemon(kept.record.name, inventory=inventory)
    assert kept.alone == task.id


def a_daemon_is_kept_and_another_about_to_be_empty(hub: HubHarness) -> tuple[Task, Task, Task, Task]:
    """A suspect that both could run; what the other one still runs; and two tasks that wait.

    The first is of Bob, who runs something, and fits both daemons; the second of Cid, who runs nothing, and fits only
    the one that is kept.
    """
    hub.daemon("dying", shared=True, slots=1)
    suspect = hub.run(hub.submit(type="report"))
    kept = hub.daemon("wide", shared=True, slots=2)
    hub.daemon("narrow", shared=True, slots=1, types=("report",))
    hub.run(hub.submit(user="bob", target="wide"))
    last = hub.run(hub.submit(user="dan", target="narrow", type="report"))
    hub.daemon("dying", shared=True, slots=1, boot="boot-2", types=("nothing",))
    hub.live(s=10)
    assert kept.alone == suspect.id
    return suspect, last, hub.submit(user="bob", type="report"), hub.submit(user="cid", type="code")


SOON = Suspects(deaths_max=1, hold_after_s=10)
FOUR = ("ann", "bob", "cid", "dan")


def test_a_daemon_that_a_suspect_needs_no_longer_goes_to_whose_turn_it_is() -> None:
    hub = HubHarness(Settings(suspects=SOON), users=FOUR)
    suspect, last, bobs, cids = a_daemon_is_kept_and_another_about_to_be_empty(hub)

    # When the other daemon is empty first, and the suspect starts there
    hub.complete(last)

    # Then the slot of the one that was kept is Cid's
    assert (suspect.status, bobs.status, cids.status) == (Status.SCHEDULED, Status.QUEUED, Status.SCHEDULED)


def test_a_daemon_that_a_suspect_needs_no_longer_is_not_forgotten_while_the_hub_is_full() -> None:
    hub = HubHarness(Settings(suspects=SOON), users=FOUR)
    suspect, last, bobs, cids = a_daemon_is_kept_and_another_about_to_be_empty(hub)
    hub.step(ChangeSettings(replace(hub.state.settings, limits=Limits(running_total=2))))

    # When the suspect's start elsewhere fills the hub
    hub.complete(last)
    assert (suspect.status, bobs.status, cids.status) == (Status.SCHEDULED, Status.QUEUED, Status.QUEUED)

    # Then Cid is the next to start
    hub.complete(suspect)
    assert (bobs.status, cids.status) == (Status.QUEUED, Status.SCHEDULED)


def a_suspect_of_two_pools(*, own: int, shared: int) -> tuple[HubHarness, Task, Daemon, Daemon]:
    """It could run on Ann's own daemon and on a shared one, which run so much. Its queue takes one per pool.

    A second shared daemon runs more than either.
    """
    hub = HubHarness(Settings(queues={"local": Queue(models=("m",))}, suspects=SOON), users=FOUR)
    hub.daemon("dying")
    suspect = hub.run(hub.submit(model="m", level=Level.HIGH))
    first = hub.daemon("own")
    second, _ = (hub.daemon(name, user="bob", shared=True) for name in ("shared", "other"))
    for user, target, busy in (("ann", "own", own), ("bob", "shared", shared), ("bob", "other", 3)):
        for _ in range(busy):
            hub.run(hub.submit(user=user, target=target))
    hub.daemon("dying", boot="boot-2", types=("nothing",))
    hub.live(s=10)
    return hub, suspect, first, second


def fill_the_queue_of_the_shared_pool(hub: HubHarness) -> None:
    """And have it looked at who waits for it there."""
    hub.run(hub.submit(user="bob", model="m", level=Level.CRITICAL))
    other = hub.state.daemons["d-other"]
    hub.beat(other, *other.holding.values())


def test_a_daemon_of_ones_own_stays_kept_for_a_suspect_that_is_held_in_the_shared_pool_only() -> None:
    hub, suspect, own, _ = a_suspect_of_two_pools(own=1, shared=2)
    assert own.alone == suspect.id
    fill_the_queue_of_the_shared_pool(hub)
    assert (own.alone, suspect.status) == (suspect.id, Status.QUEUED)


def test_a_suspect_that_is_held_in_the_pool_of_the_daemon_kept_for_it_is_kept_another() -> None:
    # Given a shared daemon that has been kept for a suspect for a while
    hub, suspect, own, shared = a_suspect_of_two_pools(own=2, shared=1)
    assert shared.alone == suspect.id
    hub.advance(s=10)

    # When its queue is full there
    fill_the_queue_of_the_shared_pool(hub)
    assert shared.alone is None

    # Then Ann's own is kept
    hub.advance(s=10)
    assert own.alone == suspect.id


def test_a_daemon_that_moves_to_a_pool_where_its_suspect_is_held_is_there_for_others() -> None:
    # Given Ann's own daemon, which is kept for a suspect whose queue is full in the shared pool
    hub, suspect, own, _ = a_suspect_of_two_pools(own=1, shared=2)
    fill_the_queue_of_the_shared_pool(hub)
    assert own.alone == suspect.id

    # When it comes back as a shared one
    inventory = [Held(each.id, attempt_of(each).number) for each in own.holding.values()]
    hub.daemon("own", shared=True, inventory=inventory)

    # Then others may use it
    assert own.alone is None
    assert hub.submit(user="bob", target="own").status is Status.SCHEDULED
