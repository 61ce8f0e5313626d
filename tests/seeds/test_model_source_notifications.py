"""Queues by model source, where the document says NOTIFY: done, failed, blocked, skipped, each once and to its user."""

from collections import Counter

from taskyard.core.effects import Done
from taskyard.core.notices import PENDING
from taskyard.core.notification_commands import CreateNotification
from taskyard.core.notifications import notification_of
from taskyard.core.task import Task, Terms
from taskyard.vocabulary import DependsPolicy
from taskyard.vocabulary.notices import NOTICES, NoticeName
from tests.support.harness import HubHarness

DONE, FAILED = NoticeName.TASK_COMPLETED, NoticeName.TASK_PERMANENTLY_FAILED
BLOCKED, SKIPPED = NoticeName.TASK_BLOCKED, NoticeName.TASK_SKIPPED


def a_hub() -> HubHarness:
    """Where ann is told of what the document notifies of."""
    hub = HubHarness(users=("ann", "bob"))
    events = (DONE, FAILED, BLOCKED, SKIPPED)
    assert hub.ask(CreateNotification("n_1", "ann", "https://a.example/", events, "s", "ann")) == Done()
    hub.daemon()
    return hub


def told(hub: HubHarness) -> Counter[tuple[str, str]]:
    found = notification_of(hub.state, "ann", "n_1")
    assert found is not None
    return Counter(
        (NOTICES[delivery.event.name].value, str(delivery.event.task_id)) for delivery in found.of(PENDING).values()
    )


def waiting_on(hub: HubHarness, task: Task, policy: DependsPolicy) -> Task:
    return hub.submit(depends_on=(task.id,), terms=Terms(on_depends_fail=policy))


def test_a_task_that_is_done_is_told_of_once() -> None:
    hub = a_hub()
    task = hub.run(hub.submit())
    hub.complete(task)
    assert told(hub) == {("task_completed", task.id): 1}


def test_a_task_that_failed_after_all_its_tries_is_told_of_and_not_before() -> None:
    hub = a_hub()
    task = hub.submit(terms=Terms(max_attempts=2, retry_delay_ms=1))
    hub.fail(task)
    assert told(hub) == {}
    hub.await_offer(task)
    hub.fail(task)
    assert told(hub) == {("task_permanently_failed", task.id): 1}


def test_those_that_wait_for_it_are_told_of_as_blocked_or_skipped_by_their_policy() -> None:
    hub = a_hub()
    failing = hub.submit(terms=Terms(max_attempts=1))
    blocked, skipped = (waiting_on(hub, failing, policy) for policy in (DependsPolicy.BLOCK, DependsPolicy.SKIP))
    hub.fail(failing)
    assert told(hub) == {
        ("task_permanently_failed", failing.id): 1,
        ("task_blocked", blocked.id): 1,
        ("task_skipped", skipped.id): 1,
    }


def test_nobody_is_told_of_anothers_tasks() -> None:
    hub = a_hub()
    hub.daemon("shared", shared=True)
    hub.complete(hub.run(hub.submit(user="bob")))
    assert told(hub) == {}
