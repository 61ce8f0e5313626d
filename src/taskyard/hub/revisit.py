"""What the hub goes back to the store for: its state, and what memory has let go of or never had."""

from typing import Final

from taskyard.core.commands import Known
from taskyard.core.lookups import Lookup
from taskyard.core.recovery import restore
from taskyard.core.settings import Settings
from taskyard.core.state import Now, State
from taskyard.store.port import Identity, Image, Numbered, Reader, TaskFilter

EVENTS_PER_PAGE: Final = 10_000
_LAST_INDEX: Final = 1 << 31


def state_of(image: Image, settings: Settings, identity: Identity, now: Now) -> State:
    """The state that an image of the store's rows comes to."""
    state = State(settings, cluster_id=identity.cluster_id, epoch=identity.epoch, seq=image.identity.seq)
    state.takeovers = tuple(image.takeovers)
    restore(
        state,
        now,
        users=image.users,
        numbers=image.numbers,
        keys=image.keys,
        daemons=image.daemons,
        tasks=image.tasks,
        log_bytes=image.log_bytes,
        kept=image.kept,
    )
    return state


def known_of(lookup: Lookup, reader: Reader) -> Known:
    if lookup.seqs:
        # A daemon's position: it names no task. After a takeover every daemon asks at once.
        return Known(batches=reader.lineage(lookup.seqs).held)
    return reader.known(user_id=lookup.user_id, ids=lookup.ids, refs=lookup.refs, keys=lookup.keys)


def events_between(here: Identity, seq: int, reader: Reader) -> list[Numbered]:
    """What the commits after `here` up to this one tell of."""
    found: list[Numbered] = []
    after, index, is_more = here.seq, _LAST_INDEX, here.seq < seq
    while is_more:
        page = reader.events_after(epoch=here.epoch, seq=after, index=index, limit=EVENTS_PER_PAGE) or []
        found += page
        is_more = len(page) == EVENTS_PER_PAGE
        if is_more:
            after, index = page[-1].seq, page[-1].index
    return found


def newest_id(reader: Reader) -> str | None:
    """Of all tasks that are not archived."""
    newest = reader.tasks(TaskFilter(user_id=None, limit=1, shows_damaged=True))
    return newest[0].task.id if newest else None
