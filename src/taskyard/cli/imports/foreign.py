"""What the importers of other queues share: their times, numbers and errors in our words, and what stands for a task
that a file names and none has.
"""

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import Raw

from taskyard.cli.imports.cargo import Cargo
from taskyard.cli.neutral import one_line
from taskyard.vocabulary import AttemptStatus, Status
from taskyard.wire.fields import ATTEMPTS_MAX, FIELD_BYTES_MAX, INPUT_BYTES_MAX, NAME_CHARS_MAX, SECONDS_MAX
from taskyard.wire.frames import WireError
from taskyard.wire.imports import CarriedAttempt, CarriedTask
from taskyard.wire.submission import Source

CHANNEL: Final = "import"
ERROR_CODE: Final = "IMPORTED_FAILURE"
"""Of what failed elsewhere, where errors have no codes."""
MILLISECONDS_FROM: Final = 10_000_000_000
"""A number of seconds this large would be in the year 2286; it is one of milliseconds."""
NAMES_SHOWN_MAX: Final = 20
NO_TEXT: Final = "(no description)"
_HEAD_BYTES: Final = 256
"""For what stands around a record that is kept in part."""
_encode: Final = msgspec.json.Encoder().encode


def origin_of(kind: str, path: str, given: str | None) -> str:
    """Which directory it was: two may use the same names for other tasks."""
    if given is not None:
        return given
    origin = f"{kind}:{os.path.realpath(path)}"
    if len(origin) <= NAME_CHARS_MAX:
        return origin
    return f"{kind}:{hashlib.sha256(origin.encode()).hexdigest()}"


def instant_of(said: object) -> datetime | None:
    """A time as a text or as a number of seconds; what is neither is no time. Without a zone it is UTC."""
    if isinstance(said, str):
        try:
            at = datetime.fromisoformat(said)
        except ValueError:
            return None
        return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    if isinstance(said, int | float) and not isinstance(said, bool) and said > 0:
        seconds = said / 1000 if said >= MILLISECONDS_FROM else said
        try:
            return datetime.fromtimestamp(seconds, UTC)
        except (OverflowError, ValueError, OSError):
            return None
    return None


def within(number: float | None, least: float, most: float, otherwise: float) -> float:
    """What was meant, as near to it as is possible here."""
    return otherwise if number is None else min(max(number, least), most)


def seconds_of(number: float | None, otherwise: float) -> float:
    return within(number, 1, SECONDS_MAX, otherwise)


def attempts_of(
    failed: int, *, daemon: str | None, error: WireError | None, last: AttemptStatus | None = None
) -> list[CarriedAttempt]:
    """So many tries that failed, of which nobody wrote down more, and how the last one stands, if it is no failure."""
    name = (daemon or "unknown")[:NAME_CHARS_MAX]
    failed = min(failed, ATTEMPTS_MAX - 1)
    tries = [CarriedAttempt(daemon=name, status=AttemptStatus.FAILED) for _ in range(failed)]
    if tries:
        tries[-1].error = error
    return [*tries, CarriedAttempt(daemon=name, status=last)] if last is not None else tries


def error_of(said: object) -> WireError | None:
    """An error in whatever form it was kept."""
    if said is None or said == "":
        return None
    if isinstance(said, Mapping):
        code, message = said.get("code"), said.get("message")
        if isinstance(message, str):
            return WireError(code if isinstance(code, str) and code else ERROR_CODE, message)
    return WireError(ERROR_CODE, said if isinstance(said, str) else _encode(said).decode())


def raw_of(value: object) -> Raw:
    return Raw(_encode(value))


def metadata_of(kind: str, record: Mapping[str, Any], *, left_out: Iterable[str]) -> Raw:
    """The record as it was, but for what has a place of its own here; of one that is too long, the shortest parts."""
    names = frozenset(left_out)
    kept = {name: value for name, value in record.items() if name not in names}
    encoded = _encode({kind: kept})
    if len(encoded) <= FIELD_BYTES_MAX:
        return Raw(encoded)
    sizes = {name: len(_encode({name: value})) for name, value in kept.items()}
    room, few = FIELD_BYTES_MAX - _HEAD_BYTES, {}
    for name in sorted(sizes, key=lambda name: sizes[name]):
        room -= sizes[name]
        if room < 0:
            break
        few[name] = kept[name]
    return raw_of({kind: few, "left_out": len(kept) - len(few)})


def text_of(*said: object) -> str:
    """The first of these that is a text with something in it."""
    found = next((one.strip() for one in said if isinstance(one, str) and one.strip()), NO_TEXT)
    return (
        found
        if len(found.encode()) <= INPUT_BYTES_MAX
        else found.encode()[: INPUT_BYTES_MAX - 8].decode(errors="ignore")
    )


def gather(carried: Iterable[CarriedTask], shown: str, cargo: Cargo, tasks: dict[str, CarriedTask]) -> None:
    """Put the tasks of one file beside those that were read before; whichever came first is the one that counts."""
    for task in carried:
        first = cargo.files.setdefault(task.id, shown)
        taken = tasks.setdefault(task.id, task)
        if taken is task:
            continue
        if first != shown:
            name = one_line(task.id)
            cargo.notes.append(f"{name} is also in {shown}; it is taken from {first}, where it is {taken.status}.")
            continue
        told = f"{shown} has {task.id} more than once: the first one is taken, the others are left out."
        if told not in cargo.left_out[-1:]:
            cargo.left_out.append(told)


def missing_in(tasks: Sequence[CarriedTask]) -> list[str]:
    """What they depend on and is not among them."""
    names = {task.id for task in tasks}
    return sorted({name for task in tasks for name in task.depends_on if name not in names})


def complete(cargo: Cargo, missing: Mapping[str, str]) -> None:
    """Make up for what tasks depend on and no file has; `missing` says why. If a file could not be read, it may be in
    there: then those that depend on it wait for that file, and are left out.
    """
    if not cargo.damaged:
        cargo.tasks += [_stand_in(name, because) for name, because in missing.items()]
        return
    heirs: dict[str, list[str]] = {}
    for task in cargo.tasks:
        for name in task.depends_on:
            heirs.setdefault(name, []).append(task.id)
    left_out: dict[str, None] = {}
    front = list(missing)
    while front:
        for heir in heirs.get(front.pop(), ()):
            if heir not in left_out:
                left_out[heir] = None
                front.append(heir)
    if left_out:
        cargo.tasks = [task for task in cargo.tasks if task.id not in left_out]
        cargo.left_out.append(f"Left out, since they depend on what could not be read: {listed(left_out)}.")


def tell_empty(cargo: Cargo, looked_for: str) -> None:
    """An agent could do nothing with those: whoever imports them should know."""
    empty = [task.id for task in cargo.tasks if task.input == NO_TEXT]
    if empty:
        cargo.notes.append(f"No {looked_for} says what is to be done in: {listed(empty)}. Their input is {NO_TEXT!r}.")


def listed(names: Collection[str]) -> str:
    shown = ", ".join(one_line(name) for name in sorted(names)[:NAMES_SHOWN_MAX])
    more = f" and {len(names) - NAMES_SHOWN_MAX:,} more" if len(names) > NAMES_SHOWN_MAX else ""
    return f"{shown}{more}"


def _stand_in(name: str, because: str) -> CarriedTask:
    """Left out, so that those who depend on it wait for a person and not for ever."""
    return CarriedTask(
        id=name,
        input=f"This task was not imported: {because}. Others depend on it.",
        status=Status.SKIPPED,
        skipped_reason=because,
        source=Source(channel=CHANNEL),
    )
