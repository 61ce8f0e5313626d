"""Bot0's queue manager, where it notifies a user: by the names and at the moments it gives."""

from collections import Counter

from taskyard.core.effects import Done
from taskyard.core.notices import PENDING
from taskyard.core.notification_commands import CreateNotification
from taskyard.core.notifications import notification_of
from taskyard.core.settings import Depth, Limits, Settings
from taskyard.core.task import Terms
from taskyard.core.yard_commands import OpenBreaker
from taskyard.vocabulary import Level
from taskyard.vocabulary.notices import NOTICES, NoticeName
from tests.support.harness import HubHarness


def a_hub(settings: Settings | None = None) -> HubHarness:
    """Where ann is told of everything."""
    hub = HubHarness(settings, users=("ann", "bob"))
    assert hub.ask(CreateNotification("n_1", "ann", "https://a.example/", tuple(NoticeName), "s", "ann")) == Done()
    return hub


def told(hub: HubHarness) -> list[str]:
    found = notification_of(hub.state, "ann", "n_1")
    assert found is not None
    return [NOTICES[delivery.event.name] for delivery in found.of(PENDING).values()]


def test_task_queued_is_told_of_a_task_that_waits_for_a_daemon_to_come_online() -> None:
    hub = a_hub()
    hub.disconnect(hub.daemon("mac"))
    hub.submit(target="mac")
    assert "task_queued" in told(hub)


def test_a_task_that_waits_is_told_of_once_for_each_reason_however_often_it_is_looked_at() -> None:
    hub = a_hub()
    hub.disconnect(hub.daemon("mac"))
    hub.submit(target="mac")
    hub.submit(level=Level.CRITICAL, capabilities=("browser",))
    for _ in range(5):
        hub.disconnect(hub.daemon("other"))
        hub.advance(s=20)
    events = [delivery.event for delivery in hub.state.deliveries.values() if delivery.event.task_id is not None]
    times = Counter((event.task_id, event.name, (event.data or {}).get("reason")) for event in events)
    assert set(times.values()) == {1}


def test_task_blocked_is_told_at_once_of_an_urgent_task_that_no_daemon_can_run() -> None:
    hub = a_hub()
    hub.submit(level=Level.CRITICAL, capabilities=("browser",))
    assert "task_blocked" in told(hub)


def test_a_task_that_failed_for_good_is_told_of_and_one_that_is_tried_again_is_not_called_so() -> None:
    hub = a_hub()
    hub.daemon()
    hub.fail(hub.submit(terms=Terms(max_attempts=2)))
    assert "task_permanently_failed" not in told(hub)
    hub.fail(hub.submit(terms=Terms(max_attempts=1)))
    assert "task_permanently_failed" in told(hub)


def test_backpressure_and_an_open_breaker_are_told_to_the_user_whose_they_are() -> None:
    hub = a_hub(Settings(limits=Limits(user_queue_depth=Depth(warning=2, critical=10))))
    for _ in range(2):
        hub.submit()
        hub.submit(user="bob")
    hub.ask(OpenBreaker("ann", "general", "ann"))
    hub.ask(OpenBreaker("bob", "general", "bob"))
    assert [name for name in told(hub) if not name.startswith("task_")] == ["backpressure", "breaker_open"]
