"""What an import brings, whatever it was read from, and how it is carried to the hub.

Everything is looked at by the hub before anything is taken. Then it goes in pieces, what others depend on first, so
that each piece finds what it needs; an import that breaks off is gone on with by running it again.
"""

from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct, field

from taskyard.vocabulary import ENDED, Refusal
from taskyard.wire.depth import has_nul
from taskyard.wire.fields import BATCH_TASKS_MAX, ms_of
from taskyard.wire.imports import CarriedBreaker, CarriedQueue, CarriedTask, Import, Place
from taskyard.wire.tasks import Rejected

if TYPE_CHECKING:
    from taskyard.sdk.client import Client

PIECE_BYTES_MAX: Final = 8 * 1024 * 1024
# Half of what a request may have: names of tasks elsewhere and the rest of a piece come on top.
REJECTED_SHOWN_MAX: Final = 20
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(CarriedTask).decode


class Circular(Exception):
    """Tasks that wait for each other can never run; the message names them."""


class Cargo(Struct, kw_only=True):
    """All that was read of one directory."""

    origin: str
    tasks: list[CarriedTask] = field(default_factory=list)
    queues: dict[str, CarriedQueue] = field(default_factory=dict)
    breakers: list[CarriedBreaker] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    """Which file each task was read from, where there are several."""
    damaged: list[str] = field(default_factory=list)
    """What could not be read, a line each."""
    left_out: list[str] = field(default_factory=list)
    """What was read and is not taken, a line each."""
    notes: list[str] = field(default_factory=list)
    """What somebody should know of what was read."""


class Carried(Struct, kw_only=True):
    """What came of it."""

    new: int = 0
    there: int = 0
    rejected: list[str] = field(default_factory=list)
    queues: list[str] = field(default_factory=list)
    """Those that were made, or would be."""
    is_limited: bool = False
    """There is no room for so many, now."""


def carry(client: "Client", cargo: Cargo, *, dry_run: bool, told: Callable[[int, int], None]) -> Carried:
    """Look at all of it, then take all of it unless something is in the way. `told` hears how far it is."""
    arranged = arrange(cargo.tasks)
    if misfits := list(_misfits(cargo)):
        return Carried(rejected=misfits)
    carried, new = _look(client, cargo, arranged)
    if dry_run or carried.rejected:
        return carried
    left = [task for task in arranged if task.id in new]
    open_left, done = sum(task.status not in ENDED for task in left), 0
    for piece in _pieces(cargo, left, arranged):
        piece.open_left = open_left
        answer = client.import_piece(piece)
        # Somebody else may have brought some of them since the look.
        carried.new -= len(answer.there)
        carried.there += len(answer.there)
        open_left -= sum(task.status not in ENDED for task in piece.tasks)
        done += len(piece.tasks)
        told(done, len(left))
    return carried


def _look(client: "Client", cargo: Cargo, arranged: list[CarriedTask]) -> tuple[Carried, set[str]]:
    carried, new = Carried(), set()
    for piece in _pieces(cargo, arranged, arranged):
        piece.dry_run = True
        answer = client.import_piece(piece)
        new.update(answer.new)
        carried.there += len(answer.there)
        carried.queues = list(dict.fromkeys([*carried.queues, *answer.queues]))
        carried.rejected += [_told(one, piece, cargo) for one in answer.rejected]
        carried.is_limited |= any(one.code == Refusal.TOO_MANY_PENDING for one in answer.rejected)
    carried.new = len(new)
    return carried, new


def _misfits(cargo: Cargo) -> Iterator[str]:
    """What no hub reads, said of the task that has it: a hub that cannot read a piece can only say where in it."""
    for task in cargo.tasks:
        encoded = _encode(task)
        if has_nul(encoded):
            yield f"{_called(task.id, cargo)}: strings must not contain U+0000"
            continue
        try:
            _decode(encoded)
        except msgspec.ValidationError as error:
            yield f"{_called(task.id, cargo)}: {error}"


def _told(rejected: Rejected, piece: Import, cargo: Cargo) -> str:
    name = _called(piece.tasks[rejected.index].id, cargo) if piece.tasks else "-"
    return f"{name}: {rejected.detail}"


def _called(name: str, cargo: Cargo) -> str:
    return f"{name} in {cargo.files[name]}" if name in cargo.files else name


def arrange(tasks: Sequence[CarriedTask]) -> list[CarriedTask]:
    """By age, but nothing before what it depends on. `Circular` if that cannot be."""
    by_name = {task.id: task for task in tasks}
    needs = {task.id: {name for name in _needs(task) if name in by_name} for task in tasks}
    heirs: dict[str, list[str]] = {}
    for name, needed in needs.items():
        for other in needed:
            heirs.setdefault(other, []).append(name)
    ready = [(_rank(by_name[name]), name) for name, needed in needs.items() if not needed]
    heapify(ready)
    arranged: list[CarriedTask] = []
    while ready:
        _, name = heappop(ready)
        arranged.append(by_name[name])
        for heir in heirs.get(name, ()):
            needs[heir].discard(name)
            if not needs[heir]:
                heappush(ready, (_rank(by_name[heir]), heir))
    if len(arranged) < len(by_name):
        placed = {task.id for task in arranged}
        left = sorted(name for name in by_name if name not in placed)
        raise Circular(f"These wait for each other, or for some that do: {', '.join(left[:REJECTED_SHOWN_MAX])}.")
    return arranged


def _needs(task: CarriedTask) -> list[str]:
    return [*task.depends_on, *([] if task.parent_task_id is None else [task.parent_task_id])]


def _rank(task: CarriedTask) -> tuple[int, int]:
    created = 0 if task.created_at is None else ms_of(task.created_at)
    return created, task.order or 0


def _pieces(cargo: Cargo, tasks: Sequence[CarriedTask], all_: Sequence[CarriedTask]) -> Iterator[Import]:
    """At least one: breakers and queues may come without a task."""
    places = {task.id: Place(created_at=task.created_at, order=task.order) for task in all_}
    piece, size, is_first = _piece(cargo), 0, True
    for task in tasks:
        length = len(_encode(task))
        if piece.tasks and (size + length > PIECE_BYTES_MAX or len(piece.tasks) == BATCH_TASKS_MAX):
            yield _with_places(piece, places)
            piece, size, is_first = _piece(cargo), 0, False
            piece.breakers = []
        piece.tasks.append(task)
        size += length
    if piece.tasks or is_first:
        yield _with_places(piece, places)


def _piece(cargo: Cargo) -> Import:
    return Import(origin=cargo.origin, queues=cargo.queues, breakers=cargo.breakers, tasks=[])


def _with_places(piece: Import, places: dict[str, Place]) -> Import:
    """What tasks of this piece need and other pieces bring."""
    here = {task.id for task in piece.tasks}
    needed = (name for task in piece.tasks for name in _needs(task))
    piece.elsewhere = {name: places[name] for name in needed if name not in here and name in places}
    return piece
