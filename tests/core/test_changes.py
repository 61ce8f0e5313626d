"""What one commit writes."""

from msgspec.json import decode

from taskyard.core.changes import Batch, Ledger
from taskyard.core.commands import CompleteTask, SubmitTasks
from taskyard.core.task import Kind, Task, Terms
from tests.support.harness import HubHarness, Status, a_draft


def a_task(status: Status) -> Task:
    return Task(id="t", user_id="u", number=1, kind=Kind(), terms=Terms(), created_at=0, status=status)


def filled(batch: Batch) -> list[str]:
    return [name for name in ("created", "changed", "ended", "revived", "amended") if getattr(batch, name)]


def test_a_task_submitted_assigned_and_ended_within_one_batch_is_one_row() -> None:
    hub = HubHarness()
    hub.daemon()
    turn = hub.core.turn(hub.now)
    hub.core.decide(turn, SubmitTasks("ann", [a_draft(id="t")]))
    hub.core.dispatch(turn)
    hub.core.decide(turn, CompleteTask("d-mac", "t", 1, 1))
    batch = hub.core.cut(batch_id="b", now=hub.now)
    assert filled(batch) == ["ended"]
    assert [row.task.id for row in batch.ended] == ["t"]
    assert batch.bodies == [("t", b"{}")]


def test_where_a_row_goes_follows_from_where_it_was_and_how_the_task_is_now() -> None:
    cases = [
        (Status.QUEUED, Status.RUNNING, "changed"),
        (Status.QUEUED, Status.CANCELLED, "ended"),
        (Status.PERMANENTLY_FAILED, Status.QUEUED, "revived"),
        (Status.PERMANENTLY_FAILED, Status.CANCELLED, "amended"),
    ]
    for was, now, rows in cases:
        ledger, task = Ledger(seq=1), a_task(was)
        ledger.touch(task)
        task.status = now
        ledger.touch(task)
        assert filled(ledger.batch(epoch=1, batch_id="b", at=0)) == [rows]


def test_a_record_is_encoded_as_of_the_cut() -> None:
    hub = HubHarness()
    task = hub.submit()
    record = hub.batches[-1].created[0].record
    hub.daemon()
    assert decode(record)["status"] == "queued"
    assert task.status is Status.SCHEDULED


def test_a_record_decodes_to_the_task_it_was() -> None:
    hub = HubHarness()
    task = hub.submit(key="k", depends_on=(hub.submit().id,), deadline=hub.now.wall + 10**7)
    assert decode(hub.hot()[task.id], type=Task) == task


def test_an_empty_batch_uses_up_no_sequence_number() -> None:
    hub = HubHarness()
    batches = [hub.core.cut(batch_id=str(n), now=hub.now) for n in range(2)]
    assert [b.seq for b in batches] == [1, 1]
    assert all(b.is_empty() for b in batches)
    hub.submit()
    hub.submit()
    assert [b.seq for b in hub.batches] == [1, 2]


def test_every_transition_is_an_event_with_from_and_to() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.complete(task)
    events = [e for b in hub.batches for e in b.events if e.task_id == task.id]
    assert [(e.name, e.was, e.now, e.attempt) for e in events] == [
        ("task.created", None, "queued", None),
        ("task.queued", None, "queued", None),
        ("task.scheduled", "queued", "scheduled", 1),
        ("task.started", "scheduled", "running", 1),
        ("task.completed", "running", "completed", 1),
    ]
