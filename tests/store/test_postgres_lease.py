"""Keeping the lead, and noticing that nobody has it."""

import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from taskyard.store.port import LedElsewhere, StoreFenced, StoreUnavailable
from taskyard.store.postgres import Candidate, Lease, PostgresStore
from taskyard.store.postgres.lease import WAIT_S_MAX
from tests.support.live import wait_until
from tests.support.pg_proxy import Loss, a_proxy
from tests.support.postgres import Cluster

BRIEF_MS, LONG_MS = 1, 60_000
MOMENT_S, WHILE_S = 0.01, 20.0


class Member:
    """A hub that may lead: its lease, and the store it opens when it does."""

    def __init__(self, url: str, name: str, *, lease_ms: int) -> None:
        self.candidate = Candidate(name, address=f"{name}:7000", lease_ms=lease_ms)
        self.lease = Lease(url, self.candidate)
        self.store = PostgresStore(url, new_cluster_id="c_test", candidate=self.candidate, lease=self.lease)

    def close(self) -> None:
        self.store.close()
        self.lease.close()


Join = Callable[..., Member]


@pytest.fixture
def join(server: Cluster, database: str) -> Iterator[Join]:
    members: list[Member] = []

    def make(name: str, *, lease_ms: int = LONG_MS, port: int | None = None) -> Member:
        members.append(Member(server.url(database, port=port), name, lease_ms=lease_ms))
        return members[-1]

    yield make
    for member in members:
        member.close()


# --- the lease ---


def test_nobody_holds_the_lease_of_a_yard_that_nobody_opened(join: Join) -> None:
    assert join("h_one").lease.holder() is None


def test_a_lease_that_is_renewed_goes_on(join: Join) -> None:
    one = join("h_one", lease_ms=BRIEF_MS)
    one.store.open()
    renewed = Lease(one.lease._url, Candidate("h_one", lease_ms=LONG_MS))
    renewed.begin(1)
    renewed.renew()
    holder = join("h_two").lease.holder()
    assert (holder.id, holder.epoch) == ("h_one", 1)
    assert LONG_MS / 2 < holder.left_ms <= LONG_MS
    assert holder.since > 0
    renewed.close()


def test_a_lease_that_ran_out_and_that_nobody_took_can_be_renewed(join: Join) -> None:
    one = join("h_one", lease_ms=BRIEF_MS)
    one.store.open()
    one.lease.renew()


def test_a_lease_that_another_took_cannot_be_renewed(join: Join) -> None:
    one, two = join("h_one", lease_ms=BRIEF_MS), join("h_two")
    one.store.open()
    two.store.open()
    with pytest.raises(StoreFenced):
        one.lease.renew()


def test_a_hub_that_resigns_lets_another_lead(join: Join) -> None:
    one, two = join("h_one"), join("h_two")
    assert one.lease.wait_for_death(WHILE_S)
    one.store.open()
    one.lease.resign()
    assert not one.lease.has_lock
    assert two.lease.wait_for_death(WHILE_S)
    assert two.store.open().epoch == 2


# --- the lock ---


def test_the_lock_of_a_hub_that_leads_is_waited_for_in_vain(join: Join) -> None:
    one, two = join("h_one"), join("h_two")
    assert one.lease.wait_for_death(WHILE_S)
    assert one.lease.wait_for_death(WHILE_S), "it has it already, and nobody leads"
    one.store.open()
    assert not two.lease.wait_for_death(MOMENT_S)
    with pytest.raises(LedElsewhere):
        two.store.open()
    assert not one.lease.is_lost


def test_a_hub_that_dies_is_followed_before_its_lease_runs_out(join: Join, server: Cluster, database: str) -> None:
    # Given a hub that leads for a minute yet, and one that waits
    one, two = join("h_one"), join("h_two")
    assert one.lease.wait_for_death(WHILE_S)
    one.store.open()
    found: list[bool] = []
    waiting = threading.Thread(target=lambda: found.append(two.lease.wait_for_death(WHILE_S)))
    waiting.start()

    # When the first one's connections end, as they do with its process
    one.lease.close()
    waiting.join()

    # Then the second leads at once, and the first is fenced
    assert found == [True]
    assert two.store.open().epoch == 2
    with pytest.raises(StoreFenced):
        one.store.probe()


def test_a_leader_notices_that_it_lost_its_lock(join: Join, server: Cluster, database: str) -> None:
    one = join("h_one")
    assert one.lease.wait_for_death(WHILE_S)
    one.store.open()
    assert not one.lease.is_lost
    assert server.terminate(database, "lock") == 1
    # Its process is off the server's list before its end of the socket is closed.
    wait_until(lambda: one.lease.is_lost, within_s=WHILE_S, what="a lock that is known to be lost")
    assert not one.lease.has_lock
    # And does not take it again by itself: somebody may lead by it
    one.lease.renew()
    assert one.lease.is_lost


def test_who_gets_the_lock_of_a_leader_that_never_had_it_does_not_lead(join: Join) -> None:
    # Given a leader that hung, still holds the lock, and another that took over when its lease had run out
    hung, two, three = join("h_hung", lease_ms=BRIEF_MS), join("h_two"), join("h_three")
    assert hung.lease.wait_for_death(WHILE_S)
    hung.store.open()
    assert not two.lease.wait_for_death(MOMENT_S)
    two.store.open()
    assert not two.lease.is_lost, "what it never had it cannot lose"

    # When the first lets go at last, or asks for the lead again
    assert not hung.lease.wait_for_death(MOMENT_S)
    assert not three.lease.wait_for_death(MOMENT_S)
    with pytest.raises(LedElsewhere):
        three.store.open()

    # Then the leader takes the lock with its next renewal, and its death is noticed from then on
    two.lease.renew()
    assert two.lease.has_lock
    assert not three.lease.wait_for_death(MOMENT_S)
    two.lease.close()
    assert three.lease.wait_for_death(WHILE_S)
    assert three.store.open().epoch == 3


def test_a_leader_without_the_lock_goes_on_while_somebody_holds_it(join: Join) -> None:
    hung, two = join("h_hung", lease_ms=BRIEF_MS), join("h_two")
    assert hung.lease.wait_for_death(WHILE_S)
    hung.store.open()
    two.store.open()
    two.lease.renew()
    assert not two.lease.has_lock
    assert not two.lease.is_lost


# --- what cannot be told ---


@pytest.mark.parametrize("loss", [Loss.REQUEST, Loss.ANSWER])
def test_who_loses_its_connection_while_it_waits_for_the_lock_has_not_got_it(
    join: Join, server: Cluster, loss: Loss
) -> None:
    with a_proxy(server.port) as proxy:
        one, two = join("h_one"), join("h_two", port=proxy.port)
        assert one.lease.wait_for_death(WHILE_S)
        one.store.open()
        assert not two.lease.wait_for_death(MOMENT_S)
        proxy.lose(loss)
        with pytest.raises(StoreUnavailable):
            two.lease.wait_for_death(MOMENT_S)
        assert not two.lease.has_lock
        assert not two.lease.wait_for_death(MOMENT_S)


def test_without_a_server_there_is_no_lead(join: Join, server: Cluster) -> None:
    with a_proxy(server.port) as proxy:
        one = join("h_one", port=proxy.port)
        assert one.lease.wait_for_death(WHILE_S)
        one.store.open()
        one.lease.renew()
        proxy.close_to_new(True)
        proxy.cut()
        for question in (one.lease.renew, one.lease.resign, one.lease.holder, one.lease.hubs, one.lease.secret):
            with pytest.raises(StoreUnavailable):
                question()
        with pytest.raises(StoreUnavailable):
            one.lease.wait_for_death(MOMENT_S)
        proxy.close_to_new(False)
        one.lease.renew()


def test_who_waits_for_the_lock_notices_that_the_server_has_vanished_without_a_word(
    join: Join, server: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_proxy(server.port) as proxy:
        one, two = join("h_one"), join("h_two", port=proxy.port)
        assert one.lease.wait_for_death(WHILE_S)
        one.store.open()
        assert not two.lease.wait_for_death(MOMENT_S)
        monkeypatch.setattr("taskyard.store.postgres.lease.ANSWER_S", 0.5)
        proxy.lose(Loss.EVERYTHING)
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            two.lease.wait_for_death(MOMENT_S)
        assert time.monotonic() - began < WAIT_S_MAX, "the longest wait for the lock"
        assert not two.lease.has_lock


@pytest.mark.slow
def test_a_server_that_says_nothing_is_not_waited_for(join: Join, server: Cluster) -> None:
    with a_proxy(server.port) as proxy:
        one = join("h_one", port=proxy.port)
        one.store.open()
        one.lease.renew()
        proxy.lose(Loss.EVERYTHING)
        with pytest.raises(StoreUnavailable):
            one.lease.renew()
        proxy.lose(Loss.NOTHING)
        one.lease.renew()


def test_a_lock_session_that_cannot_be_had_does_not_keep_a_leader_from_renewing(
    join: Join, server: Cluster, database: str
) -> None:
    one = join("h_one")
    one.store.open()
    one.lease.holder()
    with psycopg.connect(server.url(), autocommit=True) as operator:
        # Connections that are there go on; no new one is let in.
        operator.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false".encode())
        one.lease.renew()
        assert not one.lease.has_lock
        operator.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS true".encode())
    one.lease.renew()
    assert one.lease.has_lock


# --- hubs ---


def test_hubs_find_each_other(join: Join) -> None:
    one, two = join("h_one"), join("h_two")
    one.lease.announce(url="http://one", version="1")
    two.lease.announce(url="http://two", version="1")
    two.lease.announce(url="http://two", version="2")
    found = {hub.id: hub for hub in one.lease.hubs()}
    assert {(hub.address, hub.url, hub.version) for hub in found.values()} == {
        ("h_one:7000", "http://one", "1"),
        ("h_two:7000", "http://two", "2"),
    }
    assert all(hub.started_at > 0 and 0 <= hub.seen_ms_ago < 60_000 for hub in found.values())
    two.lease.withdraw()
    assert [hub.id for hub in one.lease.hubs()] == ["h_one"]


def test_hubs_that_were_not_seen_for_a_day_are_forgotten(join: Join, server: Cluster, database: str) -> None:
    one = join("h_one")
    one.lease.announce(url="http://one", version="1")
    with psycopg.connect(server.url(database), autocommit=True) as operator:
        operator.execute("UPDATE taskyard.hub SET seen_at = seen_at - interval '2 days'")
    join("h_two").lease.announce(url="http://two", version="1")
    assert [hub.id for hub in one.lease.hubs()] == ["h_two"]


def test_hubs_of_one_yard_share_a_secret_that_others_do_not_have(join: Join, server: Cluster) -> None:
    one, two = join("h_one").lease.secret(), join("h_two").lease.secret()
    assert one == two
    assert len(one) == 32
    elsewhere = server.new_database(template="template0")
    from taskyard.store.postgres import migrate

    migrate(server.url(elsewhere))
    other = Lease(server.url(elsewhere), Candidate("h_other"))
    assert other.secret() != one
    other.close()
