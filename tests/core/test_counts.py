"""What runs is counted from the live attempts, and given back once."""

from taskyard.core.counts import count
from taskyard.core.daemon_commands import Held
from taskyard.core.settings import Limits, Settings, Shares
from taskyard.core.yard_commands import ChangeSettings
from taskyard.vocabulary import SourceType
from tests.support.counts import counted, recounted
from tests.support.harness import HubHarness, Level, Status, a_draft, attempt_of


def test_a_running_task_counts_everywhere_it_counts_and_an_ended_one_nowhere() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon("box", user="bob", shared=True)
    critical = hub.submit(level=Level.CRITICAL, source=SourceType.WEBHOOK)
    low = hub.submit(level=Level.LOW)
    assert counted(hub.state) == {
        ("hub",): 2,
        ("user", "ann"): 2,
        ("source", "ann", SourceType.WEBHOOK): 1,
        ("source", "ann", SourceType.USER): 1,
        ("low", "ann"): 1,
        ("critical", "ann"): 1,
        ("queue", "default", ""): 2,
        ("level", Level.CRITICAL, ""): 1,
        ("level", Level.LOW, ""): 1,
    }
    hub.complete(critical)
    hub.complete(low)
    assert counted(hub.state) == recounted(hub.state) == {}


def test_what_a_daemon_that_is_away_holds_counts_for_its_user_but_fills_no_level() -> None:
    hub = HubHarness()
    mac = hub.daemon()
    hub.submit()
    hub.disconnect(mac)
    figures = counted(hub.state)
    assert figures == recounted(hub.state)
    assert (figures["user", "ann"], figures["queue", "default", "ann"]) == (1, 1)
    assert ("level", Level.NORMAL, "ann") not in figures


def test_a_draining_daemon_fills_no_level_either() -> None:
    hub = HubHarness()
    mac = hub.daemon()
    task = hub.submit()
    hub.drain(mac)
    assert ("level", Level.NORMAL, "ann") not in counted(hub.state)
    hub.complete(task)
    assert counted(hub.state) == {}


def test_what_runs_in_its_parents_place_counts_nowhere() -> None:
    hub = HubHarness()
    mac = hub.daemon()
    task = hub.submit()
    before = counted(hub.state)
    attempt_of(task).in_place = "its parent"
    count(hub.state, task, attempt_of(task), mac, 1)
    assert counted(hub.state) == before
    attempt_of(task).in_place = None


def test_a_task_that_is_raised_while_it_runs_counts_as_what_it_was_granted() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(level=Level.LOW)
    hub.submit(depends_on=(task.id,), level=Level.HIGH)
    assert (task.level, attempt_of(task).level) == (Level.HIGH, Level.LOW)
    hub.complete(task)


def test_the_counts_survive_a_restart() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon("box", user="bob", shared=True)
    hub.daemon("mac")
    hub.submit_all(*(a_draft(level=level) for level in (*Level, *Level)))
    other = hub.restarted()
    away = {name: figure for name, figure in counted(hub.state).items() if name[0] != "level"}
    assert counted(other.state) == away


def test_a_daemon_that_becomes_shared_takes_its_counts_along() -> None:
    hub = HubHarness()
    hub.daemon("mac", slots=2)
    task = hub.submit()
    hub.run(task)
    held = [(task.id, 1)]
    assert held
    hub.daemon("mac", slots=2, shared=True, inventory=())
    assert counted(hub.state) == recounted(hub.state)
    assert ("queue", "default", "ann") not in counted(hub.state)


def test_a_smaller_shared_pool_makes_less_of_ones_work_critical() -> None:
    # Given twenty shared slots, four of them kept for critical work, all in use as such
    shares = Shares(critical_reserve=0.5)
    hub = HubHarness(
        Settings(limits=Limits(running_per_user=99, running_per_source={}), shares=shares), users=("ann", "bob")
    )
    hub.daemon("a", user="bob", shared=True, slots=4)
    b = hub.daemon("b", user="bob", shared=True, slots=4)
    tasks = hub.submit_all(*(a_draft(level=Level.CRITICAL) for _ in range(3)))
    assert not hub.state.users["ann"].is_over_critical
    assert all(task.status is Status.SCHEDULED for task in tasks)

    # When half of it goes, then three are more than the two that are left to call so
    hub.disconnect(b)
    assert hub.state.users["ann"].is_over_critical
    hub.daemon("b", user="bob", shared=True, slots=4)
    assert not hub.state.users["ann"].is_over_critical


def test_critical_work_goes_with_a_daemon_that_is_shared_no_longer() -> None:
    # Given a shared daemon with a critical task
    hub = HubHarness()
    hub.daemon("box", shared=True)
    critical = hub.run(hub.submit(level=Level.CRITICAL))
    held = (Held(critical.id, 1),)

    # When it comes back as its user's own, and as a shared one again
    for shared in (False, True):
        hub.daemon("box", shared=shared, inventory=held)
        assert hub.state.users["ann"].running.shared_critical == shared

    # Then nothing of it is left when it ends
    hub.complete(critical)
    assert counted(hub.state) == {}


def test_another_reserve_changes_at_once_what_is_ordered_as_critical() -> None:
    # Given a user who runs as much critical work as the reserve of the shared pool allows
    hub = HubHarness(Settings(shares=Shares(critical_reserve=0)))
    hub.daemon("box", shared=True, slots=4)
    tasks = [hub.submit(level=Level.CRITICAL, model="m") for _ in range(2)]
    assert [attempt_of(task).level for task in tasks] == [Level.CRITICAL, Level.HIGH]

    # When half of the slots are kept for it
    hub.step(ChangeSettings(Settings(shares=Shares(critical_reserve=0.5))))

    # Then its next one is critical
    assert attempt_of(hub.submit(level=Level.CRITICAL)).level is Level.CRITICAL
