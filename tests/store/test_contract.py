"""What every engine promises. See `store/port.py`."""

import msgspec
import pytest

from taskyard.core.changes import AuditRecord, DaemonRecord, Kept, KeyRecord, LogChunk, UserRecord
from taskyard.store.port import (
    Store,
    StoreRefused,
    TaskFilter,
)
from taskyard.vocabulary import (
    Keeps,
    Level,
    Scope,
    Status,
)
from tests.store.listing import ids
from tests.support.records import NOW, USER, Yard, a_batch, a_body, a_task, an_event, an_id, assigned, ended

# --- opening and loading ---


def test_a_new_yard_takes_the_name_it_is_given_and_begins_its_first_epoch(store: Store) -> None:
    identity = store.open()
    image = store.load()
    assert (identity.cluster_id, identity.epoch, image.identity) == ("c_test", 1, identity)
    assert (image.tasks, image.users, image.keys, image.daemons, image.numbers) == ([], [], [], [], {})


def test_each_opening_begins_a_new_epoch_and_goes_on_where_the_log_ended(yard: Yard) -> None:
    yard.has(a_task())
    yard.store.close()
    # As far past the end as the first opening was past the beginning
    again = yard.store.open()
    assert (again.cluster_id, again.epoch, again.seq) == ("c_test", 2, yard.identity.seq + yard.began)
    assert again.takeover not in ("", yard.identity.takeover)


def test_a_store_that_is_open_is_not_opened_again(yard: Yard) -> None:
    with pytest.raises(StoreRefused):
        yard.store.open()


def test_what_is_loaded_is_what_was_written(yard: Yard) -> None:
    # Given tasks of two users, and people and daemons
    tasks = [a_task(), assigned(a_task()), a_task(user_id="u_bob", deadline=NOW + 5, key="k")]
    user = UserRecord(id=USER, name="Ada", created_at=NOW, overrides={"max_pending": 3})
    key = KeyRecord(id="k_1", user_id=USER, name="laptop", hash="h", scopes=(Scope.TASKS,), created_at=NOW)
    daemon = DaemonRecord(id="d_1", user_id=USER, name="mac-1", boot_id="b_1", connected_at=NOW)
    yard.has(*tasks, users=[user], keys=[key], daemons=[daemon])

    # Then a load gives them back, oldest first
    image = yard.store.load()
    assert image.identity == yard.identity
    assert image.tasks == sorted(tasks, key=lambda task: task.id)
    assert (image.users, image.keys, image.daemons) == ([user], [key], [daemon])


def test_what_is_put_together_is_written_when_it_is_run_and_not_before(yard: Yard) -> None:
    # Given a task, of which a change was put together
    task = a_task()
    yard.has(task)
    batch = a_batch(yard.identity, changed=[assigned(task)])
    write = yard.store.writing(batch)
    # Then nothing is known of it until that is run
    assert yard.store.load().tasks == [task]
    write()
    assert yard.store.load().tasks == [assigned(task)]


def test_records_of_people_and_daemons_are_replaced_by_newer_ones(yard: Yard) -> None:
    yard.write(users=[UserRecord(id=USER, name="Ada", created_at=NOW)])
    newer = UserRecord(id=USER, name="Ada L.", created_at=NOW, plan="pro")
    yard.write(users=[newer])
    assert yard.store.load().users == [newer]


def test_a_daemon_that_is_forgotten_is_gone_and_may_come_again(yard: Yard) -> None:
    old, other = (
        DaemonRecord(id=name, user_id=USER, name="mac", boot_id="b_1", connected_at=NOW) for name in ("d_1", "d_2")
    )
    yard.has(daemons=[old, other])
    # One that is not there, because it came and went within a commit, may be among them
    yard.write(forgotten=["d_1", "d_never"])
    assert yard.store.load().daemons == [other]
    yard.write(daemons=[old], forgotten=["d_2"])
    assert yard.store.load().daemons == [old]


def test_the_highest_number_of_each_user_outlives_the_tasks(yard: Yard) -> None:
    yard.has(a_task(number=7), a_task(number=9, user_id="u_bob"))
    yard.write(ended=[ended(a_task(number=7), at=NOW - 10)])
    yard.write(archive=(NOW, 0))
    assert yard.store.load().numbers == {USER: 7, "u_bob": 9}


def test_the_size_of_logs_is_loaded_for_hot_tasks_only(yard: Yard) -> None:
    running, done = assigned(a_task()), ended(assigned(a_task()))
    logs = [LogChunk(task_id=task.id, attempt=1, at=NOW, text="grüße\n") for task in (running, running, done)]
    yard.has(running, done, logs=logs)
    assert yard.store.load().log_bytes == {(running.id, 1): 2 * len("grüße\n".encode())}


# --- writing ---


def test_a_changed_task_is_as_it_was_last_written(yard: Yard) -> None:
    task = a_task()
    yard.has(task)
    changed = msgspec.structs.replace(assigned(task), level=Level.HIGH)
    yard.write(changed=[changed])
    assert yard.store.load().tasks == [changed]
    assert yard.reader.tasks(TaskFilter(user_id=USER, level=Level.HIGH, statuses=(Status.SCHEDULED,)))


def test_what_was_written_does_not_follow_the_live_record(yard: Yard) -> None:
    task = a_task()
    yard.has(task)
    task.status = Status.RUNNING
    assert [loaded.status for loaded in yard.store.load().tasks] == [Status.QUEUED]


def test_an_ended_task_leaves_the_hot_table_and_is_still_found(yard: Yard) -> None:
    task = a_task()
    yard.has(task)
    yard.write(ended=[ended(task)], outcomes=[(task.id, b'{"result": 1}')])
    assert yard.store.load().tasks == []
    found = yard.reader.find(user_id=USER, task=task.id)
    assert (found.task, found.outcome, found.archived) == (ended(task), b'{"result": 1}', False)


def test_a_task_may_be_created_and_end_within_one_batch(yard: Yard) -> None:
    task = ended(a_task())
    yard.has(task)
    assert yard.store.load().tasks == []
    assert yard.store.load().numbers == {USER: task.number}
    assert yard.reader.find(user_id=USER, task=task.ref) is not None


def test_a_revived_task_comes_back_from_history(yard: Yard) -> None:
    task = a_task()
    yard.has(ended(task, Status.PERMANENTLY_FAILED))
    yard.write(revived=[task])
    assert yard.store.load().tasks == [task]
    assert yard.reader.dead_letters(user_id=USER, limit=10, before=None) == []


def test_a_revived_task_comes_back_from_the_archive(yard: Yard) -> None:
    task, other = a_task(), ended(a_task(), Status.PERMANENTLY_FAILED)
    yard.has(ended(task, Status.SKIPPED, at=NOW - 10), other)
    yard.write(archive=(NOW, 0))
    yard.write(revived=[task, msgspec.structs.replace(other, status=Status.QUEUED, completed_at=None)])
    assert {loaded.id for loaded in yard.store.load().tasks} == {task.id, other.id}
    assert yard.reader.tasks(TaskFilter(user_id=USER, archived=True)) == []


def test_a_revived_task_that_ends_again_has_its_newest_outcome(yard: Yard) -> None:
    task = a_task()
    yard.has(ended(task, Status.PERMANENTLY_FAILED), outcomes=[(task.id, b"1")])
    yard.write(revived=[task])
    yard.write(ended=[ended(task)], outcomes=[(task.id, b"2")])
    found = yard.reader.find(user_id=USER, task=task.id)
    assert found.outcome == b"2"


def test_a_task_may_be_revived_and_end_within_one_batch(yard: Yard) -> None:
    # Given a dead letter, whose result arrives after all in the batch in which somebody retries it
    task = a_task()
    yard.has(ended(task, Status.PERMANENTLY_FAILED))
    yard.write(amended=[ended(task)], outcomes=[(task.id, b"1")])
    # Then it has its outcome, and keeps it when it changes again
    yard.write(amended=[msgspec.structs.replace(ended(task), summary="seen")])
    found = yard.reader.find(user_id=USER, task=task.id)
    assert (found.task.summary, found.outcome) == ("seen", b"1")


def test_an_outcome_goes_to_the_archive_with_its_task(yard: Yard) -> None:
    old, other = ended(a_task(), at=NOW - 10), ended(a_task(), at=NOW - 10)
    yard.has(old, other, outcomes=[(old.id, b"1" * 100_000)])
    yard.write(archive=(NOW, 0))
    listed = yard.reader.tasks(TaskFilter(user_id=USER, archived=True))
    assert {stored.task.id: stored.outcome for stored in listed} == {old.id: b"1" * 100_000, other.id: None}


def test_a_dead_letter_that_is_discarded_changes_where_it_lies(yard: Yard) -> None:
    dead = ended(a_task(key="k"), Status.PERMANENTLY_FAILED)
    yard.has(dead)
    yard.write(amended=[ended(dead, Status.CANCELLED)])
    assert yard.reader.dead_letters(user_id=USER, limit=10, before=None) == []
    found = yard.reader.find(user_id=USER, task=dead.id)
    assert found.task.status is Status.CANCELLED


def test_a_task_of_the_archive_can_be_amended_too(yard: Yard) -> None:
    old = ended(a_task(), Status.SKIPPED, at=NOW - 10)
    yard.has(old)
    yard.write(archive=(NOW, 0))
    yard.write(amended=[msgspec.structs.replace(old, summary="seen")])
    found = yard.reader.find(user_id=USER, task=old.id)
    assert (found.task.summary, found.archived) == ("seen", True)


def test_a_batch_out_of_order_is_a_bug_and_changes_nothing(yard: Yard) -> None:
    ahead = msgspec.structs.replace(yard.identity, seq=yard.identity.seq + 1)
    with pytest.raises(AssertionError):
        yard.store.write(a_batch(ahead, created=[a_task()]))
    assert yard.store.load().tasks == []


def test_a_batch_that_does_not_fit_is_a_bug_and_changes_nothing(yard: Yard) -> None:
    with pytest.raises(AssertionError):
        yard.store.write(a_batch(yard.identity, created=[a_task()], changed=[a_task()]))
    with pytest.raises(AssertionError):
        yard.store.write(a_batch(yard.identity, created=[a_task()], revived=[a_task()]))
    with pytest.raises(AssertionError):
        yard.store.write(a_batch(yard.identity, created=[a_task()], amended=[ended(a_task())]))
    assert yard.store.load().tasks == []
    yard.has(a_task())


def test_a_probe_changes_nothing_that_a_reader_sees(yard: Yard) -> None:
    yard.has(a_task())
    before = yard.store.load()
    yard.store.probe()
    yard.store.tend()
    assert yard.store.load() == before
    assert yard.reader.position() == yard.identity.seq


# --- any text ---


@pytest.mark.parametrize("odd", ["nul\0", "\0", "sub\x1a", "\x1a0", "\x1a\x1a\0", "ß\U0001f600", "a'b\"c\\d%_"])
def test_names_may_hold_any_character(yard: Yard, odd: str) -> None:
    # Given a task all of whose names are odd, and what else is kept under a name
    task = a_task(number=1, user_id=odd, queue=odd, type=odd, correlation_id=odd, parent_id=odd, key=odd)
    done = ended(a_task(number=2, user_id=odd, key=odd))
    daemon = DaemonRecord(id=odd, user_id=odd, name=odd, boot_id=odd, connected_at=NOW)
    kept = [Kept(Keeps.BREAKER, f"{n}{odd}", b"{}") for n in range(3)]
    audit = AuditRecord(at=NOW, actor=odd, action="x", subject=odd)
    yard.has(task, done, daemons=[daemon], kept=kept, audit=[audit], requests=[(odd, b"answer")])

    # Then all of it is found again under those names, and what is not asked for is not
    image = yard.store.load()
    assert (image.tasks, image.daemons, image.numbers) == ([task], [daemon], {odd: 2})
    assert image.kept == kept
    for query in (
        TaskFilter(user_id=odd, queue=odd, type=odd),
        TaskFilter(user_id=odd, correlation_id=odd),
        TaskFilter(user_id=None, parent_id=odd),
    ):
        assert ids(yard.reader.tasks(query)) == [task.id]
    assert yard.reader.known(user_id=odd, ids=(), refs=("T-001",), keys=(odd, "other")).keys == {odd: done.id}
    assert yard.reader.find(user_id=odd, task=odd) is None
    assert [entry for _, entry in yard.reader.audit(subject=odd, limit=1, before=None)] == [audit]
    assert (yard.reader.request(odd), yard.reader.request(f"{odd}?")) == (b"answer", None)
    yard.write(kept=[Kept(Keeps.BREAKER, f"1{odd}", None)])
    assert yard.store.load().kept == [kept[0], kept[2]]


def test_text_is_sought_in_bodies_of_any_characters(yard: Yard) -> None:
    tasks = [a_task(number=number) for number in range(1, 7)]
    bodies = [
        a_body(tasks[0], title="sales \0 and on"),
        a_body(tasks[1], text="a literal \\u0000, and sales"),
        a_body(tasks[2], title="sales \\\0"),
        a_body(tasks[3], text="nothing"),
        (tasks[4].id, b'{"title": "Sales gr\xc3\xbc\xc3\x9fe", "context": {"name": "\xff\\u0000"}}'),
        (tasks[5].id, b'{"title": "\\u0416 sales", "context": {"name": "\xff"}}'),
    ]
    yard.has(*tasks, bodies=bodies)
    found = [an_id(number) for number in (6, 5, 3, 2, 1)]
    assert ids(yard.reader.tasks(TaskFilter(user_id=USER, text="SALES"))) == found
    assert ids(yard.reader.tasks(TaskFilter(user_id=USER, text="\\u0000"))) == [an_id(2)]
    assert ids(yard.reader.tasks(TaskFilter(user_id=USER, text="grüße"))) == [an_id(5)]


# --- sizes ---


@pytest.mark.parametrize("size", [0, 999, 1_000, 1_001, 5_000, 300_000])
def test_bodies_outcomes_and_records_may_be_of_any_size(yard: Yard, size: int) -> None:
    task = a_task(summary="s" * size)
    body, outcome = (task.id, b'{"input": "%s"}' % (b"b" * size)), (task.id, b"o" * size)
    yard.has(task, bodies=[body])
    assert yard.reader.bodies((task.id,)) == dict([body])
    assert yard.reader.loads((task.id,))[task.id].body == body[1]
    yard.write(ended=[ended(task, Status.PERMANENTLY_FAILED, at=NOW - 10)], outcomes=[outcome])
    for change in ({}, {"revived": [task]}, {"ended": [ended(task, at=NOW - 10)]}, {"archive": (NOW, 0)}):
        yard.write(**change, events=[an_event(task)])
        found = yard.reader.find(user_id=USER, task=task.id)
        assert (found.body, found.outcome) == (body[1], outcome[1]), change


@pytest.mark.parametrize(("first", "second"), [(10, 2_000), (2_000, 10), (2_000, 3_000)])
def test_the_newest_outcome_counts_whatever_its_size(yard: Yard, first: int, second: int) -> None:
    task = a_task()
    for size in (first, second):
        outcome = b"o" * size
        if size == first:
            yard.has(ended(task, Status.PERMANENTLY_FAILED), outcomes=[(task.id, outcome)])
            yard.write(revived=[task])
        else:
            yard.write(ended=[ended(task)], outcomes=[(task.id, outcome)])
        found = yard.reader.find(user_id=USER, task=task.id)
        assert found.outcome == outcome
    newest = b"n" * first
    yard.write(amended=[ended(task)], outcomes=[(task.id, newest)])
    found = yard.reader.find(user_id=USER, task=task.id)
    assert found.outcome == newest
