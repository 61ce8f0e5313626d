"""Where chains of blocked tasks begin, and what is advised to free them."""

from taskyard.vocabulary import Status
from tests.core.test_why import only, told
from tests.support.harness import HubHarness, Terms


def test_in_a_chain_the_failed_beginning_is_named_with_what_retrying_it_would_free() -> None:
    # Given a chain of which the first failed, and one more that depends on a second failure
    hub = HubHarness()
    hub.daemon()
    first, other = (hub.submit(terms=Terms(max_attempts=1)) for _ in range(2))
    second = hub.submit(depends_on=(first.id,))
    third = hub.submit(depends_on=(second.id,))
    hub.submit(depends_on=(second.id, other.id))
    for task in (first, other):
        hub.fail(hub.run(task))

    # Then the last one names the first, and what is blocked by something else too is not counted
    assert told(hub, third).unnamed == (first.id,)
    (cause,) = told(hub, third, {first.id: "T-001"}).reasons
    assert cause.message == "It depends on T-001 (permanently_failed), and will not run without."
    assert cause.would_help == (
        "retrying T-001 (permanently_failed), which frees 2 tasks; or skipping or cancelling this task"
    )
    hub.retry(first)
    assert (second.status, third.status) == (Status.WAITING, Status.WAITING)


def test_a_beginning_that_two_chains_share_is_named_once() -> None:
    hub = HubHarness()
    hub.daemon()
    first = hub.submit(terms=Terms(max_attempts=1))
    ways = [hub.submit(depends_on=(first.id,)).id for _ in range(2)]
    last = hub.submit(depends_on=tuple(ways))
    hub.fail(hub.run(first))
    assert only(hub, last).message.count("permanently_failed") == 1
    assert "which frees 3 tasks" in str(only(hub, last).would_help)


def test_no_retry_is_advised_of_what_cannot_be_retried() -> None:
    hub = HubHarness()
    first = hub.submit()
    task = hub.submit(depends_on=(first.id,))
    hub.skip(first)
    (dependency,) = task.depends or ()
    dependency.outcome = Status.STALE
    assert only(hub, task).would_help == "skipping or cancelling this task"
