"""Everything that holds a lane back, from the very rules that dispatch asks."""

import pytest

from taskyard.core import holds as module
from taskyard.core.holds import Held, holds_of, lines_of
from taskyard.core.lanes import Lane, key_of
from taskyard.core.limits import LANE_RULES, Hold
from taskyard.core.settings import Limits, Queue, Settings, Shares
from taskyard.core.state import Turn
from taskyard.core.task import Task
from taskyard.core.yard_commands import PauseQueue
from taskyard.vocabulary import Level, Status
from taskyard.vocabulary.reasons import Reason
from tests.support.harness import HubHarness, Terms
from tests.support.suspects import two_busy_daemons


def lane_of(hub: HubHarness, task: Task) -> Lane:
    return hub.state.users[task.user_id].lanes[key_of(task)]


def held(hub: HubHarness, task: Task) -> list[Held]:
    turn, lane = hub.core.turn(hub.now), lane_of(hub, task)
    return holds_of(turn, lane, lines_of(turn, lane))


def codes(hub: HubHarness, task: Task) -> list[Reason]:
    return [each.hold.reason for each in held(hub, task)]


def test_a_yard_without_daemons_and_one_without_the_right_one() -> None:
    hub = HubHarness()
    task = hub.submit(capabilities=("browser",))
    assert codes(hub, task) == [Reason.NO_DAEMON]
    hub.daemon()
    assert codes(hub, task) == [Reason.NO_ELIGIBLE_DAEMON]


def test_all_that_holds_it_is_found_at_once_and_in_order() -> None:
    # Given a user at every limit at once, whose queue is full and paused, on a daemon that is full
    settings = Settings(
        limits=Limits(running_per_user=1, running_total=1, running_per_source={"user": 1}),
        shares=Shares(low_max=1),
        queues={"q": Queue(models=("m",))},
    )
    hub = HubHarness(settings)
    hub.daemon(slots=1)
    hub.submit(model="m", level=Level.LOW, terms=Terms(exclusive="k"))
    task = hub.submit(model="m", level=Level.LOW, terms=Terms(exclusive="k"))
    hub.ask(PauseQueue("q", "ann"))
    assert task.status is Status.QUEUED
    assert codes(hub, task) == [
        Reason.QUEUE_PAUSED,
        Reason.QUEUE_FULL,
        Reason.USER_CONCURRENCY,
        Reason.SOURCE_CONCURRENCY,
        Reason.LOW_CAP,
        Reason.EXCLUSIVE_HELD,
        Reason.HUB_FULL,
        Reason.NO_FREE_SLOT,
    ]


def test_what_holds_a_queue_everywhere_is_one_thing() -> None:
    hub = HubHarness(Settings(queues={"q": Queue(models=("m",))}))
    hub.daemon("own")
    hub.daemon("shared", shared=True, user="ann")
    hub.ask(PauseQueue("q", "ann"))
    assert codes(hub, hub.submit(model="m")) == [Reason.QUEUE_PAUSED]
    # Without a daemon it is still told, beside that.
    empty = HubHarness(Settings(queues={"q": Queue(models=("m",))}))
    empty.ask(PauseQueue("q", "ann"))
    assert codes(empty, empty.submit(model="m")) == [Reason.NO_DAEMON, Reason.QUEUE_PAUSED]


def test_what_holds_only_a_pool_that_need_not_be_opened_is_not_told() -> None:
    # Given one's own daemon, which is full, and a shared one with room
    hub = HubHarness(Settings(queues={"q": Queue(models=("m",))}))
    hub.daemon("own", slots=1)
    assert hub.submit().status is not Status.QUEUED
    hub.daemon("shared", shared=True, user="ann")

    # When its queue is paused everywhere, then that alone is in the way: the shared daemon would take it
    hub.ask(PauseQueue("q", "ann"))
    assert codes(hub, hub.submit(model="m")) == [Reason.QUEUE_PAUSED]


def test_a_way_that_is_open_is_enough() -> None:
    # Given a full queue on the own machine, a free shared one, and a user at its limit
    settings = Settings(limits=Limits(running_per_user=1), queues={"q": Queue(models=("m",))})
    hub = HubHarness(settings)
    hub.daemon("own")
    hub.submit(model="m")
    task = hub.submit(model="m")
    assert codes(hub, task) == [Reason.QUEUE_FULL, Reason.USER_CONCURRENCY]
    hub.daemon("shared", shared=True)
    assert codes(hub, task) == [Reason.USER_CONCURRENCY]


def test_the_reserve_holds_where_slots_are_free_and_is_silent_where_none_is() -> None:
    hub = HubHarness()
    hub.daemon(slots=5)
    for _ in range(4):
        hub.submit()
    task = hub.submit()
    (reserve,) = held(hub, task)
    assert (reserve.hold.reason, reserve.hold.used, reserve.hold.limit) == (Reason.CRITICAL_RESERVE, 4, 4)
    hub.submit(level=Level.CRITICAL)
    assert codes(hub, task) == [Reason.NO_FREE_SLOT, Reason.CRITICAL_RESERVE]
    # One slot has no reserve: that it is taken says it all.
    small = HubHarness()
    small.daemon(slots=1)
    small.submit()
    assert codes(small, small.submit()) == [Reason.NO_FREE_SLOT]


def test_strict_shares_are_told() -> None:
    hub = HubHarness(Settings(shares=Shares(strict=True)))
    hub.daemon(slots=5)
    hub.submit()
    (share,) = held(hub, hub.submit())
    assert (share.hold.reason, share.hold.used, share.hold.limit) == (Reason.PRIORITY_SHARE, 1, 1)


def test_full_and_offline_daemons_count_as_slots_that_are_not_there() -> None:
    hub = HubHarness()
    hub.daemon("one", slots=2)
    away = hub.daemon("two", slots=3)
    for _ in range(5):
        hub.submit()
    task = hub.submit()
    hub.disconnect(away)
    slots = next(each.hold for each in held(hub, task) if each.hold.reason is Reason.NO_FREE_SLOT)
    assert (slots.used, slots.limit) == (2, 2)


def test_a_suspect_waits_for_an_empty_daemon() -> None:
    hub = HubHarness()
    one, two, task = two_busy_daemons(hub)
    assert codes(hub, task) == [Reason.WAITS_ALONE]
    # Where nobody is there at all, that is what it waits for.
    hub.disconnect(one)
    hub.disconnect(two)
    assert Reason.NO_FREE_SLOT in codes(hub, task)


def test_a_rule_that_is_added_shows_up_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_starts(turn: Turn, lane: Lane) -> Hold | None:
        return Hold(Reason.USER_HOURS, ("hours",), 1, 1)

    monkeypatch.setattr(module, "LANE_RULES", (*LANE_RULES, nothing_starts))
    hub = HubHarness()
    assert Reason.USER_HOURS in codes(hub, hub.submit())


def test_asking_changes_nothing() -> None:
    hub = HubHarness(Settings(queues={"q": Queue(models=("m",))}))
    hub.daemon()
    hub.submit(model="m")
    task = hub.submit(model="m")
    lines = dict(hub.state.yard.lines)
    hub.state.yard.lines.clear()
    assert Reason.QUEUE_FULL in codes(hub, task)
    assert not hub.state.yard.lines
    hub.state.yard.lines.update(lines)
