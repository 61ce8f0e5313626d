"""What became of a task, from its record alone."""

from taskyard.core.story import last_failure, story_of
from taskyard.core.task import Task
from taskyard.vocabulary import Status, Verdict
from tests.support.harness import HubHarness, Terms


def told(hub: HubHarness, task: Task) -> str:
    return story_of(task, hub.now.wall)


def test_a_dead_letter_says_what_was_tried() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(max_attempts=2, retry_delay_ms=1000))
    hub.run(task)
    hub.live(s=3)
    hub.fail(task)
    hub.live(s=5)
    hub.run(task)
    hub.fail(task, code="BANG", message="it broke again.")
    assert task.status is Status.PERMANENTLY_FAILED
    assert told(hub, task) == (
        "Failed for good at 08:00:08 UTC: BANG: it broke again. "
        "Tried 2 times: on mac for 3 s (failed: BOOM) and on mac for 1 s (failed: BANG)."
    )


def test_a_completed_task_says_where_and_with_what() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.complete(task, result_status="partial")
    assert told(hub, task) == ("Completed at 08:00:00 UTC: result partial. Tried once: on mac for 1 s (success).")
    plain = hub.run(hub.submit())
    hub.complete(plain)
    assert told(hub, plain).startswith("Completed at 08:00:00 UTC")


def test_one_that_was_never_tried_says_so() -> None:
    hub = HubHarness()
    cancelled, skipped = hub.submit(), hub.submit()
    hub.cancel(cancelled)
    hub.skip(skipped, reason="not needed.")
    assert told(hub, cancelled) == "Cancelled at 08:00:00 UTC. Nothing was tried."
    assert told(hub, skipped) == "Skipped at 08:00:00 UTC: not needed. Nothing was tried."
    stale = hub.submit(deadline=hub.now.wall + 1000)
    hub.advance(s=2)
    assert told(hub, stale) == (
        "Stale at 08:00:01 UTC: its deadline passed before anything started it. Nothing was tried."
    )


def test_one_that_was_cancelled_says_why_and_so_does_what_depended_on_it() -> None:
    # Given a running task, one that waits for it, and a dead letter
    hub = HubHarness()
    hub.daemon()
    running = hub.run(hub.submit())
    heir = hub.submit(depends_on=(running.id,))
    dead = hub.run(hub.submit())
    hub.fail(dead, retryable=False)
    # When the first is cancelled and the last discarded, with words
    hub.cancel(running, reason="the wrong branch.")
    hub.confirm_cancel(running)
    hub.review(dead, Verdict.DISCARD)
    # Then all three tell
    assert told(hub, running).startswith("Cancelled at 08:00:00 UTC: the wrong branch. Tried once")
    assert told(hub, heir) == "Cancelled at 08:00:00 UTC: T-001 ended as cancelled. Nothing was tried."
    assert told(hub, dead).startswith("Cancelled at 08:00:00 UTC: so it is. Tried once")


def test_one_that_has_not_ended_says_where_it_stands() -> None:
    hub = HubHarness()
    assert told(hub, hub.submit()) == "It is queued."


def test_the_last_failure_begins_a_sentence() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    assert last_failure(task) == ""
    hub.run(task)
    assert last_failure(task) == ""
    hub.fail(task)
    assert last_failure(task) == "attempt 1 on mac ended as failed (BOOM), and "
    task.newest.error = None  # type: ignore[union-attr]
    assert last_failure(task) == "attempt 1 on mac ended as failed, and "
