"""Which open tasks are to run on one daemon and no other."""

from taskyard.core.targets import is_called, tasks_naming
from taskyard.vocabulary import Status
from tests.support.harness import HubHarness, a_draft


def test_a_task_names_a_daemon_for_as_long_as_it_is_open() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    hub.submit()
    first, second = hub.submit(target="mac"), hub.submit(target="d-mac")
    assert sorted(tasks_naming(hub.state, daemon)) == [first.id, second.id]
    hub.complete(first)
    assert tasks_naming(hub.state, daemon) == [second.id]
    hub.complete(second)
    assert hub.state.users["ann"].targeted == {}


def test_one_of_several_that_ends_leaves_the_others_listed_also_over_a_restart() -> None:
    hub = HubHarness()
    hub.disconnect(hub.daemon())
    tasks = hub.submit_all(*(a_draft(target="mac") for _ in range(3)))
    hub.cancel(tasks[1])
    for each in (hub, hub.restarted()):
        assert list(each.state.users["ann"].targeted["mac"]) == [tasks[0].id, tasks[2].id]


def test_a_task_that_is_left_out_names_no_daemon_until_it_is_brought_back() -> None:
    hub = HubHarness()
    hub.disconnect(hub.daemon())
    task = hub.submit(target="mac")
    hub.skip(task)
    assert hub.state.users["ann"].targeted == {}
    hub.retry(task)
    assert (task.status, list(hub.state.users["ann"].targeted)) == (Status.QUEUED, ["mac"])


def test_a_daemon_is_called_by_its_owner_and_if_it_is_shared_by_all() -> None:
    hub = HubHarness(users=("ann", "bob"))
    own, shared = hub.daemon("own"), hub.daemon("all", shared=True)
    assert [is_called(own, name, "ann") for name in ("own", "d-own", "all")] == [True, True, False]
    assert not is_called(own, "own", "bob")
    assert is_called(shared, "all", "bob")
    hub.disconnect(own)
    hub.disconnect(shared)
    task = hub.submit(target="all", user="bob")
    assert (tasks_naming(hub.state, own), tasks_naming(hub.state, shared)) == ([], [task.id])
