"""Events as the log of commits tells them."""

from collections.abc import Iterable, Iterator
from typing import Final

from taskyard.store.port import Numbered
from taskyard.store.postgres.image import commits_from, position_of
from taskyard.store.postgres.session import Row, Session
from taskyard.store.postgres.statements import SQL
from taskyard.store.records import decode_events, verified

COMMITS_PER_QUERY: Final = 200


def is_on_the_log(session: Session, *, epoch: int, seq: int) -> bool:
    """Whether the log went through this place, and what came after it is all kept.

    Epochs never decrease along the log, so a place named in epoch e lies between commits of epochs
    at most and at least e. A copy restored from before that place fails here.
    """
    around: dict[int, int] = dict(session.rows(SQL["epochs_around"], {"seq": seq}))
    if seq == 0:
        return position_of(session) == 0 or 1 in around
    return seq in around and around[seq] <= epoch <= around.get(seq + 1, epoch)


def events_from(session: Session, seq: int) -> Iterator[Numbered]:
    """In order, from the commit `seq` on; in pages, since who asks may stop soon."""
    while True:
        rows = commits_from(session, seq, rows_max=COMMITS_PER_QUERY)
        yield from events_of(rows)
        if len(rows) < COMMITS_PER_QUERY:
            return
        seq = rows[-1][0] + 1


def events_of(rows: Iterable[Row]) -> Iterator[Numbered]:
    for seq, epoch, content, crc in rows:
        events = decode_events(verified(content, crc, seq, epoch, of=f"commit {seq}"), seq=seq)
        for index, event in enumerate(events):
            yield Numbered(epoch=epoch, seq=seq, index=index, event=event)
