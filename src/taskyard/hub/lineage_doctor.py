"""`taskyard doctor` on the log's lineage: does this database lack commits that a hub or a daemon saw? Looks only."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import apsw

from taskyard.hub.findings import Finding, Health
from taskyard.hub.link.asking import ask_all
from taskyard.hub.link.remote import place_of
from taskyard.hub.positions import Remembered
from taskyard.hub.yard import DATABASE
from taskyard.store.port import Reader, StoreBroken, StoreUnavailable
from taskyard.store.postgres.lead import Candidate
from taskyard.store.postgres.lease import Lease
from taskyard.store.postgres.reader import PostgresReader
from taskyard.store.rewind import Sighting, objection_to, sentence_of, seqs_of
from taskyard.store.sqlite.reader import SqliteReader

NAME: Final = "history"
HERE: Final = "this directory's hub"


def examine_file(data: Path) -> list[Finding]:
    """What daemons proved, against the file. Nothing, if none ever did."""
    sightings = Remembered(data, HERE).sightings
    if not sightings or not (data / DATABASE).exists():
        return []
    try:
        with closing(SqliteReader(data / DATABASE, vfs=None)) as reader:
            return [_judged(reader, sightings)]
    except (StoreBroken, StoreUnavailable, apsw.Error) as error:
        return [Finding(NAME, Health.FAILED, f"the log cannot be read: {error}")]


def examine_hubs(url: str, data: Path) -> Finding:
    """What this directory's hub remembers, and those that can be asked, against the database."""
    lease = Lease(url, Candidate("doctor"))
    try:
        places = [place_of(hub.address) for hub in lease.hubs() if hub.address]
        heard = asyncio.run(ask_all(places, lease.secret()))
        sightings = list(dict.fromkeys([*heard, *Remembered(data, HERE).sightings]))
        with closing(PostgresReader(url)) as reader:
            return _judged(reader, sightings)
    except (StoreBroken, StoreUnavailable) as error:
        return Finding(NAME, Health.FAILED, str(error))
    finally:
        lease.close()


def _judged(reader: Reader, sightings: Sequence[Sighting]) -> Finding:
    missing = objection_to(reader.lineage(seqs_of(sightings)), sightings)
    if missing is not None:
        return Finding(NAME, Health.FAILED, sentence_of(missing))
    who = "no other hub was there to ask" if not sightings else "it has all that was seen of it"
    return Finding(NAME, Health.OK, who)
