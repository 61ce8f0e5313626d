"""Who may write: of two hubs on one database, the one that took the lead last."""

import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest

from taskyard.store.port import Identity, LedElsewhere, StoreFenced, StoreUnavailable, TaskFilter
from taskyard.store.postgres import Candidate, Lease, PostgresStore
from tests.support.postgres import cluster
from tests.support.records import USER, Yard, a_batch, a_task

# Too short to be still there when another looks, and long enough to be.
BRIEF_MS, LONG_MS = 1, 60_000

Hub = Callable[..., PostgresStore]


@pytest.fixture
def hub(database: str) -> Iterator[Hub]:
    """Makes hubs of one yard; each is told how long it leads without renewing."""
    made: list[PostgresStore] = []

    def make(name: str, *, lease_ms: int = BRIEF_MS, lease: Lease | None = None) -> PostgresStore:
        candidate = Candidate(name, address=f"{name}:7000", lease_ms=lease_ms)
        made.append(PostgresStore(cluster().url(database), new_cluster_id="c_test", candidate=candidate, lease=lease))
        return made[-1]

    yield make
    for store in made:
        store.close()


def test_a_second_hub_is_told_who_leads(hub: Hub) -> None:
    hub("h_one", lease_ms=LONG_MS).open()
    with pytest.raises(LedElsewhere) as refused:
        hub("h_two").open()
    holder = refused.value.holder
    assert (holder.id, holder.address, holder.epoch) == ("h_one", "h_one:7000", 1)
    assert 0 < holder.left_ms <= LONG_MS


def test_a_hub_that_closes_lets_another_lead_at_once(hub: Hub) -> None:
    first = hub("h_one", lease_ms=LONG_MS)
    first.open()
    first.close()
    assert hub("h_two").open().epoch == 2


def test_a_deposed_hub_writes_nothing_and_is_told(hub: Hub) -> None:
    # Given a hub whose lease has run out, and another that led since
    first, second = hub("h_one"), hub("h_two")
    deposed = Yard(first)
    deposed.has(a_task())
    yard = Yard(second)

    # When the first goes on, in one step or in several
    for batch in (
        a_batch(deposed.identity, created=[a_task()]),
        a_batch(deposed.identity, created=[a_task()], archive=(0, 0)),
    ):
        with pytest.raises(StoreFenced):
            first.write(batch)
    with pytest.raises(StoreFenced):
        first.probe()
    with pytest.raises(StoreFenced):
        first.load()

    # Then nothing of it is there, and the second goes on
    assert len(second.load().tasks) == 1
    yard.has(a_task())
    assert yard.reader.position() == yard.identity.seq
    yard.reader.close()
    deposed.reader.close()


def test_a_deposed_hub_whose_place_was_taken_meanwhile_is_told_too(hub: Hub) -> None:
    # Given a takeover behind a hub's back, and a commit of the new leader at the very place of the old one's next
    first, second = hub("h_one"), hub("h_two")
    stale = a_batch(first.open(), created=[a_task()])
    yard = Yard(second)
    yard.has(a_task())
    assert stale.seq < yard.identity.seq
    with pytest.raises(StoreFenced):
        first.write(stale)
    assert len(second.load().tasks) == 1
    yard.reader.close()


def test_a_deposed_hub_does_not_end_the_lease_of_the_next(hub: Hub) -> None:
    first = hub("h_one")
    first.open()
    hub("h_two", lease_ms=LONG_MS).open()
    first.close()
    with pytest.raises(LedElsewhere):
        hub("h_three").open()


def test_a_hub_that_leads_again_goes_on_after_what_others_wrote(hub: Hub) -> None:
    first, second = hub("h_one"), hub("h_two")
    first.open()
    between = Yard(second)
    between.has(a_task())
    between.reader.close()
    first.close()
    again = Yard(first)
    again.has(a_task())
    assert len(first.load().tasks) == 2
    again.reader.close()


def test_a_commit_that_is_under_way_when_another_takes_over_counts_and_is_loaded(hub: Hub, database: str) -> None:
    # Given a commit that has passed the fence and waits for a row of somebody's
    first, second = hub("h_one"), hub("h_two")
    task = a_task()
    batch = a_batch(first.open(), created=[task])
    identity: list[Identity] = []
    with psycopg.connect(cluster().url(database)) as somebody:
        somebody.execute("INSERT INTO taskyard.numbering VALUES (%s, %s, 0)", [USER, task.number])
        commit = threading.Thread(target=first.write, args=(batch,))
        commit.start()
        cluster().until_waiting(database, 1)
        # When another takes over, which has to wait for what is at the end of the log
        takeover = threading.Thread(target=lambda: identity.append(second.open()))
        takeover.start()
        cluster().until_waiting(database, 2)
        somebody.rollback()
    commit.join()
    takeover.join()

    # Then the commit is before the takeover in the log, and part of what the new leader loads
    assert [(each.cluster_id, each.epoch, each.seq) for each in identity] == [("c_test", 2, batch.seq + 1)]
    assert second.load().tasks == [task]
    with pytest.raises(StoreFenced):
        first.write(a_batch(Identity(cluster_id="c_test", epoch=1, seq=batch.seq), created=[a_task()]))


def test_readers_see_a_yard_that_another_hub_leads(hub: Hub) -> None:
    leader = Yard(hub("h_one", lease_ms=LONG_MS))
    task = a_task()
    leader.has(task)
    reader = hub("h_two").reader()
    assert [stored.task for stored in reader.tasks(TaskFilter(user_id=None))] == [task]
    reader.close()
    leader.reader.close()


def test_a_database_that_was_set_back_is_not_written(hub: Hub, database: str) -> None:
    # Given a hub whose last commits are gone, as after a failover to a server that had less
    yard = Yard(hub("h_one"))
    yard.has(a_task())
    yard.has(a_task())
    with psycopg.connect(cluster().url(database)) as operator:
        operator.execute("DELETE FROM taskyard.commit_log WHERE seq = %s", [yard.identity.seq])
    # Then it does not go on as if they were there
    with pytest.raises(StoreFenced):
        yard.has(a_task())
    yard.reader.close()


def test_a_hub_that_is_overtaken_again_and_again_gives_up_for_now(hub: Hub, database: str) -> None:
    with psycopg.connect(cluster().url(database), autocommit=True) as operator:
        # As if the hub before it committed once more whenever it looked.
        operator.execute("SET search_path = taskyard")
        operator.execute(
            "CREATE FUNCTION overtake() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'overtaken' USING ERRCODE = 'unique_violation'; END $$"
        )
        operator.execute(
            "CREATE TRIGGER overtaken BEFORE INSERT ON commit_log FOR EACH ROW EXECUTE FUNCTION overtake()"
        )
        with pytest.raises(StoreUnavailable, match="goes on committing"):
            hub("h_one").open()
        operator.execute("DROP TRIGGER overtaken ON commit_log")
    assert hub("h_one").open().epoch == 1
