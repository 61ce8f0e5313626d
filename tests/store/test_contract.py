"""What every engine promises. See `store/port.py`."""

import msgspec
import pytest

from taskyard.core.changes import AuditRecord, DaemonRecord, Kept, KeyRecord, LateResult, LogChunk, UserRecord
from taskyard.core.task import Attempt, Dependency, Task
from taskyard.store.paging import cursor_of
from taskyard.store.port import (
    REQUESTS_KEPT_MS,
    BadCursor,
    Figures,
    Identity,
    Store,
    StoredTask,
    StoreRefused,
    TaskFilter,
)
from taskyard.vocabulary import (
    ENDED,
    EPOCHS_PER_ERA,
    HOOK_KEY_PREFIX,
    EventName,
    Keeps,
    Level,
    Scope,
    SourceType,
    Status,
)
from tests.support.records import NOW, USER, Yard, a_batch, a_body, a_task, an_event, an_id, assigned, ended

EVERYBODY = TaskFilter(user_id=None)


def ids(stored: list[StoredTask]) -> list[str]:
    return [entry.task.id for entry in stored]


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
    assert yard.store.open() == Identity(cluster_id="c_test", epoch=2, seq=yard.identity.seq + yard.began)


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


def test_records_of_people_and_daemons_are_replaced_by_newer_ones(yard: Yard) -> None:
    yard.write(users=[UserRecord(id=USER, name="Ada", created_at=NOW)])
    newer = UserRecord(id=USER, name="Ada L.", created_at=NOW, plan="pro")
    yard.write(users=[newer])
    assert yard.store.load().users == [newer]


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
    assert found is not None
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
    assert found is not None
    assert found.outcome == b"2"


def test_a_task_may_be_revived_and_end_within_one_batch(yard: Yard) -> None:
    # Given a dead letter, whose result arrives after all in the batch in which somebody retries it
    task = a_task()
    yard.has(ended(task, Status.PERMANENTLY_FAILED))
    yard.write(amended=[ended(task)], outcomes=[(task.id, b"1")])
    # Then it has its outcome, and keeps it when it changes again
    yard.write(amended=[msgspec.structs.replace(ended(task), summary="seen")])
    found = yard.reader.find(user_id=USER, task=task.id)
    assert found is not None
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
    assert found is not None
    assert found.task.status is Status.CANCELLED


def test_a_task_of_the_archive_can_be_amended_too(yard: Yard) -> None:
    old = ended(a_task(), Status.SKIPPED, at=NOW - 10)
    yard.has(old)
    yard.write(archive=(NOW, 0))
    yard.write(amended=[msgspec.structs.replace(old, summary="seen")])
    found = yard.reader.find(user_id=USER, task=old.id)
    assert found is not None
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


# --- finding ---


def test_a_task_is_found_by_id_and_by_ref(yard: Yard) -> None:
    task = a_task(number=1)
    yard.has(task)
    for name in (task.id, "T-001", "T-1", "t-001"):
        found = yard.reader.find(user_id=USER, task=name)
        assert found is not None
        assert (found.task, found.body) == (task, a_body(task)[1])


def test_a_task_of_somebody_else_is_not_found(yard: Yard) -> None:
    task = a_task(number=1)
    yard.has(task)
    assert yard.reader.find(user_id="u_bob", task=task.id) is None
    assert yard.reader.find(user_id="u_bob", task="T-001") is None
    assert yard.reader.find(user_id=None, task=task.id) is not None


def test_a_ref_without_a_user_names_nothing(yard: Yard) -> None:
    yard.has(a_task(number=1))
    assert yard.reader.find(user_id=None, task="T-001") is None
    assert yard.reader.find(user_id=USER, task="no such task") is None


def test_late_results_are_shown_with_their_task_in_order(yard: Yard) -> None:
    task = a_task()
    late = [LateResult(task_id=task.id, attempt=number, at=NOW, body=b"{}") for number in (2, 1)]
    yard.has(task, late=late)
    yard.write(late=[LateResult(task_id=task.id, attempt=2, at=NOW + 1, body=b"[]")])
    found = yard.reader.find(user_id=USER, task=task.id)
    assert found is not None
    assert [(entry.attempt, entry.at, entry.body) for entry in found.late] == [
        (1, NOW, b"{}"),
        (2, NOW + 1, b"[]"),
    ]


# --- look-ups for commands ---


def test_known_has_tasks_of_any_place_by_id(yard: Yard) -> None:
    hot, done, old = a_task(), ended(a_task()), ended(a_task(), at=NOW - 10)
    yard.has(hot, done, old)
    yard.write(archive=(NOW, 0))
    known = yard.reader.known(user_id=None, ids=(hot.id, done.id, old.id, "nobody"), refs=(), keys=())
    assert known.tasks == {hot.id: hot, done.id: done, old.id: old}
    assert known.read_seq == yard.identity.seq


def test_known_does_not_tell_of_tasks_of_others(yard: Yard) -> None:
    task = ended(a_task(number=1, key="k"))
    yard.has(task)
    known = yard.reader.known(user_id="u_bob", ids=(task.id,), refs=("T-001",), keys=("k",))
    assert (known.tasks, known.refs, known.keys) == ({}, {}, {})


def test_known_resolves_refs(yard: Yard) -> None:
    hot, done = a_task(number=1), ended(a_task(number=2))
    yard.has(hot, done)
    known = yard.reader.known(user_id=USER, ids=(), refs=("T-001", "T-002", "T-003", "odd"), keys=())
    assert known.refs == {"T-001": hot.id, "T-002": done.id}
    assert known.tasks == {hot.id: hot, done.id: done}


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.PERMANENTLY_FAILED])
def test_a_key_is_held_by_a_task_that_completed_or_died(yard: Yard, status: Status) -> None:
    task = ended(a_task(key="k"), status)
    yard.has(task)
    known = yard.reader.known(user_id=USER, ids=(), refs=(), keys=("k", "free"))
    assert known.keys == {"k": task.id}
    assert known.tasks == {task.id: task}


@pytest.mark.parametrize("status", [Status.CANCELLED, Status.STALE, Status.SKIPPED])
def test_a_key_is_free_again_when_its_task_came_to_nothing(yard: Yard, status: Status) -> None:
    yard.has(ended(a_task(key="k"), status))
    assert yard.reader.known(user_id=USER, ids=(), refs=(), keys=("k",)).keys == {}


@pytest.mark.parametrize("status", sorted(ENDED))
def test_the_key_of_a_delivery_is_held_however_its_task_ended(yard: Yard, status: Status) -> None:
    key = f"{HOOK_KEY_PREFIX}wh_1:d"
    task = ended(a_task(key=key), status)
    yard.has(task)
    yard.has(ended(a_task(key="k"), Status.CANCELLED))
    assert yard.reader.known(user_id=USER, ids=(), refs=(), keys=("k", key)).keys == {key: task.id}


def test_a_key_is_free_again_when_its_task_is_archived(yard: Yard) -> None:
    yard.has(ended(a_task(key="k"), at=NOW - 10))
    yard.write(archive=(NOW, 0))
    assert yard.reader.known(user_id=USER, ids=(), refs=(), keys=("k",)).keys == {}


def test_the_newest_of_two_holders_of_a_key_counts(yard: Yard) -> None:
    newer, older = ended(a_task(number=8, key="k")), ended(a_task(number=3, key="k"))
    yard.has(newer)
    yard.has(older)
    assert yard.reader.known(user_id=USER, ids=(), refs=(), keys=("k",)).keys == {"k": newer.id}


# --- what is sent to daemons ---


def test_a_load_has_body_checkpoint_and_the_outcomes_of_what_it_waited_for(yard: Yard) -> None:
    # Given a task that waited for two others, one of which failed, and for one that runs still
    first, second, third = ended(a_task()), ended(a_task(), Status.SKIPPED), a_task()
    depends = [
        Dependency(id=second.id, outcome=Status.SKIPPED, at=NOW),
        Dependency(id=third.id),
        Dependency(id=first.id, outcome=Status.COMPLETED, at=NOW),
    ]
    task = a_task(depends=depends)
    yard.has(first, second, third, task, outcomes=[(first.id, b"1")], checkpoints=[(task.id, b"half")])

    # When it is sent
    loads = yard.reader.loads((task.id, third.id, first.id, "nobody"))

    # Then its load carries those that ended, in its own order
    assert set(loads) == {task.id, third.id}
    load = loads[task.id]
    assert (load.task, load.body, load.checkpoint) == (task, a_body(task)[1], b"half")
    assert [(parent.task.id, parent.outcome) for parent in load.parents] == [
        (second.id, None),
        (first.id, b"1"),
    ]
    assert (loads[third.id].checkpoint, loads[third.id].parents) == (None, [])


def test_a_checkpoint_is_the_last_one_saved(yard: Yard) -> None:
    task = a_task()
    yard.has(task, checkpoints=[(task.id, b"one")])
    yard.write(checkpoints=[(task.id, b"two")])
    assert yard.reader.checkpoint(task.id) == b"two"
    assert yard.reader.checkpoint("nobody") is None


def test_a_log_is_read_in_the_order_it_came(yard: Yard) -> None:
    task = a_task()
    yard.has(task, logs=[LogChunk(task_id=task.id, attempt=2, at=NOW, text="c")])
    more = [LogChunk(task_id=task.id, attempt=number, at=NOW, text=text) for number, text in ((1, "a"), (1, "b"))]
    yard.write(logs=more)
    assert yard.reader.log(task_id=task.id, attempt=None) == [(1, NOW, "a"), (1, NOW, "b"), (2, NOW, "c")]
    assert yard.reader.log(task_id=task.id, attempt=2) == [(2, NOW, "c")]
    assert yard.reader.log(task_id="nobody", attempt=None) == []


# --- lists ---


def test_a_users_list_is_by_number_downwards_over_hot_and_history(yard: Yard) -> None:
    tasks = [a_task(number=1), ended(a_task(number=2)), a_task(number=3), a_task(number=4, user_id="u_bob")]
    yard.has(*tasks)
    assert ids(yard.reader.tasks(TaskFilter(user_id=USER))) == [an_id(3), an_id(2), an_id(1)]
    assert ids(yard.reader.tasks(EVERYBODY)) == [an_id(4), an_id(3), an_id(2), an_id(1)]


@pytest.mark.parametrize("user_id", [USER, None])
def test_pages_follow_each_other_without_gap_or_overlap(yard: Yard, user_id: str | None) -> None:
    yard.has(*(a_task(number=n) if n % 3 else ended(a_task(number=n)) for n in range(1, 12)))
    seen: list[str] = []
    query = TaskFilter(user_id=user_id, limit=4)
    while page := yard.reader.tasks(query):
        seen += ids(page)
        query.before = cursor_of(page[-1], user_id=user_id)
    assert seen == [an_id(n) for n in range(11, 0, -1)]


def test_a_cursor_that_is_none_is_refused(yard: Yard) -> None:
    with pytest.raises(BadCursor):
        yard.reader.tasks(TaskFilter(user_id=USER, before="not a number"))


FILTERS = [
    TaskFilter(user_id=USER, statuses=(Status.RUNNING,)),
    TaskFilter(user_id=USER, statuses=(Status.RUNNING, Status.QUEUED)),
    TaskFilter(user_id=USER, statuses=(Status.COMPLETED,)),
    TaskFilter(user_id=USER, statuses=(Status.COMPLETED, Status.RUNNING)),
    TaskFilter(user_id=None, statuses=(Status.RUNNING, Status.SCHEDULED)),
    TaskFilter(user_id=None, statuses=(Status.QUEUED, Status.RUNNING)),
    TaskFilter(user_id=USER, statuses=(Status.QUEUED,), queue="default"),
    TaskFilter(user_id=USER, queue="gpu"),
    TaskFilter(user_id=USER, type="analysis"),
    TaskFilter(user_id=USER, source=SourceType.WEBHOOK),
    TaskFilter(user_id=USER, level=Level.HIGH),
    TaskFilter(user_id=USER, correlation_id="c1"),
    TaskFilter(user_id=None, correlation_id="c1", statuses=(Status.COMPLETED,)),
    TaskFilter(user_id=USER, parent_id=an_id(1)),
    TaskFilter(user_id=USER, statuses=(Status.RUNNING,), queue="gpu", level=Level.HIGH),
]


def fits(task: Task, query: TaskFilter) -> bool:
    """The filter said once more, field by field, from the record alone."""
    facts = {
        "user_id": task.user_id,
        "queue": task.kind.queue,
        "type": task.kind.needs.type,
        "source": task.kind.source,
        "level": task.level,
        "correlation_id": task.correlation_id,
        "parent_id": task.parent_id,
    }
    asked = {name: getattr(query, name) for name in facts}
    return (not query.statuses or task.status in query.statuses) and all(
        wanted is None or wanted == facts[name] for name, wanted in asked.items()
    )


@pytest.mark.parametrize("query", FILTERS, ids=str)
def test_a_filter_lists_exactly_the_tasks_that_fit(yard: Yard, query: TaskFilter) -> None:
    tasks = []
    for number in range(1, 65):
        task = a_task(
            number=number,
            user_id=USER if number % 5 else "u_bob",
            queue="gpu" if number % 2 else "default",
            type="analysis" if number % 3 else "general",
            source=SourceType.WEBHOOK if number % 4 == 0 else SourceType.USER,
            level=Level.HIGH if number % 3 == 1 else Level.LOW,
            correlation_id="c1" if number % 7 == 0 else None,
            parent_id=an_id(1) if number % 6 == 0 else None,
            status=(Status.QUEUED, Status.RUNNING, Status.SCHEDULED)[number % 3],
        )
        tasks.append(ended(task) if number % 4 == 1 else task)
    yard.has(*tasks)
    expected = [task.id for task in reversed(tasks) if fits(task, query)]
    assert expected, "a filter that nothing fits tests nothing"
    query.limit = 100
    assert ids(yard.reader.tasks(query)) == expected


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("SALES", [2, 1]), ("100%", [3]), ("a_b", [4]), ("\\", [5]), ('say "hi"', [6]), ("input", [])],
)
def test_text_is_sought_in_title_and_input_as_it_stands(yard: Yard, text: str, numbers: list[int]) -> None:
    tasks = [a_task(number=number) for number in range(1, 8)]
    bodies = [
        a_body(tasks[0], title="Q1 sales"),
        a_body(tasks[1], text="analyse the Sales data"),
        a_body(tasks[2], text="give 100% of it"),
        a_body(tasks[3], text="a_b"),
        a_body(tasks[4], text="C:\\temp"),
        a_body(tasks[5], title='say "hi"'),
        a_body(tasks[6], text="axb, 1000, ß"),
    ]
    yard.has(*tasks, bodies=bodies)
    assert ids(yard.reader.tasks(TaskFilter(user_id=USER, text=text))) == [an_id(n) for n in numbers]


def test_dead_letters_are_listed_and_paged(yard: Yard) -> None:
    dead = [ended(a_task(number=n), Status.PERMANENTLY_FAILED) for n in (1, 2, 3)]
    yard.has(*dead, ended(a_task(number=4)), ended(a_task(number=5, user_id="u_bob"), Status.PERMANENTLY_FAILED))
    page = yard.reader.dead_letters(user_id=USER, limit=2, before=None)
    assert ids(page) == [an_id(3), an_id(2)]
    rest = yard.reader.dead_letters(user_id=USER, limit=2, before=cursor_of(page[-1], user_id=USER))
    assert ids(rest) == [an_id(1)]
    assert len(yard.reader.dead_letters(user_id=None, limit=9, before=None)) == 4


# --- events ---


def test_events_come_in_the_order_of_their_commits(yard: Yard) -> None:
    first, second = a_task(), a_task()
    yard.has(first, events=[an_event(first), an_event(first, EventName.TASK_QUEUED)])
    yard.has(second, events=[an_event(second)])
    found = yard.reader.events_after(epoch=1, seq=0, index=0, limit=10)
    assert found is not None
    one, two = yard.began + 1, yard.began + 2
    assert [(entry.epoch, entry.seq, entry.index) for entry in found] == [(1, one, 0), (1, one, 1), (1, two, 0)]
    assert found[1].event == an_event(first, EventName.TASK_QUEUED)


def test_events_go_on_after_the_place_named_and_stop_at_the_limit(yard: Yard) -> None:
    task = a_task()
    yard.has(task, events=[an_event(task)] * 3)
    yard.write(events=[an_event(task)] * 3)
    one, two = yard.began + 1, yard.began + 2
    found = yard.reader.events_after(epoch=1, seq=one, index=1, limit=3)
    assert found is not None
    assert [(entry.seq, entry.index) for entry in found] == [(one, 2), (two, 0), (two, 1)]


def test_who_is_up_to_date_gets_nothing_and_no_resync(yard: Yard) -> None:
    assert yard.reader.events_after(epoch=1, seq=0, index=0, limit=3) == []
    yard.write(events=[an_event(a_task())])
    assert yard.reader.events_after(epoch=1, seq=yard.identity.seq, index=0, limit=3) == []


def test_a_place_in_an_epoch_that_has_not_committed_yet_is_on_the_log(yard: Yard) -> None:
    task = a_task()
    yard.has(task, events=[an_event(task)])
    yard.store.close()
    before, yard.identity = yard.identity, yard.store.open()
    assert yard.reader.events_after(epoch=2, seq=before.seq, index=0, limit=3) == []
    yard.write(events=[an_event(task)])
    found = yard.reader.events_after(epoch=2, seq=before.seq, index=0, limit=3)
    assert found is not None
    assert [entry.epoch for entry in found] == [2]


@pytest.mark.parametrize(("epoch", "seq"), [(1, 9), (7, 1), (0, 1)])
def test_a_place_that_was_never_on_this_log_needs_a_resync(yard: Yard, epoch: int, seq: int) -> None:
    yard.write(events=[an_event(a_task())])
    yard.write(events=[an_event(a_task())])
    assert yard.reader.events_after(epoch=epoch, seq=yard.began + seq, index=0, limit=3) is None


def test_a_place_that_is_dropped_from_the_log_needs_a_resync(yard: Yard) -> None:
    for at in (10, 20, 30):
        yard.write(events=[an_event(a_task())], at=at)
    yard.write(archive=(0, 25), at=40)
    three = yard.began + 3
    assert yard.reader.events_after(epoch=1, seq=0, index=0, limit=3) is None
    assert yard.reader.events_after(epoch=1, seq=three - 1, index=0, limit=3) is None
    found = yard.reader.events_after(epoch=1, seq=three, index=-1, limit=3)
    assert found is not None
    assert [entry.seq for entry in found] == [three]


def test_a_tasks_events_are_found_by_its_trail(yard: Yard) -> None:
    task, other = a_task(), a_task()
    yard.has(task, other, events=[an_event(other), an_event(task)])
    yard.write(events=[an_event(other)])
    yard.write(events=[an_event(task, EventName.TASK_QUEUED)])
    one, three = yard.began + 1, yard.began + 3
    trail = msgspec.structs.replace(task, trail=(one, three, 99))
    found = yard.reader.task_events(trail)
    assert [(entry.seq, entry.index, entry.event.name) for entry in found] == [
        (one, 1, EventName.TASK_CREATED),
        (three, 0, EventName.TASK_QUEUED),
    ]


# --- archive ---


def test_old_tasks_move_to_the_archive_and_stay_readable(yard: Yard) -> None:
    old, young, dead = (
        ended(a_task(number=1), at=NOW - 10),
        ended(a_task(number=2)),
        ended(a_task(number=3), Status.PERMANENTLY_FAILED, at=NOW - 10),
    )
    yard.has(old, young, dead)
    assert yard.reader.has_old(ended_before=NOW, events_before=0)
    yard.write(archive=(NOW, 0))
    assert not yard.reader.has_old(ended_before=NOW, events_before=0)
    assert ids(yard.reader.tasks(TaskFilter(user_id=USER))) == [dead.id, young.id]
    assert ids(yard.reader.tasks(TaskFilter(user_id=USER, archived=True))) == [old.id]
    assert ids(yard.reader.tasks(TaskFilter(user_id=None, archived=True))) == [old.id]
    found = yard.reader.find(user_id=USER, task="T-001")
    assert found is not None
    assert (found.task, found.archived) == (old, True)


def test_one_commit_archives_no_more_than_a_chunk_oldest_first(yard: Yard) -> None:
    tasks = [ended(a_task(number=n), at=NOW - n) for n in range(1, 503)]
    yard.has(*tasks)
    yard.write(archive=(NOW, 0))
    left = yard.reader.tasks(TaskFilter(user_id=USER))
    assert ids(left) == [an_id(2), an_id(1)]
    yard.write(archive=(NOW, 0))
    assert yard.reader.tasks(TaskFilter(user_id=USER)) == []


def test_the_newest_commit_is_never_dropped(yard: Yard) -> None:
    for at in (10, 20, 30):
        yard.write(events=[an_event(a_task())], at=at)
    assert yard.reader.has_old(ended_before=0, events_before=NOW)
    yard.write(archive=(0, NOW), at=40)
    yard.write(archive=(0, NOW), at=50)
    assert yard.reader.position() == yard.began + 5
    yard.store.close()
    assert yard.store.open().seq >= yard.began + 5


# --- audit ---


def test_the_audit_is_read_newest_first_by_subject_and_page(yard: Yard) -> None:
    entries = [AuditRecord(at=NOW + n, actor="ada", action="key.revoke", subject=f"k_{n % 2}") for n in range(4)]
    yard.write(audit=entries[:2])
    yard.write(audit=entries[2:])
    everything = yard.reader.audit(subject=None, limit=9, before=None)
    assert [entry for _, entry in everything] == entries[::-1]
    assert [entry for _, entry in yard.reader.audit(subject="k_1", limit=9, before=None)] == [
        entries[3],
        entries[1],
    ]
    last_number, _ = everything[1]
    assert [entry for _, entry in yard.reader.audit(subject=None, limit=1, before=last_number)] == [entries[1]]


def test_an_attempt_is_kept_with_all_it_says(yard: Yard) -> None:
    task = assigned(a_task())
    assert task.attempts is not None
    task.attempts[0].error = None
    task.attempts.append(
        Attempt(number=2, daemon_id="d_2", daemon_name="x", boot_id="b", assigned_at=NOW, accepted=True)
    )
    yard.has(task)
    assert yard.store.load().tasks == [task]


def test_a_new_era_begins_past_every_epoch_of_the_one_before(yard: Yard) -> None:
    yard.store.close()
    first = yard.store.open(new_era=True).epoch
    assert first == EPOCHS_PER_ERA
    yard.store.close()
    assert yard.store.open().epoch == first + 1


# --- requests of other hubs ---


def test_the_answer_to_a_request_is_found_by_its_name(yard: Yard) -> None:
    yard.write(events=[an_event(a_task())], requests=[("r_1", b"one"), ("r_2", b"two")])
    assert [yard.reader.request(name) for name in ("r_1", "r_2", "r_3")] == [b"one", b"two", None]


def test_answers_to_requests_are_forgotten_after_a_while(yard: Yard) -> None:
    yard.write(events=[an_event(a_task())], requests=[("r_old", b"old")], at=NOW)
    yard.write(events=[an_event(a_task())], requests=[("r_new", b"new")], at=NOW + REQUESTS_KEPT_MS + 1)
    assert (yard.reader.request("r_old"), yard.reader.request("r_new")) == (None, b"new")


def test_a_batch_that_only_answers_is_empty() -> None:
    assert a_batch(Identity("c_test", 1, 0), requests=[("r_1", b"one")]).is_empty()


# --- searching in pieces ---


@pytest.mark.parametrize("user_id", [USER, None])
def test_a_list_may_end_at_a_place_and_go_on_from_it(yard: Yard, user_id: str | None) -> None:
    tasks = [a_task(status=Status.BLOCKED if n % 2 else Status.QUEUED) for n in range(3)]
    tasks += [ended(a_task(), status=Status.PERMANENTLY_FAILED if n % 2 else Status.COMPLETED) for n in range(3)]
    yard.has(*tasks)
    newest_first = [task.id for task in sorted(tasks, key=lambda task: task.number, reverse=True)]
    stored = {one.task.id: one for one in yard.reader.tasks(TaskFilter(user_id=user_id))}
    place = cursor_of(stored[newest_first[2]], user_id=user_id)
    for statuses in ((), tuple({task.status for task in tasks})):
        above = yard.reader.tasks(TaskFilter(user_id=user_id, statuses=statuses, down_to=place))
        below = yard.reader.tasks(TaskFilter(user_id=user_id, statuses=statuses, before=place))
        assert (ids(above), ids(below)) == (newest_first[:3], newest_first[3:])


def test_few_tasks_are_searched_in_one_go(yard: Yard) -> None:
    yard.has(a_task(), ended(a_task()))
    for user_id in (USER, None):
        for archived in (False, True):
            assert yard.reader.search_end(user_id=user_id, archived=archived, before=None) is None


# --- figures ---

MINUTE, HOUR = 60, 3600
ALL = {MINUTE: (0, NOW), HOUR: (0, NOW)}


def told(figures: list[Figures]) -> list[tuple[int, bytes]]:
    return [(each.at, each.record) for each in figures]


def test_figures_are_found_by_their_length_and_since_when_oldest_first(yard: Yard) -> None:
    yard.store.keep_figures([Figures(MINUTE, 120, b"c"), Figures(MINUTE, 0, b"a"), Figures(HOUR, 0, b"h")], kept=ALL)
    yard.store.keep_figures([Figures(MINUTE, 60, b"b")], kept=ALL)
    assert told(yard.reader.figures(step_s=MINUTE, since=0)) == [(0, b"a"), (60, b"b"), (120, b"c")]
    assert told(yard.reader.figures(step_s=MINUTE, since=60)) == [(60, b"b"), (120, b"c")]
    assert yard.reader.figures(step_s=HOUR, since=0) == [Figures(HOUR, 0, b"h")]
    assert yard.reader.figures(step_s=1, since=0) == []


def test_figures_of_the_same_time_are_replaced(yard: Yard) -> None:
    yard.store.keep_figures([Figures(MINUTE, 60, b"first")], kept=ALL)
    yard.store.keep_figures([Figures(MINUTE, 60, b"second")], kept=ALL)
    assert told(yard.reader.figures(step_s=MINUTE, since=0)) == [(60, b"second")]


def test_figures_outside_of_what_is_kept_are_dropped_length_by_length(yard: Yard) -> None:
    every = [Figures(step, at, b"x") for step in (MINUTE, HOUR) for at in (0, 60, 120, 180)]
    yard.store.keep_figures(every, kept=ALL)
    yard.store.keep_figures([], kept={MINUTE: (60, 120)})
    assert [at for at, _ in told(yard.reader.figures(step_s=MINUTE, since=0))] == [60, 120]
    assert [at for at, _ in told(yard.reader.figures(step_s=HOUR, since=0))] == [0, 60, 120, 180]


def test_figures_outlive_the_process_and_take_no_place_in_the_log(yard: Yard) -> None:
    yard.has(a_task())
    before = yard.reader.position()
    yard.store.keep_figures([Figures(MINUTE, 60, b"kept")], kept=ALL)
    assert yard.reader.position() == before
    yard.has(a_task())
    yard.store.close()
    yard.store.open()
    assert told(yard.reader.figures(step_s=MINUTE, since=0)) == [(60, b"kept")]


# --- counts ---


def test_tasks_are_counted_by_status_without_those_in_the_archive(yard: Yard) -> None:
    old = ended(a_task(), at=NOW - 10)
    dead = ended(a_task(), status=Status.PERMANENTLY_FAILED)
    yard.has(old)
    yard.write(archive=(NOW, 0))
    yard.has(a_task(), a_task(), assigned(a_task()), a_task(status=Status.BLOCKED), a_task(user_id="u_bob"))
    yard.has(ended(a_task()), ended(a_task()), dead, ended(a_task(), status=Status.CANCELLED))
    mine = {
        Status.QUEUED: 2,
        Status.SCHEDULED: 1,
        Status.BLOCKED: 1,
        Status.COMPLETED: 2,
        Status.PERMANENTLY_FAILED: 1,
        Status.CANCELLED: 1,
    }
    assert yard.reader.counts(user_id=USER) == mine
    assert yard.reader.counts(user_id="u_bob") == {Status.QUEUED: 1}
    assert yard.reader.counts(user_id="u_nobody") == {}
    assert yard.reader.counts(user_id=None) == {**mine, Status.QUEUED: 3}


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
        assert found is not None
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
        assert found is not None
        assert found.outcome == outcome
    newest = b"n" * first
    yard.write(amended=[ended(task)], outcomes=[(task.id, newest)])
    found = yard.reader.find(user_id=USER, task=task.id)
    assert found is not None
    assert found.outcome == newest
