"""A hub that stands by knows the hot table as well as one that reads it."""

from collections.abc import Iterator

import pytest

from taskyard.core.task import Task
from taskyard.store.postgres.engine import PostgresStore
from taskyard.store.postgres.lead import Candidate
from taskyard.store.postgres.mirror import Mirror
from taskyard.store.postgres.reader import PostgresReader
from taskyard.vocabulary import EventName, Status
from tests.support.damage import LOG, Damager
from tests.support.engines import Engine
from tests.support.postgres import lent_yard
from tests.support.records import Yard, a_task, an_event, assigned, ended


class Watched:
    """A yard, and a mirror that is told of its commits."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.yard = Yard(self.store())
        self.reader = PostgresReader(url)
        self.mirror = Mirror()

    def store(self, mirror: Mirror | None = None) -> PostgresStore:
        return PostgresStore(self.url, new_cluster_id="c_test", candidate=Candidate("h_1", "there:1"), mirror=mirror)

    def write(self, *, told: bool = True, **changes: list[Task]) -> None:
        gone = changes.get("ended", [])
        events = [an_event(task, EventName.TASK_COMPLETED) for task in gone]
        batch = self.yard.write(events=events, **changes)
        if told:
            rows = [*batch.created, *batch.changed, *batch.revived]
            self.mirror.follow(batch.seq, [(row.task.id, row.record) for row in rows], [task.id for task in gone])

    def refresh(self) -> None:
        self.mirror.take(self.reader.missed(self.mirror.seq))

    def as_loaded(self) -> list[Task]:
        return self.yard.store.load().tasks


@pytest.fixture
def watched() -> Iterator[Watched]:
    watched = Watched(lent_yard())
    yield watched
    watched.reader.close()
    watched.yard.reader.close()
    watched.yard.store.close()


def test_a_mirror_begins_with_the_whole_table_and_follows_what_it_is_told(watched: Watched) -> None:
    first, second, third = a_task(), a_task(), a_task()
    watched.write(created=[first, second])
    watched.refresh()
    watched.write(created=[third], changed=[assigned(first)])
    watched.write(ended=[ended(second)])
    assert watched.mirror.in_order() == watched.as_loaded()
    assert [task.id for task in watched.mirror.in_order()] == [first.id, third.id]


def test_a_mirror_that_needs_a_damaged_commit_reads_the_whole_table(watched: Watched) -> None:
    first, second = a_task(), a_task()
    watched.write(created=[first, second])
    watched.refresh()
    watched.write(told=False, ended=[ended(second)])
    Damager(Engine.POSTGRES, watched.url).do(LOG, seq=watched.yard.identity.seq)
    assert watched.reader.missed(watched.mirror.seq).since == 0
    watched.refresh()
    assert [task.id for task in watched.mirror.in_order()] == [first.id]


def test_a_mirror_that_missed_commits_says_so_and_reads_just_those(watched: Watched) -> None:
    first, second, third = a_task(), a_task(), a_task()
    watched.write(created=[first, second])
    watched.refresh()
    watched.write(told=False, changed=[assigned(first)])
    watched.write(told=False, ended=[ended(second)])
    assert not watched.mirror.follow(watched.yard.identity.seq + 1, [], [])
    missed = watched.reader.missed(watched.mirror.seq)
    assert ([task.id for task in missed.tasks], missed.gone) == ([first.id], [second.id])
    watched.refresh()
    watched.write(created=[third])
    assert watched.mirror.in_order() == watched.as_loaded()


def test_a_task_that_ended_and_came_back_meanwhile_is_not_lost(watched: Watched) -> None:
    task = a_task()
    watched.write(created=[task])
    watched.refresh()
    watched.write(told=False, ended=[ended(task, Status.PERMANENTLY_FAILED)])
    watched.write(told=False, revived=[task])
    watched.refresh()
    assert watched.mirror.in_order() == watched.as_loaded() == [task]


def test_what_a_commit_told_is_taken_once_whatever_was_read_meanwhile(watched: Watched) -> None:
    task = a_task()
    watched.write(created=[task])
    watched.refresh()
    assert watched.mirror.follow(watched.mirror.seq, [], [task.id]), "it is of this commit already"
    assert watched.mirror.in_order() == [task]
    old = watched.reader.missed(watched.mirror.seq - 1)
    watched.mirror.take(old)
    assert watched.mirror.in_order() == [task]


def test_who_takes_over_with_a_mirror_loads_what_one_without_it_loads(watched: Watched) -> None:
    tasks = [a_task() for _ in range(5)]
    watched.write(created=tasks)
    watched.refresh()
    watched.write(told=False, ended=[ended(tasks[0])], changed=[assigned(tasks[1])])
    watched.yard.store.close()
    with watched.store(watched.mirror) as store:
        loaded = store.load()
        assert loaded == store.load(), "the second is read from the table"
        assert [task.id for task in loaded.tasks] == [task.id for task in tasks[1:]]


def test_a_mirror_that_does_not_fit_the_table_is_thrown_away(watched: Watched) -> None:
    tasks = [a_task() for _ in range(3)]
    watched.write(created=tasks)
    watched.refresh()
    watched.mirror.follow(watched.mirror.seq + 1, [], [tasks[0].id])
    watched.yard.store.close()
    with watched.store(watched.mirror) as store:
        assert [task.id for task in store.load().tasks] == [task.id for task in tasks]
