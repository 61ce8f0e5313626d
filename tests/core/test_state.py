"""What is held between two commands, and when it is let go."""

from taskyard.core.commands import FailTask, RetryTask
from taskyard.core.effects import Done
from taskyard.core.state import INTERNED_MAX
from taskyard.core.task import Failure, Kind, Task, Terms
from tests.support.harness import HubHarness, Status


def test_an_ended_task_is_kept_until_its_commit_can_be_read_by_everybody() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(key="k")
    hub.complete(task)
    seq = hub.batches[-1].seq
    hub.core.forget(through_seq=seq - 1)
    assert (task.id in hub.state.tasks, hub.state.keys) == (True, {("ann", "k"): task.id})
    hub.core.forget(through_seq=seq)
    assert (task.id in hub.state.tasks, hub.state.keys) == (False, {})


def test_a_task_that_ends_again_is_not_forgotten_with_its_first_end() -> None:
    # Given a dead letter that was retried and failed again before its first end was on disk
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(max_attempts=1))
    commands = [
        FailTask("d-mac", task.id, 1, Failure("X", "y"), 1),
        RetryTask("ann", task.id),
        FailTask("d-mac", task.id, 2, Failure("X", "y"), 1),
    ]
    commits = []
    for command in commands:
        turn = hub.core.turn(hub.now)
        hub.core.decide(turn, command)
        hub.core.dispatch(turn)
        commits.append(hub.core.cut(batch_id=str(len(commits)), now=hub.now).seq)
    assert task.status is Status.PERMANENTLY_FAILED
    # When only the first end, and then the retry, is there to be read
    for seq in commits[:2]:
        hub.core.forget(through_seq=seq)
        # Then memory still has the truth
        assert task.id in hub.state.tasks
    hub.core.forget(through_seq=commits[2])
    assert task.id not in hub.state.tasks


def test_a_task_that_came_back_is_not_forgotten() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(max_attempts=1))
    hub.fail(task)
    assert hub.retry(task) == Done(task.id)
    hub.core.forget(through_seq=10**6)
    assert task.id in hub.state.tasks


def test_a_task_that_is_spoken_of_again_leaves_with_its_newest_commit() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(max_attempts=1))
    hub.fail(task)
    first = hub.batches[-1].seq
    hub.cancel(task)
    hub.core.forget(through_seq=first)
    assert hub.state.tasks[task.id].status is Status.CANCELLED
    hub.core.forget(through_seq=10**6)
    hub.core.forget(through_seq=10**6)
    assert task.id not in hub.state.tasks


def test_a_key_that_another_task_holds_is_not_forgotten_with_the_first() -> None:
    hub = HubHarness()
    hub.daemon()
    first = hub.submit(key="k")
    hub.complete(first)
    hub.state.keys["ann", "k"] = "another"
    hub.core.forget(through_seq=10**6)
    assert hub.state.keys == {("ann", "k"): "another"}
    hub.state.keys.clear()


def test_alike_tasks_share_their_kind_and_terms() -> None:
    hub = HubHarness()
    one, two = hub.submit(type="x"), hub.submit(type="x")
    assert one.kind is two.kind
    assert one.terms is two.terms


def test_what_is_remembered_for_sharing_has_a_bound_and_who_waits_is_found_past_it() -> None:
    # Given one task that waits, and then more exclusive keys than are remembered
    hub = HubHarness()
    first = hub.submit(type="x")
    for n in range(INTERNED_MAX + 1):
        hub.state.intern(Task(id="t", user_id="u", number=1, kind=Kind(), terms=Terms(exclusive=str(n)), created_at=0))
    assert len(hub.state._terms) <= INTERNED_MAX
    # Then an alike one, which shares nothing with it, still waits in the same lane
    second = hub.submit(type="x")
    assert first.kind is not second.kind
    assert [lane.size for lane in hub.state.users["ann"].lanes.values()] == [2]
    hub.daemon()
    assert (first.status, second.status) == (Status.SCHEDULED, Status.SCHEDULED)


def test_a_tasks_trail_leads_to_the_commits_of_its_events() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.complete(task)
    told = [b.seq for b in hub.batches if any(e.task_id == task.id for e in b.events)]
    assert list(task.trail) == told
    # Two events of one commit are one step of the trail.
    assert len(set(told)) == len(task.trail)
