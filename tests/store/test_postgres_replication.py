"""When a commit counts: with real streaming replication, and waits for the standby that are cancelled or never end."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from taskyard.store.port import Figures, StoreRefused, StoreUnavailable
from taskyard.store.postgres import Candidate, Lease, PostgresStore, migrate
from taskyard.store.postgres.dump import made
from taskyard.store.postgres.durability import Durability, end_abandoned_waits
from taskyard.store.postgres.faults import Unconfirmed
from taskyard.store.postgres.session import Session
from taskyard.store.postgres.statements import placed
from tests.support.live import wait_until
from tests.support.pg_proxy import a_proxy
from tests.support.records import Yard, a_batch, a_task
from tests.support.replication import Pair, a_pair

pytestmark = pytest.mark.slow

WRITE_S, SOON_S = 20.0, 0.5
WITHIN_S = 60.0


@pytest.fixture(scope="module")
def replicated() -> Iterator[Pair]:
    with a_pair() as pair:
        yield pair


@pytest.fixture
def pair(replicated: Pair) -> Iterator[Pair]:
    yield replicated
    replicated.resume()
    replicated.cancel_waits()
    replicated.until_none_waits()


@pytest.fixture
def database(pair: Pair) -> str:
    return pair.new_database()


def a_store(url: str, *, durability: Durability = Durability.REPLICATED) -> PostgresStore:
    return PostgresStore(
        url, new_cluster_id="c_test", candidate=Candidate("h_test"), write_s=WRITE_S, durability=durability
    )


@pytest.fixture
def yard(pair: Pair, database: str) -> Iterator[Yard]:
    yard = Yard(a_store(pair.primary.url(database)))
    # Statements are prepared when they are first used.
    yard.has(a_task())
    yield yard
    pair.resume()
    yard.reader.close()
    yard.store.close()


@pytest.fixture
def beside() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


def waits(pair: Pair) -> set[object]:
    """Which statements wait for the standby: also of one connection, each is another."""
    return set(pair.primary.administer("SELECT pid, query_start FROM pg_stat_activity WHERE wait_event = 'SyncRep'"))


def goes_on_after(end: Callable[[], int], pair: Pair, work: "Future[None]") -> None:
    """What waits for the standby is ended as an operator does, and its writer does not believe that it is done: it
    waits for something later."""
    pair.until_waiting()
    before = waits(pair)
    assert end() == 1
    wait_until(lambda: waits(pair) - before or work.done(), within_s=WITHIN_S, what="a later write, or an answer")
    assert not work.done(), "acknowledged"


def cancelled_for_good(pair: Pair, over: Callable[[], bool]) -> None:
    while not over():
        pair.cancel_waits()


# --- what counts ---


def test_a_commit_whose_wait_is_cancelled_counts_once_a_later_one_is_confirmed(
    pair: Pair, database: str, yard: Yard, beside: ThreadPoolExecutor
) -> None:
    # Given a commit that waits for a standby which takes nothing
    task = a_task()
    pair.pause()
    writing = beside.submit(yard.has, task)
    before = pair.until_waiting()

    # When its wait is cancelled, then it can be seen and is not acknowledged
    goes_on_after(pair.cancel_waits, pair, writing)
    assert yard.reader.find(user_id=None, task=task.id) is not None
    assert pair.waiting() == before, "the same process waits: another might be of another server"

    # And it is, as soon as the standby has something that was written after it
    pair.resume()
    writing.result(WITHIN_S)
    pair.until_caught_up()
    found = f"SELECT 1 FROM taskyard.task WHERE id = '{task.id}'"
    assert pair.standby.administer(found, database=database) == [(1,)]


def test_a_commit_that_no_standby_confirms_is_not_acknowledged_and_found_once_one_does(
    pair: Pair, yard: Yard, beside: ThreadPoolExecutor
) -> None:
    # Given a commit, and an operator who cancels whatever waits
    task = a_task()
    pair.pause()
    writing = beside.submit(yard.store.write, a_batch(yard.identity, created=[task]))
    cancelled_for_good(pair, writing.done)
    with pytest.raises(Unconfirmed, match="no standby has confirmed it: cancel"):
        writing.result()

    # Then neither is a probe, nor is the state loaded with it
    for act in (yard.store.probe, yard.store.load):
        acting = beside.submit(act)
        cancelled_for_good(pair, acting.done)
        with pytest.raises(StoreUnavailable):
            acting.result()

    # Until the standby is back
    pair.resume()
    yard.store.probe()
    assert task in yard.store.load().tasks


def test_a_commit_that_was_only_found_counts_once_a_later_one_is_confirmed(
    pair: Pair, yard: Yard, beside: ThreadPoolExecutor
) -> None:
    # Given a commit whose connection is ended while it waits, so that its writer is not told what became of it
    task = a_task()
    pair.pause()
    writing = beside.submit(yard.has, task)

    # Then it is found in the log, and waited for all the same
    goes_on_after(pair.end_waiting, pair, writing)
    assert yard.reader.find(user_id=None, task=task.id) is not None
    pair.resume()
    writing.result(WITHIN_S)


@pytest.mark.parametrize("write", ["probe", "figures", "archive", "open", "announce", "renew", "migrate"])
def test_whatever_else_is_written_counts_when_it_is_confirmed(
    pair: Pair, database: str, beside: ThreadPoolExecutor, write: str
) -> None:
    url = pair.primary.url(database)
    with_lease = Lease(url, Candidate("h_test"))
    store = PostgresStore(url, new_cluster_id="c_test", candidate=Candidate("h_test", lease_ms=1), lease=with_lease)
    identity = store.open()
    store.write(a_batch(identity, created=[a_task()]))
    if write == "open":
        store.close()
    later = store.load().identity if write != "open" else identity
    acts: dict[str, Callable[[], object]] = {
        "probe": store.probe,
        "figures": lambda: store.keep_figures([Figures(60, 0, b"x")], kept={60: (0, 0)}),
        # In several steps, of which the last is the commit.
        "archive": lambda: store.write(a_batch(later, created=[a_task()], archive=(0, 0))),
        "open": store.open,
        "announce": lambda: with_lease.announce(url="http://here", version="1"),
        "renew": with_lease.renew,
        "migrate": lambda: migrate(url),
    }
    pair.pause()
    acting = beside.submit(acts[write])
    if write in ("announce", "renew"):
        # It is asked again soon, and gives up by itself.
        pair.until_waiting()
        pair.cancel_waits()
        with pytest.raises(StoreUnavailable):
            acting.result(WITHIN_S)
    else:
        goes_on_after(pair.cancel_waits, pair, acting)
        pair.resume()
        acting.result(WITHIN_S)
    pair.resume()
    with_lease.close()
    store.close()


def test_a_copy_that_no_standby_confirms_is_told_as_one(pair: Pair, database: str, beside: ThreadPoolExecutor) -> None:
    with made(pair.primary.url(database)) as copy:
        copy.keep_secret(b"0123456789abcdef0123456789abcdef")
        pair.pause()
        committing = beside.submit(copy.commit)
        cancelled_for_good(pair, committing.done)
        with pytest.raises(StoreRefused, match=r"The copy was made, but .* no standby has confirmed it"):
            committing.result()


# --- how long the server waits ---


@contextmanager
def giving_up_soon(store: PostgresStore) -> Iterator[None]:
    """Only what is expected to be given up: all else may take long on a busy machine."""
    store._ready()._connection.timeout_s = store._write_s = SOON_S
    yield
    store._write_s = WRITE_S
    store._disconnect()


def test_a_commit_that_is_given_up_does_not_go_on_waiting_on_the_server(pair: Pair, database: str) -> None:
    store = a_store(pair.primary.url(database))
    identity = store.open()
    pair.pause()
    with giving_up_soon(store), pytest.raises(StoreUnavailable):
        store.write(a_batch(identity, created=[a_task()]))
    pair.until_none_waits()

    # And what it wrote is there to be found
    pair.resume()
    store.probe()
    assert len(store.load().tasks) == 1
    store.close()


def test_a_commit_of_a_hub_that_was_killed_does_not_keep_another_from_leading(
    pair: Pair, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = pair.primary.url(database)
    with a_proxy(pair.primary.port) as wire:
        # Given a hub that vanishes while its commit waits
        killed = a_store(pair.primary.url(database, port=wire.port))
        identity = killed.open()
        pair.pause()
        wire.close_to_new(True)
        with giving_up_soon(killed), pytest.raises(StoreUnavailable):
            killed.write(a_batch(identity, created=[a_task()]))
        [left] = pair.until_waiting()
        with Session(url, purpose="test", timeout_s=WRITE_S) as session:
            end_abandoned_waits(session)
            assert pair.waiting() == [left], "its hub may still wait for it"
            # When it cannot wait any more
            monkeypatch.setattr("taskyard.store.postgres.durability.ABANDONED_MS", 0)
            end_abandoned_waits(session)
        pair.until_none_waits()
        pair.resume()
        wire.close_to_new(False)
        killed.close()
    with a_store(url) as next_:
        assert len(next_.load().tasks) == 1


# --- what is promised ---


def waits_for(pair: Pair, store: PostgresStore, beside: ThreadPoolExecutor) -> bool:
    """Whether a commit of this store waits for the standby."""
    store.open()
    pair.pause()
    probing = beside.submit(store.probe)
    over = threading.Event()
    probing.add_done_callback(lambda _: over.set())
    while not over.wait(0.01):
        if pair.waiting():
            break
    waited = not probing.done()
    pair.resume()
    probing.result(WITHIN_S)
    store.close()
    return waited


def test_sessions_wait_for_the_standby_unless_local_is_meant(
    pair: Pair, database: str, beside: ThreadPoolExecutor
) -> None:
    url = pair.primary.url(database)
    assert waits_for(pair, a_store(url), beside)
    assert not waits_for(pair, a_store(url, durability=Durability.LOCAL), beside)


@pytest.mark.parametrize(
    ("default", "set_to"), [("on", "on"), ("remote_apply", "remote_apply"), ("local", "on"), ("remote_write", "on")]
)
def test_a_session_sets_what_its_commits_wait_for(pair: Pair, database: str, default: str, set_to: str) -> None:
    pair.primary.administer(f"ALTER DATABASE {database} SET synchronous_commit = {default}")
    for durability, expected in ((Durability.REPLICATED, set_to), (Durability.LOCAL, "local")):
        store = a_store(pair.primary.url(database), durability=durability)
        [(found,)] = store._ready()._connection.execute("SHOW synchronous_commit").fetchall()
        assert found == expected
        store.close()


@pytest.mark.parametrize("setting", ["remote_write", "local"])
def test_a_server_that_promises_less_is_refused_unless_that_is_meant(pair: Pair, database: str, setting: str) -> None:
    pair.primary.administer(f"ALTER DATABASE {database} SET synchronous_commit = {setting}")
    url = pair.primary.url(database)
    for act in (a_store(url).open, a_store(url).check):
        with pytest.raises(
            StoreRefused, match=rf"synchronous_commit = {setting}.* durability = \"local\" under \[cluster"
        ):
            act()
    store = a_store(url, durability=Durability.LOCAL)
    store.check()
    store.open()
    store.close()


def test_a_server_that_flushes_nothing_is_refused_whatever_is_meant(pair: Pair, database: str) -> None:
    pair.primary.administer(f"ALTER DATABASE {database} SET synchronous_commit = off")
    with pytest.raises(StoreRefused, match="synchronous_commit = off"):
        a_store(pair.primary.url(database), durability=Durability.LOCAL).open()


# --- failover: these leave another primary ---


@pytest.mark.soak
def test_a_commit_that_a_failover_lost_is_acknowledged_only_if_it_was_written_again(
    pair: Pair, database: str, beside: ThreadPoolExecutor
) -> None:
    # Given a commit that stands on the primary alone, and whose writer waits until it is confirmed
    yard = Yard(a_store(pair.url(database)))
    yard.has(a_task())
    pair.until_caught_up()
    task = a_task()
    pair.pause()
    writing = beside.submit(yard.has, task)
    goes_on_after(pair.cancel_waits, pair, writing)

    # When the primary dies and the standby, which does not have it, takes its place
    pair.primary.stop()
    pair.promote()
    pair.replicate(synchronously=False)

    # Then it is acknowledged only as something that the new primary has
    try:
        writing.result(WITHIN_S)
    except StoreUnavailable:
        yard.identity = yard.store.load().identity
        assert task not in yard.store.load().tasks
    else:
        assert task in yard.store.load().tasks
    yard.reader.close()
    yard.store.close()
    pair.rejoin()
    pair.replicate(synchronously=True)


# --- which of the servers is dialled ---


def test_of_primary_and_standby_the_primary_is_used_wherever_it_stands(pair: Pair) -> None:
    for first, second in ((pair.primary, pair.standby), (pair.standby, pair.primary)):
        url = f"postgresql://yard@127.0.0.1:{first.port},127.0.0.1:{second.port}/postgres"
        with Session(url, purpose="test", timeout_s=WRITE_S) as session:
            assert session.rows(placed("SELECT pg_is_in_recovery()")) == [(False,)]
