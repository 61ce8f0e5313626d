"""The PostgreSQL engine: one connection that writes while its hub leads, readers that only read.

A commit is durable when `write` returns (`durability.py`). It is one statement that begins with the fence, so whoever
leads no longer writes nothing. If the answer to it is lost, the log itself is asked whose commit has that place. What
is found there may be missing on a standby, so it counts once something written later is confirmed.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, Self, TypeVar

from msgspec.structs import replace
from psycopg.errors import UniqueViolation

from taskyard.core.changes import Batch
from taskyard.store.port import (
    Figures,
    Identity,
    Image,
    Reader,
    StoreBroken,
    StoreFenced,
    StoreRefused,
    StoreUnavailable,
)
from taskyard.store.postgres import partitions
from taskyard.store.postgres.arrays import blobs, numbers
from taskyard.store.postgres.checks import check_server
from taskyard.store.postgres.commit import Commit
from taskyard.store.postgres.durability import Durability, end_abandoned_waits, settings_of
from taskyard.store.postgres.faults import Gone
from taskyard.store.postgres.image import load_image, position_of
from taskyard.store.postgres.lead import Candidate, Lead, end_lease, lead_of, take_over
from taskyard.store.postgres.lease import Lease
from taskyard.store.postgres.mirror import Mirror, hot_tasks
from taskyard.store.postgres.past import touches_the_past, write_past
from taskyard.store.postgres.reach import Away, address_of, connect_or_refuse
from taskyard.store.postgres.reader import PostgresReader
from taskyard.store.postgres.session import Session, Value, public_url
from taskyard.store.postgres.statements import SQL
from taskyard.store.postgres.versions import Versions, versions_of
from taskyard.store.records import checksum
from taskyard.store.rewind import Sighting

T = TypeVar("T")

WRITE_S: Final = 5.0
# A batch of 16 MiB took 0.2 to 0.5 s on a busy machine. Longer than this means that nobody answers.
LOAD_S: Final = 300.0
TEND_MS: Final = 3_600_000
TEND_COMMITS: Final = 10_000

_WRITING: Final = {
    # Each variant of a commit is planned once, for any number of rows; a plan by their number would cost more than it
    # saves. The lists are joined to tables by their keys, whatever the planner believes of sizes.
    "plan_cache_mode": "force_generic_plan",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}


class PostgresStore:
    """`new_cluster_id` names a yard that this is the first to open; one that exists keeps its name.

    `lease` is who keeps the lead outside of commits; if it knows the hub before us to be dead, `open` does not wait
    for that one's lease to run out. `mirror` is what a hub that stood by knows already; the first `load` uses it up.
    """

    def __init__(
        self,
        url: str,
        *,
        new_cluster_id: str,
        candidate: Candidate,
        lease: Lease | None = None,
        mirror: Mirror | None = None,
        durability: Durability = Durability.REPLICATED,
        write_s: float = WRITE_S,
    ) -> None:
        self._url = url
        self._durability = durability
        self._new_cluster_id = new_cluster_id
        self._candidate = candidate
        self._lease = lease
        self._mirror = mirror
        self._write_s = write_s
        self._session: Session | None = None
        self._lead: Lead | None = None
        """None: the store is not open."""
        self._versions: Versions | None = None
        """None: of another hub's making, as far as we know."""
        self._at = 0
        """The instant of the last commit."""
        self._tended: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- opening ---

    def open(self, *, new_era: bool = False, seen: Sequence[Sighting] = ()) -> Identity:
        if self._lead is not None:
            raise StoreRefused("This store is open already. Close it first.")
        session = self._session = connect_or_refuse(
            self._url, purpose="writer", timeout_s=self._write_s, settings=self._settings
        )
        try:
            check_server(session, self._durability)
            end_abandoned_waits(session)
            # Before the first row of each: those that lie elsewhere by then stay there.
            partitions.make_ahead(session, at=session.now_ms, seq=position_of(session) + 1)
            lead = take_over(
                session,
                self._candidate,
                new_cluster_id=self._new_cluster_id,
                new_era=new_era,
                has_lock=self._lease is not None and self._lease.has_lock,
                seen=seen,
            )
        except StoreUnavailable as error:
            self._disconnect()
            raise Away(f"{address_of(self._url)} was lost while it was opened: {error}. Try again.") from error
        except StoreBroken as error:
            self._disconnect()
            raise self._distrusted(error) from error
        except BaseException:  # whatever it was, nobody else would close it
            self._disconnect()
            raise
        self._lead, self._versions = lead, None
        if self._lease is not None:
            self._lease.begin(lead.identity.epoch)
        return lead.identity

    def check(self) -> None:
        """Whether this store could be opened, but for who leads it. `StoreRefused` says why not."""
        with connect_or_refuse(self._url, purpose="check", timeout_s=self._write_s) as session:
            check_server(session, self._durability)

    @property
    def _settings(self) -> Mapping[str, str]:
        """Of the session that writes."""
        return {**_WRITING, **settings_of(self._durability)}

    def _distrusted(self, error: StoreBroken) -> StoreRefused:
        return StoreRefused(f"{address_of(self._url)} cannot be trusted: {error}. Restore the last backup.")

    def _ready(self) -> Session:
        """The connection, dialled again if it was lost."""
        if self._session is None or self._session.is_closed:
            self._session = None
            self._session = Session(self._url, purpose="writer", timeout_s=self._write_s, settings=self._settings)
            end_abandoned_waits(self._session)
        return self._session

    @property
    def _led(self) -> Lead:
        assert self._lead is not None, "the store is not open"
        return self._lead

    def _asked_twice(self, question: Callable[[Session], T]) -> T:
        """Of what may be asked again: the connection may have been lost since it was last used."""
        try:
            return question(self._ready())
        except Gone:
            return question(self._ready())

    def load(self) -> Image:
        try:
            self._lead, image, self._versions = self._asked_twice(self._load)
        except StoreBroken as error:
            raise self._distrusted(error) from error
        self._mirror = None
        return image

    def _load(self, session: Session) -> tuple[Lead, Image, Versions]:
        with session.snapshot(), session.patient(LOAD_S):
            lead = lead_of(session, self._led.identity)
            image = load_image(session, hot_tasks(session, self._mirror))
            image.identity = lead.identity
            loaded = lead, image, versions_of(session)
        # What is acted upon from now on must not be missing after a failover.
        session.confirm()
        return loaded

    # --- writing ---

    def write(self, batch: Batch) -> None:
        self.writing(batch)()

    def writing(self, batch: Batch) -> Callable[[], None]:
        versions = self._versions
        if versions is None:
            # Of another hub's making: they have to be asked for first.
            return partial(self._write_unprepared, batch)
        return partial(self._write, batch, self._commit_of(batch, versions), versions)

    def _write_unprepared(self, batch: Batch) -> None:
        versions = self._versions = self._asked_twice(versions_of)
        self._write(batch, self._commit_of(batch, versions), versions)

    def _commit_of(self, batch: Batch, versions: Versions) -> Commit:
        lead = self._led
        assert batch.seq == lead.identity.seq + 1, "a batch follows the last commit"
        assert batch.epoch == lead.identity.epoch, "a batch belongs to the epoch of its hub"
        return Commit(batch, after=lead.batch_id, versions=versions)

    def _write(self, batch: Batch, commit: Commit, versions: Versions) -> None:
        lead = self._led
        dropped = self._send(batch, commit)
        versions.note_dropped(dropped)
        versions.note(batch, commit.raised, commit.kept)
        identity = replace(lead.identity, seq=batch.seq, batch_id=batch.batch_id)
        self._lead = Lead(identity=identity, batch_id=batch.batch_id)
        self._at = batch.at

    def _send(self, batch: Batch, commit: Commit) -> int | None:
        """Send it until it is known what became of it, as far as that can be known soon. Tells the newest answer that
        it dropped, if it did and we know."""
        for is_last in (False, True):
            try:
                return self._commit(batch, commit)
            except Gone:
                if is_last:
                    raise
            except UniqueViolation as error:
                # One that was sent before us, maybe by ourselves on a connection that we gave up.
                if not (error.diag.table_name or "").startswith("commit_log"):
                    raise
            if self._is_written(batch):
                return None
        raise StoreUnavailable("another commit was under way at the same place of the log")

    def _is_written(self, batch: Batch) -> bool:
        """What the log says, and confirmed if it is there. `StoreFenced` if the place is another hub's."""
        session = self._ready()
        rows = session.rows(SQL["batch_at"], {"seq": batch.seq})
        for epoch, batch_id in rows:
            if epoch != batch.epoch:
                raise StoreFenced(f"another hub leads: commit {batch.seq} is of epoch {epoch}")
            if batch_id != batch.batch_id:
                raise StoreUnavailable("a commit that was given up came through after all")
        if rows:
            # It can be seen here also while a standby lacks it.
            session.confirm()
        return bool(rows)

    def _commit(self, batch: Batch, commit: Commit) -> int | None:
        session = self._ready()
        if not touches_the_past(batch):
            return self._pass_fence(session, commit)
        with session.transaction():
            dropped = self._pass_fence(session, commit)
            write_past(session, batch)
        return dropped

    def _pass_fence(self, session: Session, commit: Commit) -> int | None:
        (passed, dropped, *_), *_ = session.rows(commit.statement, commit.parameters, prepare=True)
        if not passed:
            raise StoreFenced("another hub leads: the log does not end where we left it")
        newest: int | None = dropped
        return newest

    def probe(self) -> None:
        ours = {"epoch": self._led.identity.epoch}
        if not self._asked_twice(lambda session: session.change(SQL["touch_probe"], ours)):
            raise StoreFenced("another hub leads: it began an epoch after ours")

    def keep_figures(self, figures: Sequence[Figures], *, kept: Mapping[int, tuple[int, int]]) -> None:
        steps, begins = [each.step_s for each in figures], [each.at for each in figures]
        written: dict[str, Value] = {
            "step": numbers(steps),
            "at": numbers(begins),
            "record": blobs([each.record for each in figures]),
            "crc": numbers([checksum(each.record, each.step_s, each.at) for each in figures]),
            "epoch": self._led.identity.epoch,
        }
        dropped: dict[str, Value] = {
            "step": numbers(list(kept)),
            "first": numbers([first for first, _ in kept.values()]),
            "last": numbers([last for _, last in kept.values()]),
        }

        def keep(session: Session) -> None:
            with session.transaction():
                if session.change(SQL["upsert_figures"], written) < len(figures):
                    raise StoreFenced("another hub leads: it began an epoch after ours")
                session.change(SQL["drop_figures"], dropped)

        self._asked_twice(keep)

    def tend(self) -> None:
        """Make partitions ahead and drop those behind, once an hour or some thousand commits."""
        seq = self._led.identity.seq
        turn = (self._at // TEND_MS, seq // TEND_COMMITS)
        if turn != self._tended and self._at:
            session = self._ready()
            partitions.make_ahead(session, at=self._at, seq=seq)
            partitions.drop_behind(session, at=self._at)
            self._tended = turn

    # --- the rest ---

    def reader(self) -> Reader:
        return PostgresReader(self._url)

    def backup(self, path: str) -> None:
        file, url = shlex.quote(path), shlex.quote(public_url(self._url))
        raise StoreRefused(
            "A yard on PostgreSQL is copied by the server's own tools, whether its hubs run or not: "
            f"`pg_dump --format=custom --schema=taskyard --file={file} {url}`. To restore it into an empty database: "
            f"`pg_restore --dbname=URL {file}`."
        )

    def close(self) -> None:
        """What it leads by ends here: another hub need not wait."""
        lead, self._lead = self._lead, None
        try:
            if lead is not None:
                end_lease(self._ready(), self._candidate, epoch=lead.identity.epoch)
        except StoreUnavailable:
            # Then it runs out by itself.
            pass
        finally:
            self._disconnect()

    def _disconnect(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()
