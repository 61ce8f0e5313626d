"""Parents and children: while a running task waits for its sub-tasks, one of them at a time may run in its place."""

from taskyard.core import preemption
from taskyard.core.changes import UserRecord
from taskyard.core.commands import BeginWait, EndWait
from taskyard.core.daemon_commands import Held
from taskyard.core.effects import Execute
from taskyard.core.settings import Limits, Queue, Settings
from taskyard.core.state import User
from taskyard.core.task import Task, Terms, Trouble
from taskyard.core.yard_commands import ChangeSettings, OpenBreaker, PauseQueue, ResetBreaker, ResumeQueue
from taskyard.vocabulary import SourceType
from tests.support.breakers import CLOSED, HALF_OPEN, half_opened, now_is, probe
from tests.support.counts import counted
from tests.support.harness import AttemptStatus, HubHarness, Level, Status, a_draft, attempt_of
from tests.support.suspects import two_busy_daemons

LOW, HIGH, CRITICAL = Level.LOW, Level.HIGH, Level.CRITICAL
ONE_AT_A_TIME = Settings(limits=Limits(running_per_user=1))
WITH_A_QUEUE = Settings(limits=Limits(running_per_user=1), queues={"q": Queue(models=("m",))})


def a_plan_of_one(*, slots: int = 1, settings: Settings = ONE_AT_A_TIME, **fields: object) -> tuple[HubHarness, Task]:
    """A user who may run one task, and runs one."""
    hub = HubHarness(settings)
    hub.daemon(slots=slots)
    return hub, hub.run(hub.submit(**fields))


def child_of(hub: HubHarness, parent: Task, **fields: object) -> Task:
    return hub.submit(parent_id=parent.id, source=SourceType.AGENT, **fields)


def wait(hub: HubHarness, parent: Task, name: str = "w") -> None:
    hub.step(BeginWait(parent.id, attempt_of(parent).number, name))


def stop_waiting(hub: HubHarness, parent: Task, name: str = "w") -> None:
    hub.step(EndWait(parent.id, name))


# The place.


def test_without_it_a_plan_of_one_would_wait_for_itself_for_ever() -> None:
    hub, parent = a_plan_of_one()
    child = child_of(hub, parent)
    hub.live(s=60)
    assert child.status is Status.QUEUED
    wait(hub, parent)
    assert (child.status, attempt_of(child).in_place) == (Status.SCHEDULED, parent.id)
    hub.run(child)
    hub.complete(child)
    stop_waiting(hub, parent)
    hub.complete(parent)
    assert (child.status, parent.status) == (Status.COMPLETED, Status.COMPLETED)


def test_it_takes_no_room_of_its_own_and_its_daemon_runs_it_beyond_its_slots() -> None:
    hub, parent = a_plan_of_one()
    before = counted(hub.state)
    child = child_of(hub, parent)
    wait(hub, parent)
    mac = hub.state.daemons["d-mac"]
    assert list(mac.holding) == [parent.id, child.id]
    assert (mac.occupied, mac.record.slots) == (1, 1)
    assert counted(hub.state) == before


def test_one_at_a_time_by_level_number_and_age() -> None:
    hub, parent = a_plan_of_one(level=LOW)
    drafts = {"old": 5, "young": 5, "better": 7, "low": 2, "high": 8}
    children = hub.submit_all(*(a_draft(id=name, value=value, parent_id=parent.id) for name, value in drafts.items()))
    wait(hub, parent)
    order = []
    while running := [child for child in children if child.status is Status.SCHEDULED]:
        assert len(running) == 1
        order.append(running[0].id)
        hub.complete(running[0])
    assert order == ["high", "better", "old", "young", "low"]


def test_a_child_that_comes_while_its_parent_waits_starts_at_once() -> None:
    hub, parent = a_plan_of_one()
    wait(hub, parent)
    assert child_of(hub, parent).status is Status.SCHEDULED


def test_a_child_with_room_of_its_own_takes_that() -> None:
    hub, parent = a_plan_of_one(slots=5, settings=Settings())
    wait(hub, parent)
    child = child_of(hub, parent)
    assert (child.status, attempt_of(child).in_place) == (Status.SCHEDULED, None)


def test_only_sub_tasks_of_the_one_that_waits() -> None:
    hub, parent = a_plan_of_one()
    other = hub.submit(level=CRITICAL)
    wait(hub, parent)
    assert other.status is Status.QUEUED


def test_a_child_may_wait_for_its_own_child() -> None:
    hub, parent = a_plan_of_one()
    child = child_of(hub, parent)
    wait(hub, parent)
    hub.run(child)
    grandchild = child_of(hub, child)
    wait(hub, child)
    hub.run(grandchild)
    assert hub.state.standing == {parent.id: child.id, child.id: grandchild.id}
    assert hub.state.daemons["d-mac"].occupied == 1
    hub.complete(grandchild)
    hub.complete(child)
    assert child_of(hub, parent).status is Status.SCHEDULED


def test_when_the_parent_waits_no_longer_the_child_goes_on_but_none_follows() -> None:
    hub, parent = a_plan_of_one()
    first, second = child_of(hub, parent), child_of(hub, parent)
    wait(hub, parent)
    stop_waiting(hub, parent)
    hub.run(first)
    assert attempt_of(first).in_place == parent.id
    hub.complete(first)
    assert second.status is Status.QUEUED
    wait(hub, parent)
    assert second.status is Status.SCHEDULED


def test_it_waits_until_the_last_of_its_waits_is_over() -> None:
    hub, parent = a_plan_of_one()
    wait(hub, parent, "a")
    wait(hub, parent, "b")
    stop_waiting(hub, parent, "a")
    first, second = child_of(hub, parent), child_of(hub, parent)
    assert first.status is Status.SCHEDULED
    stop_waiting(hub, parent, "b")
    hub.complete(first)
    assert second.status is Status.QUEUED
    stop_waiting(hub, parent, "never begun")


def test_an_older_attempt_does_not_wait() -> None:
    hub, parent = a_plan_of_one()
    child = child_of(hub, parent)
    hub.step(BeginWait(parent.id, 2, "w"))
    hub.step(BeginWait("nobody", 1, "w"))
    assert (child.status, hub.state.waits) == (Status.QUEUED, {})


def test_a_wait_ends_with_its_attempt() -> None:
    hub, parent = a_plan_of_one()
    wait(hub, parent)
    hub.fail(parent)
    assert hub.state.waits == {}


def test_a_parent_that_is_being_cancelled_starts_nothing_more() -> None:
    hub, parent = a_plan_of_one()
    wait(hub, parent)
    hub.cancel(parent)
    assert child_of(hub, parent).status is Status.QUEUED


def test_a_parent_that_has_to_make_room_starts_nothing_more() -> None:
    hub, parent = a_plan_of_one(level=LOW)
    wait(hub, parent)
    hub.live(s=10)
    hub.submit(level=CRITICAL)
    assert attempt_of(parent).yields_to is not None
    assert child_of(hub, parent).status is Status.QUEUED


def test_a_parent_in_whose_place_a_child_runs_is_not_preempted_and_nor_is_the_child() -> None:
    hub, parent = a_plan_of_one(level=LOW)
    child = child_of(hub, parent, level=LOW)
    wait(hub, parent)
    hub.run(child)
    hub.live(s=20)
    urgent = hub.submit(level=CRITICAL)
    assert preemption.victim_of(hub.state, urgent) is None
    hub.complete(child)
    hub.complete(parent)
    assert urgent.status is Status.SCHEDULED


# What holds it all the same.


def test_every_limit_on_room_is_passed() -> None:
    limits = Limits(running_per_user=1, running_total=1, running_per_source={SourceType.AGENT: 0})
    settings = Settings(limits=limits, queues={"ollama": Queue(models=("m",), max_concurrent=0)})
    hub, parent = a_plan_of_one(settings=settings)
    child = child_of(hub, parent, model="m", level=LOW)
    wait(hub, parent)
    assert child.status is Status.SCHEDULED


def test_a_breaker_holds_it_until_it_lets_it_through() -> None:
    hub, parent = a_plan_of_one()
    hub.step(OpenBreaker("ann", "odd", "ann"))
    child = child_of(hub, parent, type="odd")
    wait(hub, parent)
    assert child.status is Status.QUEUED
    hub.step(ResetBreaker("ann", "odd", "ann"))
    assert child.status is Status.SCHEDULED


def test_a_breaker_that_opens_by_itself_again_lets_it_through_by_itself() -> None:
    hub, parent = a_plan_of_one()
    hub.step(OpenBreaker("ann", "odd", "ann"))
    child = child_of(hub, parent, type="odd")
    wait(hub, parent)
    hub.live(s=301)
    assert child.status is Status.SCHEDULED


def test_a_probe_is_not_what_holds_its_own_sub_tasks_while_it_waits_for_them() -> None:
    # Given a half-open breaker whose probe makes sub-tasks of its own type, and another task that waits to be tried
    hub = half_opened()
    parent = hub.run(hub.submit())
    first, second = child_of(hub, parent), child_of(hub, parent)
    other = hub.submit()
    assert probe(hub) == parent.id

    # When it waits for them, then one at a time runs in its place, and so does what that waits for itself
    wait(hub, parent)
    assert (first.status, attempt_of(first).in_place) == (Status.SCHEDULED, parent.id)
    part = child_of(hub, hub.run(first))
    wait(hub, first, "w2")
    assert (part.status, attempt_of(part).in_place) == (Status.SCHEDULED, first.id)
    assert (second.status, other.status) == (Status.QUEUED, Status.QUEUED)

    # And neither of them is the probe
    hub.fail(part, code="INVALID_INPUT")
    hub.complete(first)
    assert second.status is Status.SCHEDULED
    hub.complete(second)
    assert (now_is(hub), probe(hub), other.status) == (HALF_OPEN, parent.id, Status.QUEUED)
    hub.complete(parent)
    assert (now_is(hub), other.status) == (CLOSED, Status.SCHEDULED)


def test_another_probe_than_its_parent_holds_it() -> None:
    hub = half_opened()
    parent = hub.run(hub.submit(type="other"))
    tried = hub.submit()
    child = child_of(hub, parent)
    wait(hub, parent)
    assert (probe(hub), child.status) == (tried.id, Status.QUEUED)
    hub.complete(tried)
    assert child.status is Status.SCHEDULED


def test_a_paused_queue_holds_it_and_others_of_its_siblings_go_first() -> None:
    hub, parent = a_plan_of_one(settings=WITH_A_QUEUE)
    hub.step(PauseQueue("q", "ann"))
    held = [child_of(hub, parent, model="m", level=HIGH) for _ in range(2)]
    other = child_of(hub, parent)
    wait(hub, parent)
    assert ([task.status for task in held], other.status) == ([Status.QUEUED] * 2, Status.SCHEDULED)
    hub.complete(other)
    hub.step(ResumeQueue("q", "ann"))
    assert [task.status for task in held] == [Status.SCHEDULED, Status.QUEUED]


def test_an_exclusive_key_holds_it() -> None:
    hub, parent = a_plan_of_one(settings=Settings(limits=Limits(running_per_user=2)), slots=2)
    holder = hub.run(hub.submit(terms=Terms(exclusive="repo")))
    child = child_of(hub, parent, terms=Terms(exclusive="repo"))
    wait(hub, parent)
    assert child.status is Status.QUEUED
    hub.complete(holder)
    assert child.status is Status.SCHEDULED


# Where.


def test_elsewhere_if_its_parents_daemon_cannot_serve_it_but_only_in_a_free_slot() -> None:
    hub = HubHarness(ONE_AT_A_TIME, users=("ann", "bob"))
    hub.daemon(slots=1, types=("general",))
    gpu = hub.daemon("gpu", user="bob", slots=1, types=("train",), shared=True)
    busy = hub.run(hub.submit(type="train", user="bob"))
    parent = hub.run(hub.submit())
    child = child_of(hub, parent, type="train")
    wait(hub, parent)
    assert child.status is Status.QUEUED
    hub.complete(busy)
    assert child.id in gpu.holding
    assert (attempt_of(child).in_place, attempt_of(child).beyond, gpu.occupied) == (parent.id, False, 1)


def test_a_daemon_that_comes_is_looked_at() -> None:
    hub = HubHarness(ONE_AT_A_TIME)
    hub.daemon(slots=1, types=("general",))
    parent = hub.run(hub.submit())
    child = child_of(hub, parent, type="train")
    wait(hub, parent)
    gpu = hub.daemon("gpu", slots=1, types=("train",))
    assert child.id in gpu.holding


def test_not_where_memory_is_short_until_there_is_enough() -> None:
    hub = HubHarness(ONE_AT_A_TIME)
    mac = hub.daemon(slots=1, memory_mb=1000)
    parent = hub.run(hub.submit())
    child = child_of(hub, parent, memory_mb=2048)
    wait(hub, parent)
    assert child.status is Status.QUEUED
    hub.beat(mac, parent, memory_free_mb=4096)
    assert child.status is Status.SCHEDULED


def test_not_on_a_daemon_that_is_leaving_or_away() -> None:
    hub, parent = a_plan_of_one()
    mac = hub.state.daemons["d-mac"]
    child = child_of(hub, parent)
    hub.drain(mac)
    wait(hub, parent)
    assert child.status is Status.QUEUED


def test_a_suspect_runs_alone_and_its_own_child_beside_it() -> None:
    hub, parent = a_plan_of_one()
    mac = hub.state.daemons["d-mac"]
    mac.alone = parent.id
    child = child_of(hub, parent)
    wait(hub, parent)
    assert child.status is Status.SCHEDULED
    hub.complete(child)
    suspect = a_draft(parent_id=parent.id)
    stop_waiting(hub, parent)
    second = hub.submit(suspect)
    hub.state.yard.leave(hub.state.users["ann"], second)
    second.trouble = Trouble(suspect=True)
    hub.state.yard.enter(hub.state.users["ann"], second)
    wait(hub, parent)
    assert second.status is Status.QUEUED


def test_a_daemon_that_is_kept_for_a_suspect_runs_it_since_it_is_not_empty_before() -> None:
    # Given a daemon that is emptied for a suspect while its last task waits for a sub-task
    hub = HubHarness()
    one, two, suspect = two_busy_daemons(hub)
    hub.live(s=61)
    kept, other = (one, two) if one.alone else (two, one)
    *done, parent = list(kept.holding.values())
    for task in done:
        hub.complete(task)
    child = child_of(hub, hub.run(parent), target=kept.id)
    assert (kept.alone, list(kept.holding), child.status) == (suspect.id, [parent.id], Status.QUEUED)

    # When it says that it waits, then the sub-task runs beside it
    wait(hub, parent)
    assert (child.status, attempt_of(child).daemon_id) == (Status.SCHEDULED, kept.id)

    # And when both have ended, the suspect has the daemon for itself
    hub.complete(child)
    hub.complete(parent)
    assert (suspect.status, attempt_of(suspect).daemon_id) == (Status.SCHEDULED, kept.id)
    assert other.alone is None


def test_a_settings_change_looks_again() -> None:
    hub, parent = a_plan_of_one(settings=WITH_A_QUEUE)
    hub.step(PauseQueue("q", "ann"))
    child = child_of(hub, parent, model="m")
    wait(hub, parent)
    hub.state.queues.clear()
    hub.step(ChangeSettings(hub.state.settings))
    assert child.status is Status.SCHEDULED


# Ends.


def test_when_the_parent_ends_first_the_child_takes_over_its_room() -> None:
    hub, parent = a_plan_of_one()
    child, other = child_of(hub, parent), hub.submit()
    wait(hub, parent)
    hub.run(child)
    hub.complete(parent)
    mac = hub.state.daemons["d-mac"]
    assert (attempt_of(child).in_place, mac.occupied, mac.beyond) == (None, 1, 0)
    assert other.status is Status.QUEUED, "the limit holds as before"
    hub.complete(child)
    assert other.status is Status.SCHEDULED


def test_when_the_child_ends_first_its_own_child_takes_over_its_place() -> None:
    hub, parent = a_plan_of_one()
    child, other = child_of(hub, parent), child_of(hub, parent)
    wait(hub, parent)
    hub.run(child)
    grandchild = child_of(hub, child)
    wait(hub, child)
    hub.run(grandchild)
    hub.complete(child)
    assert hub.state.standing == {parent.id: grandchild.id}
    assert other.status is Status.QUEUED
    hub.complete(grandchild)
    assert other.status is Status.SCHEDULED


def test_a_child_that_its_daemon_rejects_lets_another_go() -> None:
    hub, parent = a_plan_of_one()
    first, second = child_of(hub, parent), child_of(hub, parent)
    wait(hub, parent)
    hub.reject(first, reason="slots full")
    assert (first.status, second.status) == (Status.QUEUED, Status.SCHEDULED)
    hub.complete(second)
    hub.await_offer(first)
    assert attempt_of(first).in_place == parent.id


def test_a_child_that_is_taken_back_has_its_place_again_if_that_is_free() -> None:
    hub, parent = a_plan_of_one()
    child = child_of(hub, parent)
    wait(hub, parent)
    hub.run(child)
    mac = hub.state.daemons["d-mac"]
    stop_waiting(hub, parent)
    hub.beat(mac, parent)
    assert (attempt_of(child).status, child.status) == (AttemptStatus.LOST, Status.QUEUED)
    hub.daemon(slots=1, inventory=[Held(parent.id, 1), Held(child.id, 1)])
    assert (child.status, attempt_of(child).in_place, attempt_of(child).beyond) == (Status.RUNNING, parent.id, True)


def test_a_child_that_is_taken_back_has_room_of_its_own_if_its_parent_is_gone() -> None:
    hub, parent = a_plan_of_one(slots=2)
    child = child_of(hub, parent)
    wait(hub, parent)
    hub.run(child)
    mac = hub.state.daemons["d-mac"]
    stop_waiting(hub, parent)
    hub.cancel(parent)
    hub.beat(mac, parent)
    assert child.status is Status.QUEUED
    hub.submit(level=CRITICAL)
    hub.confirm_cancel(parent)
    hub.daemon(slots=2, inventory=[Held(child.id, 1)])
    assert (child.status, attempt_of(child).in_place) == (Status.RUNNING, None)
    hub.complete(child)


def test_it_survives_a_restart_but_the_waiting_does_not() -> None:
    hub, parent = a_plan_of_one()
    first, second = child_of(hub, parent), child_of(hub, parent)
    wait(hub, parent)
    hub.run(first)
    before = counted(hub.state)
    hub = hub.restarted()
    parent, first, second = (hub.state.tasks[task.id] for task in (parent, first, second))
    hub.daemon(slots=1, inventory=[Held(parent.id, 1), Held(first.id, 1)])
    assert (counted(hub.state), hub.state.waits) == (before, {})
    assert (hub.state.standing, hub.state.daemons["d-mac"].occupied) == ({parent.id: first.id}, 1)
    hub.complete(first)
    assert second.status is Status.QUEUED
    wait(hub, parent)
    assert second.status is Status.SCHEDULED


def test_children_of_two_parents_each_run_in_their_own_place() -> None:
    hub = HubHarness(ONE_AT_A_TIME)
    hub.state.users["bob"] = User(UserRecord("bob", "bob", 0), 0)
    hub.daemon(slots=2, shared=True)
    ann, bob = hub.run(hub.submit(user="ann")), hub.run(hub.submit(user="bob"))
    children = [hub.submit(user=who, parent_id=task.id) for who, task in (("ann", ann), ("bob", bob))]
    wait(hub, ann)
    wait(hub, bob)
    assert [child.status for child in children] == [Status.SCHEDULED] * 2
    assert len(hub.of(hub.effects, Execute)) == 4
