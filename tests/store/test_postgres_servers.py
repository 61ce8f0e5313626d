"""Two servers that can be written, after a failover that fenced none of them: the one that was promoted is used."""

from collections.abc import Iterator

import pytest

from taskyard.store.port import StoreUnavailable
from taskyard.store.postgres.reach import Away, connect_or_refuse
from taskyard.store.postgres.servers import Timelines
from taskyard.store.postgres.session import Session
from taskyard.store.postgres.statements import placed
from tests.support.pg_proxy import Loss, a_proxy
from tests.support.ports import free_port
from tests.support.postgres import Cluster
from tests.support.replication import Pair, a_pair

pytestmark = pytest.mark.slow

PORT = placed("SELECT setting::int FROM pg_settings WHERE name = 'port'")
KEEP_TO_ITSELF = "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC"
A_PLAIN_USER = "CREATE ROLE plain LOGIN"


@pytest.fixture(scope="module")
def split() -> Iterator[Pair]:
    """The standby was promoted, and what was the primary lives. The URL names that one first."""
    with a_pair(synchronous=False) as pair:
        pair.promote()
        yield pair


@pytest.fixture(autouse=True)
def used(monkeypatch: pytest.MonkeyPatch) -> Timelines:
    """What this process has used: nothing yet."""
    used = Timelines()
    for module in ("servers", "session"):
        monkeypatch.setattr(f"taskyard.store.postgres.{module}.USED", used)
    return used


def a_session(url: str) -> Session:
    return Session(url, purpose="test", timeout_s=10)


def port_of(session: Session) -> int:
    port: int = session.rows(PORT)[0][0]
    return port


def url_of(*ports: int, user: str = "yard") -> str:
    places = ",".join(f"127.0.0.1:{port}" for port in ports)
    return f"postgresql://{user}@{places}/postgres?target_session_attrs=read-write"


def test_of_two_servers_that_can_be_written_the_promoted_one_is_used(split: Pair) -> None:
    old, new = split.standby.port, split.primary.port
    for url in (url_of(old, new), url_of(new, old)):
        with a_session(url) as session:
            assert port_of(session) == new


def test_a_process_that_used_the_promoted_one_does_not_go_back(split: Pair) -> None:
    old, new = split.standby.port, split.primary.port
    a_session(url_of(new)).close()
    with pytest.raises(StoreUnavailable, match=f"the server at 127.0.0.1:{old} was replaced: it is on timeline 1"):
        a_session(url_of(old))
    with pytest.raises(Away, match=r"timeline 2 was used before; .*refused.* Stop the server that was replaced"):
        connect_or_refuse(url_of(old, free_port()), purpose="test", timeout_s=10)


def test_a_session_with_the_old_one_ends_when_the_promoted_one_is_met(split: Pair) -> None:
    with a_session(url_of(split.standby.port)) as session:
        was_closed = session.is_closed
        a_session(url_of(split.primary.port)).close()
        assert (was_closed, session.is_closed) == (False, True)
        with pytest.raises(StoreUnavailable):
            port_of(session)


def test_servers_that_are_away_or_say_nothing_stand_in_no_way(split: Pair) -> None:
    with a_proxy(split.standby.port) as wire:
        wire.lose(Loss.EVERYTHING)
        with a_session(url_of(wire.port, free_port(), split.primary.port)) as session:
            assert port_of(session) == split.primary.port


def test_a_cluster_of_another_making_is_no_older_server(split: Pair, server: Cluster) -> None:
    """A dump was restored into it, say: its timelines are its own."""
    with a_session(url_of(split.primary.port)) as session, a_session(url_of(server.port)) as other:
        assert port_of(other) == server.port
        assert not session.is_closed


def test_a_server_that_keeps_its_timeline_to_itself_is_used(split: Pair, used: Timelines) -> None:
    split.standby.administer(A_PLAIN_USER)
    split.standby.administer(KEEP_TO_ITSELF)
    with a_session(url_of(split.standby.port, user="plain")) as session:
        assert port_of(session) == split.standby.port
