"""A hub whose database has a synchronous standby: what it acknowledges while that is away, and where it goes when the
primary dies."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from taskyard.sdk.errors import Unavailable
from tests.support.live import STUBBORN, LiveHub, live_yard
from tests.support.replication import Pair, a_pair

pytestmark = pytest.mark.soak


@pytest.fixture
def pair() -> Iterator[Pair]:
    with a_pair() as pair:
        yield pair


@pytest.fixture
def database(pair: Pair) -> str:
    return pair.new_database()


@pytest.fixture
def hub(tmp_path: Path, pair: Pair, database: str) -> Iterator[LiveHub]:
    with live_yard(tmp_path) as yard:
        yield yard.hub(database=pair.url(database))
        # It leaves at once then.
        pair.resume()


def tasks_of(pair: Pair, database: str) -> int:
    [(found,)] = pair.primary.administer("SELECT count(*) FROM taskyard.task", database=database)
    return int(str(found))


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_submission_is_not_acknowledged_before_the_standby_has_it_and_its_key_makes_one_task(
    pair: Pair, database: str, hub: LiveHub, cancelled: bool
) -> None:
    # Given a submission while the standby takes nothing, whose wait an operator may cancel again and again
    pair.pause()
    with hub.client(timeout_s=60.0) as client:
        for _ in range(2):
            with pytest.raises(Unavailable):
                client.submit("an order", type="noop", idempotency_key="order-1")
            if cancelled:
                pair.cancel_waits()

    # When the standby is back and the submission is repeated
    pair.resume()
    with hub.client(retry=STUBBORN) as client:
        task = client.submit("an order", type="noop", idempotency_key="order-1")
        again = client.submit("an order", type="noop", idempotency_key="order-1")

    # Then it is one task, which both servers have, and no session is left that waits
    assert again.id == task.id
    assert tasks_of(pair, database) == 1
    pair.until_none_waits()
    pair.until_caught_up()
    pair.primary.stop()
    pair.promote()
    assert tasks_of(pair, database) == 1


def test_a_hub_follows_to_the_server_that_was_promoted_with_all_that_it_acknowledged(
    pair: Pair, database: str, hub: LiveHub
) -> None:
    with hub.client(retry=STUBBORN) as client:
        before = [client.submit("before", type="noop", idempotency_key=f"before-{n}").id for n in range(20)]
        pair.primary.stop()
        pair.promote()
        pair.replicate(synchronously=False)
        after = client.submit("after", type="noop", idempotency_key="after")
        found = {task.id for task in client.tasks(limit=100)}
    assert {*before, after.id} == found
