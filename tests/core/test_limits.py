"""Limits: no start beyond one, none held back without one, and all of them changeable at any moment."""

import pytest

from taskyard.core.limits import Hold, hub_has_room, levels_with_room, reserve_is_kept, share_is_kept, shares_of
from taskyard.core.settings import Limits, Plan, Queue, Settings, Shares
from taskyard.core.task import Task
from taskyard.core.yard_commands import ChangeSettings
from taskyard.vocabulary import RANK, SourceType
from taskyard.vocabulary.reasons import Reason
from tests.support.counts import counted
from tests.support.harness import HubHarness, Level, Status, a_draft

OPEN = Limits(running_per_user=1000, running_per_source={})
"""No limit per user, so that the one in question is seen alone."""


def a_hub(*, users: tuple[str, ...] = ("ann",), shares: Shares | None = None, **settings: object) -> HubHarness:
    settings.setdefault("limits", OPEN)
    return HubHarness(Settings(shares=shares or Shares(critical_reserve=0.0), **settings), users=users)  # type: ignore[arg-type]


def started(tasks: list[Task]) -> int:
    return sum(task.status is Status.SCHEDULED for task in tasks)


def many(hub: HubHarness, count: int, **fields: object) -> list[Task]:
    user = str(fields.pop("user", "ann"))
    return hub.submit_all(*(a_draft(**fields) for _ in range(count)), user=user)  # type: ignore[arg-type]


# --- the hub, users, sources -------------------------------------------------------------------------------


def test_the_hub_runs_no_more_than_it_may_and_goes_on_when_one_ends() -> None:
    hub = a_hub(limits=Limits(running_total=3, running_per_user=1000, running_per_source={}))
    hub.daemon("mac")
    hub.daemon("box")
    tasks = many(hub, 10)
    assert started(tasks) == 3
    assert hub_has_room(hub.core.turn(hub.now)) == Hold(Reason.HUB_FULL, ("hub",), 3, 3)
    hub.complete(tasks[0])
    assert started(tasks) == 3


def test_a_full_hub_goes_on_with_whoever_waited_on_any_daemon() -> None:
    # Given a hub of one, and tasks that only this or only that daemon runs
    hub = a_hub(limits=Limits(running_total=1, running_per_user=1000, running_per_source={}), users=("ann", "bob"))
    hub.daemon("mac")
    hub.daemon("box", user="bob")
    first, other = hub.submit(), hub.submit(user="bob")
    assert (first.status, other.status) == (Status.SCHEDULED, Status.QUEUED)

    # When the one ends, then the other starts, though no slot of its own daemon was freed
    hub.complete(first)
    assert other.status is Status.SCHEDULED


def test_a_user_without_a_plan_runs_twenty() -> None:
    hub = HubHarness(Settings(limits=Limits(running_per_source={}), shares=Shares(critical_reserve=0.0)))
    hub.daemon(slots=50)
    tasks = many(hub, 30)
    assert started(tasks) == 20
    hub.complete(tasks[0])
    assert started(tasks) == 20


def test_one_users_limit_holds_up_nobody_else() -> None:
    plans = {"free": Plan(max_concurrent_agents=1)}
    hub = a_hub(users=("ann", "bob"), plans=plans)
    hub.state.users["ann"].record.plan = "free"
    hub.daemon(shared=True, slots=10)
    anns, bobs = many(hub, 5), many(hub, 5, user="bob")
    assert (started(anns), started(bobs)) == (1, 5)


def test_a_source_runs_no_more_than_it_may_and_others_go_on() -> None:
    hub = HubHarness(Settings(shares=Shares(critical_reserve=0.0)))
    hub.daemon(slots=50)
    hooks = many(hub, 8, source=SourceType.WEBHOOK)
    mine = many(hub, 8, source=SourceType.USER)
    assert (started(hooks), started(mine)) == (5, 8)
    hub.complete(hooks[0])
    assert started(hooks) == 5


def test_a_user_runs_five_low_tasks_however_idle_the_fleet() -> None:
    hub = a_hub(users=("ann", "bob"))
    hub.daemon(shared=True, slots=50)
    anns, bobs = many(hub, 8, level=Level.LOW), many(hub, 8, level=Level.LOW, user="bob")
    assert (started(anns), started(bobs)) == (5, 5)
    hub.complete(anns[0])
    assert started(anns) == 5


# --- queues ------------------------------------------------------------------------------------------------


def test_one_users_machine_never_holds_up_anothers() -> None:
    """Queue limits hold per pool: the same model on two people's machines is two things."""
    hub = a_hub(users=("ann", "bob"), queues={"ollama": Queue(models=("m",))})
    hub.daemon("mac")
    hub.daemon("box", user="bob")
    anns, bobs = many(hub, 3, model="m"), many(hub, 3, model="m", user="bob")
    assert (started(anns), started(bobs)) == (1, 1)


def test_a_full_queue_of_the_shared_pool_leaves_ones_own_machine_free() -> None:
    # Given a model that runs on ann's own machine and on a shared one
    hub = a_hub(users=("ann", "bob"), queues={"ollama": Queue(models=("m",))})
    hub.daemon("shared", user="bob", shared=True)
    tasks = many(hub, 3, model="m")
    assert started(tasks) == 1

    # When she connects a machine of her own, then one more starts there
    hub.daemon("mac")
    assert [t.attempts[-1].daemon_name for t in tasks if t.attempts] == ["shared", "mac"]
    # And a freed slot of either pool is used
    hub.complete(tasks[0])
    assert tasks[2].status is Status.SCHEDULED


# --- levels ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("slots", "free"), [(1, 0), (4, 0), (5, 1), (9, 1), (10, 2)])
def test_a_fifth_of_the_slots_rounded_down_is_kept_for_critical(slots: int, free: int) -> None:
    hub = a_hub(shares=Shares())
    hub.daemon(slots=slots)
    tasks = many(hub, slots + 3, level=Level.HIGH)
    assert started(tasks) == slots - free
    critical = many(hub, free, level=Level.CRITICAL)
    assert started(critical) == free
    hold = reserve_is_kept(hub.core.turn(hub.now), hub.state.yard.pools["ann"], RANK[Level.HIGH])
    assert hold == Hold(Reason.CRITICAL_RESERVE, ("room", "ann"), slots - free, slots - free)
    assert reserve_is_kept(hub.core.turn(hub.now), hub.state.yard.pools["ann"], RANK[Level.CRITICAL]) is None


def test_the_reserve_stays_free_of_others_also_while_critical_work_runs() -> None:
    hub = a_hub(shares=Shares())
    hub.daemon(slots=10)
    many(hub, 1, level=Level.CRITICAL)
    assert started(many(hub, 10)) == 8


def test_under_contention_each_level_gets_its_share() -> None:
    # Given a full pool whose work is all high, and others that wait
    hub = a_hub(shares=Shares())
    hub.daemon(slots=25)
    high = many(hub, 40, level=Level.HIGH)
    normal, low = many(hub, 40, level=Level.NORMAL), many(hub, 40, level=Level.LOW)
    assert (started(high), started(normal), started(low)) == (20, 0, 0)

    # When slots come free one by one
    for task in high[:20]:
        hub.complete(task)

    # Then each level has at least its share of the twenty: 8, 7 and 3
    assert shares_of(25, Shares()) == (20, 8, 7, 3)
    running = hub.state.yard.pools["ann"].running
    assert running[1] >= 8
    assert running[2] >= 7
    assert running[3] >= 3
    assert sum(running) == 20


def test_strict_shares_are_caps_of_at_least_one() -> None:
    hub = a_hub(shares=Shares(strict=True))
    hub.daemon(slots=25)
    assert started(many(hub, 40, level=Level.HIGH)) == 8
    assert started(many(hub, 40, level=Level.NORMAL)) == 7
    assert started(many(hub, 40, level=Level.LOW)) == 3
    turn, pool = hub.core.turn(hub.now), hub.state.yard.pools["ann"]
    assert share_is_kept(turn, pool, RANK[Level.LOW]) == Hold(
        Reason.PRIORITY_SHARE, ("room", "ann"), 3, 3, name=Level.LOW
    )
    assert share_is_kept(turn, pool, RANK[Level.CRITICAL]) is None
    assert shares_of(1, Shares(strict=True)) == (1, 1, 1, 1)


def test_shares_that_are_no_caps_hold_nobody_back() -> None:
    hub = a_hub(shares=Shares())
    hub.daemon(slots=5)
    many(hub, 10)
    assert share_is_kept(hub.core.turn(hub.now), hub.state.yard.pools["ann"], RANK[Level.NORMAL]) is None


def test_slots_are_offered_to_critical_then_below_share_then_the_rest() -> None:
    hub = a_hub(shares=Shares())
    hub.daemon(slots=10)
    turn, pool = hub.core.turn(hub.now), hub.state.yard.pools["ann"]
    assert levels_with_room(turn, pool) == (0, 1, 2, 3)
    pool.running = [0, 3, 0, 0]
    assert levels_with_room(turn, pool) == (0, 2, 3, 1)
    pool.running = [0, 4, 3, 1]
    assert levels_with_room(turn, pool) == (0,)


def test_a_level_that_has_room_again_is_served_on_whichever_daemon_is_free() -> None:
    """The slot that is free and the one that came free need not be the same daemon's."""
    hub = a_hub(shares=Shares())
    hub.daemon("gpu", slots=1, types=("gpu",))
    hub.daemon("plain", slots=4, types=("plain",))
    plain, gpu = many(hub, 4, type="plain"), many(hub, 1, type="gpu")
    assert (started(plain), started(gpu)) == (4, 0)
    hub.complete(plain[0])
    assert started(gpu) == 1


def test_nobody_owns_the_shared_pool_by_calling_everything_critical() -> None:
    # Given ten shared slots, of which two are kept for critical work
    hub = a_hub(users=("ann", "bob"), shares=Shares())
    hub.daemon(shared=True, slots=10)
    anns = many(hub, 20, level=Level.CRITICAL)

    # Then what one user runs as critical is the reserve's worth, the rest counts as high
    assert started(anns) == 10
    assert counted(hub.state)["critical", "ann"] == 2
    assert hub.state.yard.pools[""].running == [2, 8, 0, 0]

    # And another's critical task is served before it when a slot comes free
    bobs = many(hub, 1, level=Level.CRITICAL, user="bob")
    hub.complete(anns[5])
    assert started(bobs) == 1


def test_ones_own_machines_are_ones_own() -> None:
    hub = a_hub(shares=Shares())
    hub.daemon(slots=10)
    many(hub, 20, level=Level.CRITICAL)
    assert hub.state.yard.pools["ann"].running == [10, 0, 0, 0]


# --- changes -----------------------------------------------------------------------------------------------


def test_a_limit_that_is_raised_or_lowered_holds_from_the_next_decision_on() -> None:
    hub = a_hub(limits=Limits(running_per_user=2, running_per_source={}))
    hub.daemon(slots=20)
    tasks = many(hub, 12)
    assert started(tasks) == 2

    def change(limit: int) -> None:
        limits = Limits(running_per_user=limit, running_per_source={})
        hub.step(ChangeSettings(Settings(limits=limits, shares=Shares(critical_reserve=0.0))))

    change(5)
    assert started(tasks) == 5
    # Lowered, nothing is taken away, and nothing starts until there are fewer
    change(3)
    for task in tasks[:2]:
        hub.complete(task)
    assert started(tasks) == 3
    hub.complete(tasks[2])
    assert started(tasks) == 3


def test_a_daemon_that_goes_takes_its_slots_with_it() -> None:
    """What an offline daemon holds does not fill the pool of those who are there."""
    hub = a_hub(shares=Shares())
    box = hub.daemon("box", slots=5)
    many(hub, 4)
    hub.disconnect(box)
    hub.daemon("mac", slots=5)
    assert started(many(hub, 5)) == 4
