"""Everything that can be read from a store, as one digest for each way of reading it: two stores compare by these.

Lists are read in pages, as a person reads them, so that pages and their cursors are compared too.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from taskyard.store.paging import cursor_of
from taskyard.store.port import Image, Numbered, Reader, Store, StoredTask, TaskFilter
from taskyard.vocabulary import Level, Status

PAGE: Final = 7
EVERY: Final = 100_000
STRIDE: Final = 3
"""What is asked for task by task is asked for one in so many: each costs a way to the server and back."""
NEVER_MADE: Final = "never made"

FILTERS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"archived": True},
    {"statuses": (Status.COMPLETED, Status.CANCELLED, Status.QUEUED)},
    {"statuses": (Status.PERMANENTLY_FAILED,), "queue": "default"},
    {"level": Level.HIGH},
    {"type": "code"},
    {"text": "T0001"},
)

_encode = msgspec.json.Encoder(order="deterministic").encode


def digests_of(store: Store, *, requests: tuple[str, ...] = ()) -> dict[str, str]:
    """By what was read. `requests` are the names of those whose answers are asked for."""
    image = store.load()
    reader = store.reader()
    try:
        read = {name: reading(reader, image) for name, reading in READINGS.items()}
        read["requests"] = [reader.request(name) for name in requests]
    finally:
        reader.close()
    # Its keys are pairs, which JSON has not.
    read["log bytes"], image.log_bytes = sorted(image.log_bytes.items()), {}
    # Engines name takeovers as they like.
    image.identity, image.takeovers = replace(image.identity, takeover="", batch_id=""), []
    read["image"] = image
    return {name: blake2b(_encode(part), digest_size=16).hexdigest() for name, part in read.items()}


# --- lists -------------------------------------------------------------------------------------------------


def _lists(reader: Reader, image: Image) -> object:
    """Of everybody and of each, with each filter."""
    queries = [TaskFilter(user_id=user_id, limit=PAGE, **chosen) for user_id in _whose(image) for chosen in FILTERS]
    return [list(_pages(query.user_id, partial(_page, reader, query))) for query in queries]


def _page(reader: Reader, query: TaskFilter, before: str | None) -> list[StoredTask]:
    return reader.tasks(msgspec.structs.replace(query, before=before))


def _dead_letters(reader: Reader, image: Image) -> object:
    return [list(_pages(user_id, partial(_dead_page, reader, user_id))) for user_id in _whose(image)]


def _dead_page(reader: Reader, user_id: str | None, before: str | None) -> list[StoredTask]:
    return reader.dead_letters(user_id=user_id, limit=PAGE, before=before)


def _whose(image: Image) -> list[str | None]:
    return [None, *(user.id for user in image.users)]


def _pages(user_id: str | None, page: Callable[[str | None], list[StoredTask]]) -> Iterator[list[StoredTask]]:
    found = page(None)
    yield found
    while len(found) == PAGE:
        found = page(cursor_of(found[-1], user_id=user_id))
        yield found


def _audit(reader: Reader, _: Image) -> object:
    entries = found = reader.audit(subject=None, limit=PAGE, before=None)
    while len(found) == PAGE:
        found = reader.audit(subject=None, limit=PAGE, before=found[-1][0])
        entries = [*entries, *found]
    return entries


# --- tasks -------------------------------------------------------------------------------------------------


def _everybodys(reader: Reader) -> list[StoredTask]:
    queries = (TaskFilter(user_id=None, archived=archived, limit=EVERY) for archived in (False, True))
    return [stored for query in queries for stored in reader.tasks(query)]


def _found(reader: Reader, _: Image) -> object:
    """By id, by ref, and what nobody ever made."""
    tasks = [stored.task for stored in _everybodys(reader)[::STRIDE]]
    by_id = [reader.find(user_id=None, task=name) for name in (*(task.id for task in tasks), NEVER_MADE)]
    return by_id, [reader.find(user_id=task.user_id, task=task.ref) for task in tasks]


def _known(reader: Reader, image: Image) -> object:
    """What a command would be told of them: by id, by ref and by key."""
    tasks = [stored.task for stored in _everybodys(reader)]
    return [
        reader.known(
            user_id=user.id,
            ids=(*(task.id for task in tasks), NEVER_MADE),
            refs=tuple(task.ref for task in tasks),
            keys=tuple(task.key for task in tasks if task.key),
        )
        for user in image.users
    ]


def _parts(reader: Reader, image: Image) -> object:
    """What belongs to tasks and is read by itself."""
    every = [stored.task.id for stored in _everybodys(reader)]
    hot = tuple(task.id for task in image.tasks)
    return (
        sorted(reader.bodies(tuple(every)).items()),
        sorted(reader.loads(hot).items()),
        [(reader.log(task_id=id_, attempt=None), reader.checkpoint(id_)) for id_ in every[::STRIDE]],
    )


# --- the log of commits ------------------------------------------------------------------------------------


def _events(reader: Reader, image: Image) -> object:
    """From the beginning if that is kept, and from where somebody stands who came a while ago."""
    identity = image.identity
    places = [0, *range(max(1, identity.seq - 200), identity.seq + 2, 20)]
    return [_events_from(reader, epoch=identity.epoch, seq=seq) for seq in places]


def _events_from(reader: Reader, *, epoch: int, seq: int) -> list[Numbered] | None:
    events, index = list[Numbered](), 0
    while found := reader.events_after(epoch=epoch, seq=seq, index=index, limit=PAGE):
        events += found
        epoch, seq, index = found[-1].epoch, found[-1].seq, found[-1].index
    return None if found is None else events


def _task_events(reader: Reader, _: Image) -> object:
    return [reader.task_events(stored.task) for stored in _everybodys(reader)[::STRIDE]]


def _position(reader: Reader, _: Image) -> object:
    return reader.position()


def _counts(reader: Reader, image: Image) -> object:
    return [reader.counts(user_id=user_id) for user_id in _whose(image)]


READINGS: Final[Mapping[str, Callable[[Reader, Image], object]]] = {
    "lists": _lists,
    "dead letters": _dead_letters,
    "audit": _audit,
    "found": _found,
    "known": _known,
    "parts": _parts,
    "events": _events,
    "task events": _task_events,
    "position": _position,
    "counts": _counts,
}
