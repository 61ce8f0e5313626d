"""`taskyard doctor` for a yard on PostgreSQL: the server, its clock, the schema, and who leads. Looks only."""

from collections.abc import Iterator
from typing import Final

from taskyard.hub.clock import read_clock
from taskyard.hub.deep_doctor import heard_of, read_all
from taskyard.hub.findings import Finding, Health
from taskyard.store.port import StoreRefused, StoreUnavailable
from taskyard.store.postgres.checks import Server, check_durability, check_without_schema
from taskyard.store.postgres.dump import looked_at
from taskyard.store.postgres.durability import Durability
from taskyard.store.postgres.lead import Candidate
from taskyard.store.postgres.lease import Lease
from taskyard.store.postgres.migrate import refuse_other_schema, version_of
from taskyard.store.postgres.reach import address_of, connect_or_refuse
from taskyard.store.postgres.session import Session

ASK_S: Final = 5.0
CLOCK_MS_MAX: Final = 1_000
# A yard goes by the database's clock; people, logs and signed tokens by those of the machines.
HEARD_MS_MAX: Final = 5_000
# Hubs say once a second that they are there.


def examine_server(url: str, durability: Durability, *, deep: bool = False) -> Iterator[Finding]:
    """One finding after the other, until one cannot be made. `deep`: every record is read."""
    name = "database"
    try:
        with connect_or_refuse(url, purpose="doctor", timeout_s=ASK_S) as session:
            server = check_without_schema(session)
            check_durability(server, durability)
            yield Finding(name, Health.OK, _server(url, server, durability))
            yield _clock(session)
            name = "schema"
            version = version_of(session)
            refuse_other_schema(version, url=session.url)
            yield Finding(name, Health.OK, f"version {version}")
        name = "leader"
        found, heard = _leader(url)
        yield found
        if deep:
            yield from read_all(looked_at(url))
        else:
            yield heard_of(heard)
    except (StoreRefused, StoreUnavailable) as error:
        yield Finding(name, Health.FAILED, str(error))


def _server(url: str, server: Server, durability: Durability) -> str:
    version = f"{server.version // 10_000}.{server.version % 10_000}"
    settings = [f"synchronous_commit {server.synchronous_commit}"]
    if server.standbys:
        settings.append(f"synchronous_standby_names {server.standbys}")
    if durability is Durability.LOCAL:
        settings.append("[cluster] durability local")
    return f"{address_of(url)}, PostgreSQL {version}, durable ({', '.join(settings)})"


def _clock(session: Session) -> Finding:
    before = read_clock().wall
    there = session.now_ms
    ahead_ms = there - (before + read_clock().wall) // 2
    if abs(ahead_ms) > CLOCK_MS_MAX:
        way = "ahead of" if ahead_ms > 0 else "behind"
        detail = (
            f"the database's clock is {abs(ahead_ms) / 1000:.1f} s {way} this machine's: let both follow one source"
        )
        return Finding("database clock", Health.WARNING, detail)
    return Finding("database clock", Health.OK, f"{abs(ahead_ms)} ms from this machine's")


def _leader(url: str) -> tuple[Finding, list[str]]:
    """And where the hubs are that were heard of."""
    lease = Lease(url, Candidate("doctor"))
    try:
        holder = lease.holder()
        heard = [hub for hub in lease.hubs() if hub.seen_ms_ago <= HEARD_MS_MAX]
    finally:
        lease.close()
    urls = [hub.url for hub in heard]
    hubs = "1 hub is there" if len(heard) == 1 else f"{len(heard)} hubs are there"
    if holder is not None and holder.left_ms > 0:
        at = next((hub.url for hub in heard if hub.id == holder.id), holder.address)
        return Finding("leader", Health.OK, f"{holder.id} at {at} leads (epoch {holder.epoch}); {hubs}"), urls
    state = Health.WARNING if heard else Health.OK
    return Finding("leader", state, f"nobody leads; {hubs if heard else 'no hub runs'}"), urls
