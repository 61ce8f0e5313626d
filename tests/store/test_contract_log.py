"""The contract of every engine: events, archive, audit, requests, figures and counts."""

import msgspec
import pytest

from taskyard.core.changes import AuditRecord
from taskyard.core.task import Attempt
from taskyard.store.paging import cursor_of
from taskyard.store.port import (
    REQUESTS_KEPT_MS,
    Figures,
    Identity,
    TaskFilter,
)
from taskyard.vocabulary import (
    EPOCHS_PER_ERA,
    EventName,
    Status,
)
from tests.store.listing import ids
from tests.support.records import NOW, USER, Yard, a_batch, a_task, an_event, an_id, assigned, ended

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
            assert yard.reader.search_end(TaskFilter(user_id=user_id, archived=archived)) is None


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
