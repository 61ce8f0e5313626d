"""What the PostgreSQL engine refuses to open, in words, without changing anything."""

import threading

import psycopg
import pytest

from taskyard.store.port import StoreRefused, StoreUnavailable
from taskyard.store.postgres import Candidate, PostgresStore, checks
from taskyard.store.postgres.migrate import SCHEMA_VERSION, refuse_other_schema
from taskyard.store.postgres.session import Session
from tests.support.pg_proxy import a_proxy
from tests.support.postgres import GUARDED, Cluster, new_yard
from tests.support.records import Yard, a_task


def a_store(url: str) -> PostgresStore:
    return PostgresStore(url, new_cluster_id="c_test", candidate=Candidate("h_test"))


def refusal_of(url: str) -> str:
    with pytest.raises(StoreRefused) as opening:
        a_store(url).open()
    with pytest.raises(StoreRefused) as checking:
        a_store(url).check()
    assert str(opening.value) == str(checking.value)
    return str(opening.value)


def changed(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as operator:
        operator.execute(statement.encode())


def test_a_yard_that_is_in_order_is_opened_and_checked() -> None:
    url = new_yard()
    a_store(url).check()
    store = a_store(url)
    assert store.open().epoch == 1
    store.close()


@pytest.mark.parametrize("url", ["postgresql://yard:sesame%zz@host/db", "postgres//nonsense"])
def test_a_url_that_cannot_be_read_is_refused_without_repeating_it(url: str) -> None:
    sentence = refusal_of(url)
    assert "The database URL cannot be read" in sentence
    assert "sesame" not in sentence


def test_a_server_that_is_not_there_is_refused(server: Cluster) -> None:
    sentence = refusal_of("postgresql://yard:sesame@127.0.0.1:1/yard")
    assert "127.0.0.1:1/yard cannot be reached" in sentence
    assert "See that the server runs" in sentence
    assert "sesame" not in sentence


def test_a_hub_that_runs_may_try_again_what_one_that_starts_is_refused() -> None:
    with pytest.raises(StoreUnavailable):
        a_store("postgresql://yard@127.0.0.1:1/yard").open()


def test_a_database_that_is_not_there_is_refused(server: Cluster) -> None:
    assert "Create the database" in refusal_of(server.url("nowhere"))


def test_a_wrong_password_is_refused_and_not_repeated(server: Cluster) -> None:
    sentence = refusal_of(f"postgresql://{GUARDED}:sesame%20street@127.0.0.1:{server.port}/postgres")
    assert "does not let us in" in sentence
    assert "sesame" not in sentence


def test_a_database_without_a_schema_is_refused_with_the_command_to_make_one(server: Cluster) -> None:
    sentence = refusal_of(server.url(server.new_database(template="template0")))
    assert "taskyard migrate" in sentence


def test_a_schema_that_is_one_version_ahead_is_taken_and_one_further_is_refused(server: Cluster) -> None:
    url = new_yard()
    changed(url, f"INSERT INTO taskyard.migration VALUES ({SCHEMA_VERSION + 1}, now())")
    store = a_store(url)
    store.open()
    store.close()
    changed(url, f"INSERT INTO taskyard.migration VALUES ({SCHEMA_VERSION + 2}, now())")
    assert "newer Taskyard" in refusal_of(url)


def test_a_schema_of_an_older_version_is_refused_with_the_command_to_bring_it_up() -> None:
    with pytest.raises(StoreRefused, match=r"version 3, and this Taskyard needs 4. Run `taskyard migrate"):
        refuse_other_schema(3, url="postgresql://here/yard", known=4)


def test_a_database_that_cannot_hold_every_text_is_refused(server: Cluster) -> None:
    server.administer("CREATE DATABASE narrow TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
    assert "ENCODING 'UTF8'" in refusal_of(server.url("narrow"))


def test_a_database_that_acknowledges_what_it_may_lose_is_refused(server: Cluster) -> None:
    name = server.new_database()
    server.administer(f"ALTER DATABASE {name} SET synchronous_commit = off")
    assert "synchronous_commit = off" in refusal_of(server.url(name))


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_can_lose_what_it_wrote_is_refused(setting: str) -> None:
    safe = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "remote_apply"}
    checks.refuse_unsafe(**safe)
    with pytest.raises(StoreRefused, match=f"{setting} = on in postgresql.conf"):
        checks.refuse_unsafe(**{**safe, setting: "off"})


def test_an_old_server_is_refused() -> None:
    checks.refuse_old_server(130_000)
    with pytest.raises(StoreRefused, match="This is PostgreSQL 12"):
        checks.refuse_old_server(120_022)


def test_a_replica_is_refused() -> None:
    checks.refuse_replica(is_replica=False)
    with pytest.raises(StoreRefused, match="target_session_attrs=primary"):
        checks.refuse_replica(is_replica=True)


def test_a_pooler_that_shares_connections_between_transactions_is_refused() -> None:
    checks.refuse_pooler(is_shared=False)
    with pytest.raises(StoreRefused, match="session mode"):
        checks.refuse_pooler(is_shared=True)


def test_a_pooler_that_gives_each_session_a_connection_of_its_own_is_taken(server: Cluster) -> None:
    with a_proxy(server.port) as proxy:
        proxy.is_pooler = True
        url = server.url(server.new_database(), port=proxy.port)
        with Session(url, purpose="test", timeout_s=5.0) as session:
            assert session.announced_pid > 2**24, "it gives a number of its own"
        a_store(url).check()


def test_a_user_who_does_not_own_the_tables_is_refused(server: Cluster) -> None:
    name = server.new_database()
    changed(server.url(name), f"GRANT USAGE ON SCHEMA taskyard TO {GUARDED}")
    changed(server.url(name), f"GRANT ALL ON ALL TABLES IN SCHEMA taskyard TO {GUARDED}")
    url = f"postgresql://{GUARDED}:open%20sesame@127.0.0.1:{server.port}/{name}"
    assert "belongs to another role" in refusal_of(url)


def test_a_yard_whose_identity_is_damaged_is_refused(server: Cluster) -> None:
    url = new_yard()
    store = a_store(url)
    store.open()
    store.close()
    changed(url, "UPDATE taskyard.identity SET epoch = 7")
    with pytest.raises(StoreRefused, match="the identity of this yard is not what was written"):
        store.open()


def test_a_yard_with_a_damaged_row_is_not_loaded() -> None:
    url = new_yard()
    store = a_store(url)
    yard = Yard(store)
    yard.has(a_task())
    changed(url, "UPDATE taskyard.task SET status = 'running'")
    with pytest.raises(StoreRefused, match="does not agree with its record"):
        store.load()
    changed(url, "UPDATE taskyard.task SET record = 'nonsense'")
    with pytest.raises(StoreRefused, match="its checksum differs"):
        store.load()
    yard.reader.close()
    store.close()


def test_a_server_that_goes_away_while_it_is_opened_is_refused_for_now(server: Cluster) -> None:
    name = server.new_database()
    with a_proxy(server.port) as proxy:
        store = a_store(server.url(name, port=proxy.port))

        def cut_once_it_waits() -> None:
            server.until_waiting(name, 1)
            proxy.cut()

        cutting = threading.Thread(target=cut_once_it_waits)
        with psycopg.connect(server.url(name)) as somebody:
            # It waits for this row when it takes the lead.
            somebody.execute("SELECT 1 FROM taskyard.identity FOR UPDATE")
            cutting.start()
            with pytest.raises(StoreRefused, match="was lost while it was opened"):
                store.open()
            cutting.join()
        assert store.open().epoch == 1
        store.close()


def test_a_backup_is_the_servers_own_business() -> None:
    with pytest.raises(StoreRefused, match="pg_dump"):
        a_store(new_yard()).backup("copy.db")


def test_a_store_that_lost_its_server_can_be_closed(server: Cluster) -> None:
    with a_proxy(server.port) as proxy:
        store = a_store(server.url(server.new_database(), port=proxy.port))
        store.open()
        proxy.close_to_new(True)
        proxy.cut()
        store.close()
