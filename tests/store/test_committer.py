"""The order that matters: nothing leaves before it is on disk."""

import pytest

from taskyard.core.changes import Batch, DaemonRecord
from taskyard.core.effects import AcknowledgeBeat, Effect
from taskyard.store.committer import Committer, Release
from taskyard.store.port import Identity
from taskyard.vocabulary import Status
from tests.support.records import NOW, a_batch, a_task

EFFECTS: list[Effect] = [AcknowledgeBeat(session=1)]


def after(seq: int) -> Identity:
    return Identity(cluster_id="c", epoch=1, seq=seq)


def test_effects_wait_for_their_commit() -> None:
    committer = Committer(durable_seq=4)
    batch = a_batch(after(4), created=[a_task()])
    assert committer.begin(batch, EFFECTS) is batch
    assert (committer.idle, committer.durable_seq) == (False, 4)
    assert committer.committed() == Release(seq=5, batch=batch, effects=EFFECTS, batch_id=batch.batch_id)
    assert (committer.idle, committer.durable_seq, committer.durable_id) == (True, 5, batch.batch_id)


def test_effects_without_changes_leave_at_once_and_use_up_no_number() -> None:
    committer = Committer(durable_seq=4, durable_id="b1-4")
    empty = a_batch(after(4))
    # What leaves tells the position of the commit before, whose batch is another one
    assert committer.begin(empty, EFFECTS) == Release(seq=4, batch=empty, effects=EFFECTS, batch_id="b1-4")
    assert committer.idle
    assert isinstance(committer.begin(a_batch(after(4), created=[a_task()]), []), Batch)


def test_a_failed_commit_drops_its_effects() -> None:
    committer = Committer(durable_seq=4)
    committer.begin(a_batch(after(4), created=[a_task()]), EFFECTS)
    assert committer.failed() == EFFECTS
    assert committer.idle
    assert committer.durable_seq == 4


def test_there_are_never_two_batches_in_flight() -> None:
    committer = Committer(durable_seq=4)
    committer.begin(a_batch(after(4), created=[a_task()]), [])
    with pytest.raises(AssertionError):
        committer.begin(a_batch(after(5), created=[a_task()]), [])


def test_a_batch_follows_the_last_commit() -> None:
    with pytest.raises(AssertionError):
        Committer(durable_seq=4).begin(a_batch(after(7), created=[a_task()]), [])


def test_nothing_is_released_that_did_not_begin() -> None:
    with pytest.raises(AssertionError):
        Committer(durable_seq=4).committed()
    with pytest.raises(AssertionError):
        Committer(durable_seq=4).failed()


def test_a_batch_in_flight_does_not_follow_the_live_records() -> None:
    # Given a task and a daemon in a batch that is being written
    task = a_task()
    daemon = DaemonRecord(id="d_1", user_id="u", name="mac-1", boot_id="b", connected_at=NOW)
    batch = a_batch(after(4), created=[task], daemons=[daemon])
    Committer(durable_seq=4).begin(batch, [])

    # When the core goes on
    task.status = Status.RUNNING
    daemon.draining = True

    # Then the batch still tells of the instant of its cut
    assert batch.created[0].task.status is Status.QUEUED
    assert not batch.daemons[0].draining
