"""Under which key each of the records lies that nearly every commit writes anew, and where the oldest answer is.

They are never changed in place (`migrations/0003_versions.sql`): each version has its own key, and a commit deletes the
one before by it. Whoever leads is the only one who writes, so it need not ask the database which that is.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct, field

from taskyard.core.changes import Batch
from taskyard.store.postgres.arrays import unescaped
from taskyard.store.postgres.image import numbers_of
from taskyard.store.postgres.session import Session
from taskyard.store.postgres.statements import SQL

Place = tuple[str, str]
"""Of a kept record: kind and name."""
NEVER: Final = 2**62


class Versions(Struct):
    numbers: dict[str, int] = field(default_factory=dict)
    """By user, the highest task number that is written down."""
    kept: dict[Place, int] = field(default_factory=dict)
    """By place, the commit that wrote what is there."""
    answered_from: int = NEVER
    """No answer to a request is older than this."""

    def raised_by(self, batch: Batch) -> dict[str, int]:
        """The highest number of each user to whom it gave one. Only new tasks have new numbers; some of them may have
        ended already."""
        highest: dict[str, int] = {}
        for rows in (batch.created, batch.ended):
            for row in rows:
                task = row.task
                if task.number > highest.get(task.user_id, self.numbers.get(task.user_id, 0)):
                    highest[task.user_id] = task.number
        return highest

    def before(self, places: Iterable[Place]) -> list[tuple[str, str, int]]:
        """What lies at these places, by its key."""
        return [(*place, self.kept[place]) for place in places if place in self.kept]

    def note(self, batch: Batch, raised: Mapping[str, int], kept: Mapping[Place, bytes | None]) -> None:
        """That commit was made, and wrote these."""
        self.numbers.update(raised)
        if batch.requests:
            # A clock may have been put back.
            self.answered_from = min(self.answered_from, batch.at)
        for place, record in kept.items():
            if record is None:
                self.kept.pop(place, None)
            else:
                self.kept[place] = batch.seq

    def note_dropped(self, newest: int | None) -> None:
        """Of answers, oldest first, up to this one."""
        if newest is not None:
            self.answered_from = newest


def versions_of(session: Session) -> Versions:
    """What is written down. The caller holds the snapshot, or is the only one who writes."""
    (oldest,) = session.rows(SQL["oldest_request"])[0]
    return Versions(
        numbers=numbers_of(session),
        kept={(kind, unescaped(name)): seq for kind, name, seq in session.rows(SQL["kept_versions"])},
        answered_from=NEVER if oldest is None else oldest,
    )
