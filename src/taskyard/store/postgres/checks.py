"""What is looked at before a hub trusts a server. Each refusal is a sentence that says what to do.

Those that only look at values take them as arguments, which is how they are tested on one server for all.
"""

from typing import Final

from msgspec import Struct

from taskyard.store.port import StoreRefused
from taskyard.store.postgres.durability import Durability, refuse_weak
from taskyard.store.postgres.migrate import NAMESPACE, refuse_other_schema, version_of
from taskyard.store.postgres.session import Session
from taskyard.store.postgres.statements import SQL

SERVER_MIN: Final = 130_000
POOLER_PROBES: Final = 8
# Of a pool of five that others use too, one probe in five finds the connection that it had before.


def check_server(session: Session, durability: Durability | None) -> None:
    """All that a hub needs, but for who leads. `durability` None: the server's own settings are accepted."""
    server = check_without_schema(session)
    if durability is not None:
        check_durability(server, durability)
    refuse_other_schema(version_of(session), url=session.url)


class Server(Struct, frozen=True):
    """What a server says of itself that passed."""

    version: int
    """As a number: 170002 is 17.2."""
    synchronous_commit: str
    standbys: str
    """Those that it names, as its setting says; empty: none."""


def check_durability(server: Server, durability: Durability) -> None:
    refuse_weak(synchronous_commit=server.synchronous_commit, standbys=server.standbys, durability=durability)


def check_without_schema(session: Session) -> Server:
    found = session.rows(SQL["read_server"])[0]
    version, encoding, fsync, full_page_writes, synchronous_commit, standbys, is_replica = found
    refuse_old_server(version)
    refuse_replica(is_replica=is_replica)
    refuse_unsafe(fsync=fsync, full_page_writes=full_page_writes, synchronous_commit=synchronous_commit)
    refuse_encoding(encoding)
    _refuse_shared_connections(session)
    for (is_ours,) in session.rows(SQL["owns_tables"]):
        refuse_other_owner(is_ours=is_ours)
    return Server(version=version, synchronous_commit=synchronous_commit, standbys=standbys)


def refuse_old_server(version: int) -> None:
    if version < SERVER_MIN:
        raise StoreRefused(
            f"This is PostgreSQL {version // 10_000}, which is no longer kept. Upgrade the server to 13 or later."
        )


def refuse_replica(*, is_replica: bool) -> None:
    if is_replica:
        raise StoreRefused(
            "This server is a replica and cannot be written. Name the primary in the URL, or all of them with "
            "target_session_attrs=primary."
        )


def refuse_unsafe(*, fsync: str, full_page_writes: str, synchronous_commit: str) -> None:
    """Commits that are not flushed even here, whatever a hub is told to promise."""
    settings = {"fsync": fsync, "full_page_writes": full_page_writes, "synchronous_commit": synchronous_commit}
    for name, value in settings.items():
        if value == "off":
            raise StoreRefused(
                f"This server runs with {name} = off and can lose commits that it acknowledged. Set {name} = on in "
                "postgresql.conf (and for this user and database, if it was changed there), then reload the server."
            )


def refuse_encoding(encoding: str) -> None:
    if encoding != "UTF8":
        raise StoreRefused(
            f"This database is encoded in {encoding}, which cannot hold every text. Create it with ENCODING 'UTF8'."
        )


def refuse_other_owner(*, is_ours: bool) -> None:
    if not is_ours:
        raise StoreRefused(
            "The schema taskyard belongs to another role than the one in the URL, and a hub makes and drops partitions "
            "of its tables. Connect as its owner, or grant that role to this one."
        )


def _refuse_shared_connections(session: Session) -> None:
    """Who answered the dial knows the server's process only if it is the server: a pooler says some other number."""
    (pid,) = session.rows(SQL["read_pid"])[0]
    if pid != session.announced_pid:
        refuse_pooler(is_shared=any(_is_shared(session) for _ in range(POOLER_PROBES)))


def _is_shared(session: Session) -> bool:
    """Take a lock in one statement, and look for it in the next.

    A pooler that shares connections may well run both on one backend, if nobody else wants it. So somebody does:
    another session takes a connection in between, which is the one that was free last.
    """
    taken_by, taken = session.rows(SQL["try_probe_lock"], {"namespace": NAMESPACE})[0]
    with session.another(purpose="check") as other, other.transaction():
        other.rows(SQL["take_part"])
        asked, held = session.rows(SQL["check_probe_lock"], {"namespace": NAMESPACE, "pid": taken_by})[0]
    return not (taken and held) or taken_by != asked


def refuse_pooler(*, is_shared: bool) -> None:
    if is_shared:
        raise StoreRefused(
            "Between here and the server a pooler hands every transaction another connection. Let the URL lead to the "
            "server itself, or to a pool in session mode."
        )
