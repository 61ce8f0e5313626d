"""What becomes of a commit when the connection, the server or somebody's patience ends in the middle of it."""

import os
import threading
from collections.abc import Iterator
from random import Random

import msgspec
import psycopg
import pytest

from taskyard.core.changes import Batch
from taskyard.store.port import StoreFenced, StoreUnavailable, TaskFilter
from taskyard.store.postgres import Candidate, PostgresStore, engine
from taskyard.store.postgres.image import position_of
from taskyard.store.postgres.reader import PostgresReader
from taskyard.store.postgres.session import Session
from tests.support.live import wait_until
from tests.support.pg_proxy import Loss, Proxy, a_proxy
from tests.support.postgres import Cluster, a_cluster
from tests.support.records import Yard, a_batch, a_task, an_event
from tests.support.store_script import expected_states, script, state_of

SOON_S, LATE_S = 2.0, 20.0
BATCHES = 60
KILLS = int(os.environ.get("STORE_KILLS", "3"))


@pytest.fixture
def proxy(server: Cluster) -> Iterator[Proxy]:
    with a_proxy(server.port) as proxy:
        yield proxy


@pytest.fixture
def write_s() -> float:
    """When the store gives up: late enough for a busy machine, but where that is what a test is about."""
    return LATE_S


@pytest.fixture
def yard(
    server: Cluster, database: str, proxy: Proxy, write_s: float, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Yard]:
    """Its store writes and reads through the proxy."""
    # The server goes on with what the hub has given up, for as long as a test takes to look.
    monkeypatch.setitem(engine._WRITING, "statement_timeout", "60s")
    monkeypatch.setitem(engine._WRITING, "client_connection_check_interval", "0")
    url = f"{server.url(database, port=proxy.port)}?connect_timeout={max(2, round(write_s))}"
    store = PostgresStore(url, new_cluster_id="c_test", candidate=Candidate("h_test"), write_s=write_s)
    yard = Yard(store)
    # Statements are prepared when they are first used; what is lost below is then the commit itself.
    yard.has(a_task())
    yield yard
    yard.reader.close()
    store.close()


@pytest.mark.parametrize("loss", [Loss.REQUEST, Loss.ANSWER])
def test_a_commit_whose_request_or_answer_is_lost_is_made_once(yard: Yard, proxy: Proxy, loss: Loss) -> None:
    proxy.lose(loss)
    yard.has(a_task())
    assert proxy.lost == 1
    assert yard.reader.position() == yard.identity.seq
    assert len(yard.store.load().tasks) == 2


@pytest.mark.parametrize("loss", [Loss.REQUEST, Loss.ANSWER])
def test_a_commit_in_several_steps_is_made_once_too(yard: Yard, proxy: Proxy, loss: Loss) -> None:
    old = a_task(status=a_task().status, completed_at=1)
    yard.has(old)
    yard.write(archive=(2, 0))
    for _ in range(2):
        proxy.lose(loss)
        yard.write(archive=(2, 0), events=[an_event(a_task())])
    assert yard.reader.position() == yard.identity.seq
    assert [stored.archived for stored in yard.reader.tasks(TaskFilter(user_id=None, archived=True))] == [True]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_commits_over_a_wire_that_loses_are_what_they_would_be_without(
    server: Cluster, database: str, proxy: Proxy, seed: int
) -> None:
    rng = Random(seed)
    url = server.url(database, port=proxy.port)
    store = PostgresStore(url, new_cluster_id="c_test", candidate=Candidate("h_test"))
    identity = store.open()
    for batch in script(identity, batches=BATCHES, seed=seed):
        if rng.random() < 0.5:
            proxy.lose(rng.choice([Loss.REQUEST, Loss.ANSWER]))
        store.write(batch)
    proxy.lose(Loss.NOTHING)
    assert proxy.lost > BATCHES / 4
    assert state_of(store, began=identity.seq) == expected_states(batches=BATCHES, seed=seed)[-1]
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("write_s", [SOON_S])
def test_a_server_that_says_nothing_is_not_waited_for_and_what_it_did_is_found_later(yard: Yard, proxy: Proxy) -> None:
    # Given a commit into a blackhole
    task = a_task()
    batch = a_batch(yard.identity, created=[task])
    proxy.lose(Loss.EVERYTHING)
    with pytest.raises(StoreUnavailable):
        yard.store.write(batch)
    with pytest.raises(StoreUnavailable):
        yard.store.probe()

    # When the wire is whole again
    proxy.lose(Loss.NOTHING)
    yard.store.probe()

    # Then the store loads what there is, and goes on from there
    yard.identity = yard.store.load().identity
    assert yard.identity.seq == batch.seq - 1
    yard.has(task)
    assert yard.reader.position() == yard.identity.seq


def test_a_commit_that_nobody_can_ask_about_is_found_when_the_state_is_loaded(yard: Yard, proxy: Proxy) -> None:
    # Given a commit whose answer is lost, and nobody who could be asked what became of it
    task = a_task()
    proxy.lose(Loss.ANSWER)
    proxy.close_to_new(True)
    with pytest.raises(StoreUnavailable):
        yard.store.write(a_batch(yard.identity, created=[task]))

    # When there is
    proxy.close_to_new(False)
    yard.store.probe()

    # Then it is part of what is loaded
    image = yard.store.load()
    assert image.identity.seq == yard.identity.seq + 1
    assert task in image.tasks


@pytest.mark.slow
@pytest.mark.parametrize("write_s", [SOON_S])
def test_a_commit_that_was_given_up_and_came_through_after_all_is_loaded(
    yard: Yard, proxy: Proxy, server: Cluster, database: str
) -> None:
    # Given a commit that waits for somebody's lock for longer than its hub does, which cannot even tell the server so
    given_up = a_batch(yard.identity, created=[a_task()])
    with psycopg.connect(server.url(database)) as somebody:
        somebody.execute("LOCK TABLE taskyard.numbering IN EXCLUSIVE MODE")
        proxy.close_to_new(True)
        with pytest.raises(StoreUnavailable):
            yard.store.write(given_up)
        proxy.close_to_new(False)
        before = yard.store.load()
        assert before.identity.seq == given_up.seq - 1
        # When it is let go while the hub decides something else
        somebody.rollback()
    until_written(yard, given_up.seq)
    another = msgspec.structs.replace(a_batch(before.identity, created=[a_task()]), batch_id="another")
    with pytest.raises(StoreUnavailable, match="came through after all") as unavailable:
        yard.store.write(another)
    assert not isinstance(unavailable.value, StoreFenced)

    # Then that is what is loaded, and the hub still leads
    yard.identity = yard.store.load().identity
    assert yard.identity.seq == given_up.seq
    yard.has(a_task())


@pytest.mark.slow
@pytest.mark.parametrize("write_s", [SOON_S])
def test_a_commit_that_is_given_up_is_ended_on_the_server_too(yard: Yard, server: Cluster, database: str) -> None:
    given_up = a_batch(yard.identity, created=[a_task()])
    with psycopg.connect(server.url(database)) as somebody:
        somebody.execute("LOCK TABLE taskyard.numbering IN EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable):
            yard.store.write(given_up)
        # Where it would go on for a minute.
        server.until_waiting(database, 0)
    assert yard.store.load().identity.seq == given_up.seq - 1


def test_a_place_in_the_log_that_is_contested_without_end_is_given_up_for_now(
    yard: Yard, server: Cluster, database: str
) -> None:
    with psycopg.connect(server.url(database), autocommit=True) as operator:
        operator.execute("SET search_path = taskyard")
        operator.execute(
            "CREATE FUNCTION contest() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " RAISE EXCEPTION 'contested' USING ERRCODE = 'unique_violation', TABLE = 'commit_log_0'; END $$"
        )
        operator.execute("CREATE TRIGGER contested BEFORE INSERT ON commit_log FOR EACH ROW EXECUTE FUNCTION contest()")
        with pytest.raises(StoreUnavailable, match="under way at the same place"):
            yard.store.write(a_batch(yard.identity, created=[a_task()]))
        operator.execute("DROP TRIGGER contested ON commit_log")
    yard.has(a_task())


def until_written(yard: Yard, seq: int) -> None:
    wait_until(lambda: yard.reader.position() >= seq, within_s=LATE_S, what="the commit that was given up")


@pytest.mark.parametrize("purpose", ["writer", "reader"])
def test_a_connection_that_an_operator_ends_is_dialled_again(
    yard: Yard, server: Cluster, database: str, purpose: str
) -> None:
    assert server.terminate(database, purpose) == 1
    yard.has(a_task())
    assert yard.reader.position() == yard.identity.seq
    assert len(yard.store.load().tasks) == 2


def test_a_connection_that_ends_while_it_is_used_for_reading_is_dialled_again(yard: Yard, proxy: Proxy) -> None:
    for loss in (Loss.REQUEST, Loss.ANSWER):
        proxy.lose(loss)
        assert yard.reader.position() == yard.identity.seq
        proxy.lose(loss)
        assert len(yard.reader.tasks(TaskFilter(user_id=None))) == 1


def test_a_connection_that_ends_in_the_middle_of_reading_is_dialled_again(
    yard: Yard, server: Cluster, database: str
) -> None:
    ended: list[int] = []

    def look(session: Session) -> int:
        if not ended:
            ended.append(server.terminate(database, "reader"))
        return position_of(session)

    reader = PostgresReader(server.url(database))
    assert reader._read(look) == yard.identity.seq
    assert ended == [2], "the yard's own as well"
    reader.close()


def test_a_reader_that_lost_its_server_can_be_closed(yard: Yard, proxy: Proxy) -> None:
    proxy.close_to_new(True)
    proxy.cut()
    with pytest.raises(StoreUnavailable):
        yard.reader.position()
    yard.reader.close()
    proxy.close_to_new(False)


def test_a_reader_says_when_there_is_no_server(yard: Yard, proxy: Proxy) -> None:
    proxy.close_to_new(True)
    proxy.cut()
    with pytest.raises(StoreUnavailable):
        yard.reader.position()
    proxy.close_to_new(False)
    assert yard.reader.position() == yard.identity.seq


@pytest.fixture
def mortal() -> Iterator[Cluster]:
    """A server that no other test needs."""
    with a_cluster() as server:
        yield server


@pytest.mark.slow
def test_a_server_that_is_killed_and_comes_back_has_every_commit_that_it_acknowledged(mortal: Cluster) -> None:
    states = expected_states(batches=BATCHES)
    url = mortal.url(mortal.new_database())
    store = PostgresStore(url, new_cluster_id="c_test", candidate=Candidate("h_test"))
    began = store.open().seq
    batches = list(script(store.load().identity, batches=BATCHES))
    written = 0
    for turn in range(KILLS):
        # Given a yard that commits, whose server dies in the middle of it
        killer = threading.Timer(0.03 * (turn + 1), mortal.stop)
        killer.start()
        acknowledged = written + count_written(store, batches[written:])
        killer.join()

        # When it comes back
        mortal.start()
        store.probe()

        # Then all that was acknowledged is there, and all of at most one commit more
        state = state_of(store, began=began)
        written = state.image.identity.seq
        assert acknowledged <= written <= acknowledged + 1
        assert state == states[written]
    store.close()


def count_written(store: PostgresStore, batches: list[Batch]) -> int:
    """How many were acknowledged before one was not."""
    for written, batch in enumerate(batches):
        try:
            store.write(batch)
        except StoreUnavailable:
            return written
    return len(batches)
