"""The contract of every engine: tasks are found, looked up and listed."""

import pytest

from taskyard.core.changes import LateResult, LogChunk
from taskyard.core.task import Dependency, Task
from taskyard.store.paging import cursor_of
from taskyard.store.port import (
    BadCursor,
    TaskFilter,
)
from taskyard.vocabulary import (
    ENDED,
    Level,
    SourceType,
    Status,
)
from tests.store.listing import EVERYBODY, ids
from tests.support.records import NOW, USER, Yard, a_body, a_task, an_id, ended

# --- finding ---


def test_a_task_is_found_by_id_and_by_ref(yard: Yard) -> None:
    task = a_task(number=1)
    yard.has(task)
    for name in (task.id, "T-001", "T-1", "t-001"):
        found = yard.reader.find(user_id=USER, task=name)
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


@pytest.mark.parametrize("status", sorted(ENDED))
def test_the_task_of_a_key_is_found_however_it_ended(yard: Yard, status: Status) -> None:
    task = ended(a_task(key="k"), status)
    yard.has(task)
    known = yard.reader.known(user_id=USER, ids=(), refs=(), keys=("k", "free"))
    assert known.keys == {"k": task.id}
    assert known.tasks == {task.id: task}


def test_a_key_is_free_again_when_its_task_is_archived(yard: Yard) -> None:
    yard.has(ended(a_task(key="k"), at=NOW - 10))
    yard.write(archive=(NOW, 0))
    assert yard.reader.known(user_id=USER, ids=(), refs=(), keys=("k",)).keys == {}


def test_of_several_tasks_of_a_key_the_one_that_keeps_it_counts_else_the_one_that_ended_last(yard: Yard) -> None:
    skipped_last = ended(a_task(number=3, key="k"), Status.SKIPPED, at=NOW + 2)
    cancelled = [ended(a_task(number=number, key="k"), Status.CANCELLED, at=NOW + 1) for number in (4, 5)]
    yard.has(skipped_last)
    yard.has(*cancelled)
    assert yard.reader.known(user_id=USER, ids=(), refs=(), keys=("k",)).keys == {"k": skipped_last.id}
    completed = ended(a_task(number=2, key="k"), at=NOW)
    yard.has(completed)
    assert yard.reader.known(user_id=USER, ids=(), refs=(), keys=("k",)).keys == {"k": completed.id}


def test_of_two_tasks_of_a_key_that_ended_at_once_the_newer_counts(yard: Yard) -> None:
    newer, older = ended(a_task(number=8, key="k")), ended(a_task(number=3, key="k"))
    yard.has(newer)
    yard.has(older)
    assert yard.reader.known(user_id=USER, ids=(), refs=(), keys=("k",)).keys == {"k": newer.id}


def test_the_keys_of_all_that_ended_are_told_page_by_page(yard: Yard) -> None:
    # Given keys in odd letters, one of them twice, one of a task at work and one that is archived
    keys = ["a", "b", "é", "\0z", "a"]
    yard.has(ended(a_task(key="old"), at=NOW - 10))
    yard.write(archive=(NOW, 0))
    yard.has(*(ended(a_task(key=key)) for key in keys), ended(a_task()), a_task(key="at work"))
    yard.has(ended(a_task(user_id="u_bob", key="b"), Status.CANCELLED))

    # When they are read two at a time
    pages, after = list[list[tuple[str, str]]](), ("", "")
    while page := yard.reader.keys_used(after=after, limit=2):
        pages.append(page)
        after = page[-1]

    # Then each is there
    assert {pair for page in pages for pair in page} == {*((USER, key) for key in keys), ("u_bob", "b")}


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
    pieces = yard.reader.log(task_id=task.id, attempt=None)
    assert [(piece.attempt, piece.at, piece.text) for piece in pieces] == [(1, NOW, "a"), (1, NOW, "b"), (2, NOW, "c")]
    assert yard.reader.log(task_id=task.id, attempt=2) == pieces[2:]
    assert yard.reader.log(task_id="nobody", attempt=None) == []


def test_a_log_is_read_on_from_where_somebody_stopped(yard: Yard) -> None:
    task = a_task()
    yard.has(task, logs=[LogChunk(task_id=task.id, attempt=1, at=NOW, text=text) for text in ("a", "b")])
    seen = yard.reader.log(task_id=task.id, attempt=None)[-1]
    yard.write(logs=[LogChunk(task_id=task.id, attempt=number, at=NOW, text="c") for number in (1, 2)])
    later = yard.reader.log(task_id=task.id, attempt=None, after=(seen.attempt, seen.n))
    assert [(piece.attempt, piece.text) for piece in later] == [(1, "c"), (2, "c")]
    assert yard.reader.log(task_id=task.id, attempt=1, after=(seen.attempt, seen.n)) == later[:1]
    assert yard.reader.log(task_id=task.id, attempt=None, after=(later[1].attempt, later[1].n)) == []


def test_a_log_is_read_up_to_the_piece_with_which_it_is_enough(yard: Yard) -> None:
    task = a_task()
    yard.has(task, logs=[LogChunk(task_id=task.id, attempt=1, at=NOW, text=text) for text in ("€", "b", "c")])

    def texts(bytes_max: int) -> list[str]:
        return [piece.text for piece in yard.reader.log(task_id=task.id, attempt=None, bytes_max=bytes_max)]

    # It is counted in bytes: the first has three. Less than one piece cannot be had
    assert {bytes_max: texts(bytes_max) for bytes_max in (1, 3, 4, 5)} == {
        1: ["€"],
        3: ["€"],
        4: ["€", "b"],
        5: ["€", "b", "c"],
    }


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


def test_the_runs_of_a_schedule_are_listed_wherever_they_lie(yard: Yard) -> None:
    waiting = a_task(source=SourceType.SCHEDULE, schedule_id="s_1")
    done = ended(a_task(source=SourceType.SCHEDULE, schedule_id="s_1"))
    failed = ended(a_task(source=SourceType.SCHEDULE, schedule_id="s_1", user_id="u_bob"), Status.PERMANENTLY_FAILED)
    yard.has(waiting, done, failed, a_task(source=SourceType.SCHEDULE, schedule_id="s_2"), a_task())
    assert ids(yard.reader.tasks(TaskFilter(user_id=USER, schedule_id="s_1"))) == [done.id, waiting.id]
    everybodys = TaskFilter(user_id=None, schedule_id="s_1", source=SourceType.SCHEDULE)
    assert ids(yard.reader.tasks(everybodys)) == [failed.id, done.id, waiting.id]
    for statuses, found in (((Status.QUEUED,), waiting), ((Status.PERMANENTLY_FAILED,), failed)):
        assert ids(yard.reader.tasks(TaskFilter(user_id=None, schedule_id="s_1", statuses=statuses))) == [found.id]
    assert yard.reader.tasks(TaskFilter(user_id=USER, schedule_id="s_9")) == []
