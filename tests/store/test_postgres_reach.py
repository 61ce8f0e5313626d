"""Why a server cannot be reached, in its words and libpq's, and whether a hub that starts waits for it."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from taskyard.store.postgres.reach import Away, Unreachable, Unresolved, address_of, connect_or_refuse, unreachable
from tests.support.pg_proxy import a_proxy
from tests.support.postgres import BARRED, GUARDED, Cluster, a_cluster
from tests.support.replication import Pair, a_pair

CREDENTIALS = "Check user and password"


def refused(url: str) -> Unreachable:
    with pytest.raises(Unreachable) as error:
        connect_or_refuse(url, purpose="test", timeout_s=10.0).close()
    assert "sesame" not in str(error.value)
    return error.value


@pytest.fixture
def place(server: Cluster, database: str) -> str:
    """What follows the user in a URL."""
    return f"127.0.0.1:{server.port}/{database}"


# --- what a person has to mend ---


@pytest.mark.parametrize("user", [f"{GUARDED}:sesame", GUARDED, "unheard_of"])
def test_who_is_not_known_by_name_and_password_is_told_to_check_them(place: str, user: str) -> None:
    error = refused(f"postgresql://{user}@{place}")
    assert type(error) is Unreachable
    assert "does not let us in" in str(error)
    assert CREDENTIALS in str(error)


def test_who_is_turned_away_at_the_door_is_told_of_pg_hba(place: str) -> None:
    error = refused(f"postgresql://{BARRED}@{place}")
    assert type(error) is Unreachable
    assert "pg_hba.conf admit this user" in str(error)
    assert CREDENTIALS not in str(error)


def test_a_database_that_is_missing_and_one_that_is_closed_to_a_role_have_sentences_of_their_own(
    server: Cluster, database: str
) -> None:
    error = refused(server.url("nowhere"))
    assert type(error) is Unreachable
    assert "Create the database with `createdb`" in str(error)
    server.administer(f"REVOKE CONNECT ON DATABASE {database} FROM PUBLIC")
    try:
        error = refused(f"postgresql://{GUARDED}:open%20sesame@127.0.0.1:{server.port}/{database}")
    finally:
        server.administer(f"GRANT CONNECT ON DATABASE {database} TO PUBLIC")
    assert type(error) is Unreachable
    assert "Grant this role what it lacks" in str(error)
    assert CREDENTIALS not in str(error)


@pytest.mark.parametrize("wrong", ["sslmode=require", "sslmode=nonsense", "connect_timeout=long", "keepalives=x"])
def test_a_url_that_asks_for_what_is_not_possible_is_to_be_corrected(place: str, wrong: str) -> None:
    error = refused(f"postgresql://yard@{place}?{wrong}")
    assert type(error) is Unreachable
    assert "Correct the parameters in the URL" in str(error)


def test_a_certificate_that_cannot_be_checked_is_not_waited_for() -> None:
    with a_server_that_speaks_tls() as port:
        error = refused(f"postgresql://yard@127.0.0.1:{port}/yard?sslmode=verify-full&sslrootcert=/nowhere")
    assert type(error) is Unreachable
    assert "root certificate file" in str(error)


@contextmanager
def a_server_that_speaks_tls() -> Iterator[int]:
    """It says that it does, and nothing else."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(8)
                connection.send(b"S")
                connection.recv(1)

        answering = threading.Thread(target=answer)
        answering.start()
        yield listener.getsockname()[1]
        answering.join()


# --- what may pass ---


@pytest.mark.parametrize("url", ["postgresql://yard@127.0.0.1:1/yard", "postgresql:///yard?host=/nowhere"])
def test_a_server_that_is_not_there_is_waited_for(url: str) -> None:
    error = refused(url)
    assert type(error) is Away
    assert "See that the server runs" in str(error)


def test_a_server_that_hangs_up_is_waited_for(server: Cluster) -> None:
    with a_proxy(server.port) as proxy:
        proxy.close_to_new(True)
        assert type(refused(server.url(port=proxy.port))) is Away


@pytest.mark.soak
def test_a_server_that_says_nothing_is_waited_for(server: Cluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert type(refused(server.url(port=silent.getsockname()[1]) + "?connect_timeout=2")) is Away


def test_a_name_that_is_not_known_is_told_apart(server: Cluster) -> None:
    error = refused("postgresql://yard@nowhere.invalid/yard")
    assert type(error) is Unresolved
    assert "nowhere.invalid:5432/yard is not known under this name" in str(error)
    # Where another host is known, it is that one which is away.
    assert type(refused("postgresql://yard@nowhere.invalid,127.0.0.1:1/yard")) is Away


def test_a_server_without_room_is_waited_for(server: Cluster, place: str) -> None:
    role = f"crowded_{os.getpid()}"
    server.administer(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 0")
    try:
        error = refused(f"postgresql://{role}@{place}")
    finally:
        server.administer(f"DROP ROLE {role}")
    assert type(error) is Away
    assert "has no connection left" in str(error)
    assert CREDENTIALS not in str(error)


@pytest.mark.soak
def test_a_server_that_is_stopping_is_waited_for() -> None:
    with a_cluster() as server:
        # It ends when its last session does, and takes no connection before.
        with psycopg.connect(server.url()):
            assert server._process is not None
            server._process.send_signal(signal.SIGTERM)
            while "is shutting down" not in str(error := refused(server.url())):
                pass
        assert type(error) is Away
        assert "takes no connections at the moment" in str(error)
        server._process.wait(60)


@pytest.mark.soak
def test_servers_of_which_none_is_the_primary_are_waited_for() -> None:
    with a_pair() as pair:
        pair.primary.stop()
        for wanted in ("read-write", "primary"):
            error = refused(pair.url().replace("read-write", wanted))
            assert type(error) is Away
            assert "once one of its servers is promoted" in str(error)
        pair.promote()
        connect_or_refuse(pair.url(), purpose="test", timeout_s=10.0).close()
        wait_for_recovery(pair)


def wait_for_recovery(pair: Pair) -> None:
    """A server that recovers and cannot be read meanwhile says so."""
    pair.rejoin()
    pair.standby.stop(signal.SIGINT)
    pair.standby.configure(hot_standby="off")
    pair.standby.start(wait=False)
    while "the database system is" not in str(error := refused(pair.standby.url())):
        pass
    assert type(error) is Away


@pytest.mark.parametrize(
    "said",
    [
        "FATAL: the database system is starting up",
        "FATAL: the database system is in recovery mode",
        "FATAL: the database system is not yet accepting connections",
        "FATAL: sorry, too many clients already",
        "FATAL: remaining connection slots are reserved for non-replication superuser connections",
        "FATAL: das Datenbanksystem startet",
        "server closed the connection unexpectedly",
    ],
)
def test_what_is_not_known_to_last_is_waited_for(said: str) -> None:
    error = unreachable("db:5432/yard", said)
    assert type(error) is Away
    assert said in str(error)


def test_of_several_hosts_what_a_person_has_to_mend_comes_first() -> None:
    said = 'Connection refused All failures were: - host: a: FATAL: password authentication failed for user "yard"'
    assert type(unreachable("a:1,b:2/yard", said)) is Unreachable


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("postgresql://yard:sesame@db/yard", "db:5432/yard"),
        ("postgresql://yard@a:1,b:2/yard", "a:1,b:2/yard"),
        ("postgresql://yard@a,b:2/yard", "a:5432,b:2/yard"),
        ("postgresql:///yard?host=a,b&port=7", "a:7,b:7/yard"),
        ("postgresql:///yard", "the local socket:5432/yard"),
    ],
)
def test_an_address_names_every_host_with_its_port_and_no_user(url: str, address: str) -> None:
    assert address_of(url) == address
