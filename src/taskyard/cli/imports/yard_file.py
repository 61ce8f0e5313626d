"""A yard in a file: JSON lines that `taskyard export` writes and `taskyard import yard` reads.

The first line says what this is, the last how many tasks there are, what they add up to and what all lines before it
do, so that a file that was cut off or changed is noticed. Between them are queues, and for each user the breakers and
tasks that follow. Keys are not in it: a yard's secrets do not leave it.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, assert_never

import msgspec
from msgspec import UNSET, Struct

from taskyard.cli.imports.cargo import Cargo
from taskyard.cli.imports.files import TASKS_MAX, Damaged, parsed, placed, read_at, read_input
from taskyard.vocabulary import ENDED, HELD, AttemptStatus, Status
from taskyard.wire.fields import Instant
from taskyard.wire.imports import FROM_A_YARD, CarriedBreaker, CarriedQueue, CarriedTask, CarriedUser

VERSION: Final = 1
_encode: Final = msgspec.json.Encoder().encode
_canonical: Final = msgspec.json.Encoder(order="deterministic").encode


class Line(Struct, tag_field="kind", forbid_unknown_fields=True):
    """What every line is."""


class Head(Line, tag="taskyard"):
    version: int
    at: Instant


class QueueLine(Line, tag="queue"):
    name: str
    queue: CarriedQueue


class UserLine(Line, tag="user"):
    """Whose the lines after it are; None: whoever reads them."""

    user: CarriedUser | None


class BreakerLine(Line, tag="breaker"):
    breaker: CarriedBreaker


class TaskLine(Line, tag="task"):
    task: CarriedTask


class End(Line, tag="end"):
    tasks: int
    digest: str
    """Of the tasks: the same in every yard that has the same ones."""
    checksum: str
    """Of the lines before this one, as they are written."""


_AnyLine = Head | QueueLine | UserLine | BreakerLine | TaskLine | End


class Sum:
    """What tasks add up to, whatever ids they have in their yard and however often they were carried."""

    def __init__(self) -> None:
        self.tasks = 0
        self._digests: list[str] = []

    def add(self, user: str | None, tasks: Sequence[CarriedTask]) -> None:
        refs = {task.id: f"T-{task.number}" for task in tasks}
        self.tasks += len(tasks)
        self._digests += [_digest(user, task, refs) for task in tasks]

    def digest(self) -> str:
        return hashlib.sha256("\n".join(sorted(self._digests)).encode()).hexdigest()


def _digest(user: str | None, task: CarriedTask, refs: Mapping[str, str]) -> str:
    """Of one, as it will be when it has been taken in: what ran is ready again, its try was lost.

    Whether it lies in the archive yet is a matter of when a hub tidies up.
    """
    attempts = [
        msgspec.structs.replace(one, status=AttemptStatus.LOST, ended_at=None)
        if one.status in (AttemptStatus.RUNNING, AttemptStatus.LOST)
        else one
        for one in task.attempts
    ]
    same = msgspec.structs.replace(
        task,
        id=refs[task.id],
        order=None,
        depends_on=[refs.get(name, name) for name in task.depends_on],
        parent_task_id=None if task.parent_task_id is None else refs.get(task.parent_task_id, task.parent_task_id),
        attempts=attempts,
        archived=False,
    )
    if task.status in ENDED:
        same.not_before, same.checkpoint = None, UNSET
    else:
        same.status = Status.QUEUED if task.status in HELD else task.status
        same.queued_at = same.scheduled_at = same.error = None
    return hashlib.sha256(_canonical([user, msgspec.json.decode(_encode(same))])).hexdigest()


Part = tuple[CarriedUser | None, Sequence[CarriedBreaker], Sequence[CarriedTask]]
"""One user's."""


def lines_of(at: datetime, queues: Mapping[str, CarriedQueue], parts: Iterable[Part]) -> Iterator[bytes]:
    """The lines of a file, without their ends."""
    total, written = Sum(), hashlib.sha256()
    for line in _before_end(at, queues, parts, total):
        text = _line(line)
        written.update(text + b"\n")
        yield text
    yield _line(End(total.tasks, total.digest(), written.hexdigest()))


def _before_end(at: datetime, queues: Mapping[str, CarriedQueue], parts: Iterable[Part], total: Sum) -> Iterator[Line]:
    yield Head(VERSION, at)
    for name, queue in queues.items():
        yield QueueLine(name, queue)
    for user, breakers, tasks in parts:
        yield UserLine(user)
        yield from map(BreakerLine, breakers)
        yield from map(TaskLine, tasks)
        total.add(None if user is None else user.name, tasks)


def _line(line: Line) -> bytes:
    """What a task was given may have ends of lines between its values, which mean nothing there."""
    encoded = _encode(line)
    return msgspec.json.format(encoded, indent=-1) if b"\n" in encoded or b"\r" in encoded else encoded


def read(path: str) -> list[Cargo]:
    """One for each user; `-` is standard input. `Damaged` if anything of it is."""
    content = read_input(path) if path == "-" else read_at(None, path, path)
    total, written, at = Sum(), hashlib.sha256(), 0
    end: End | None = None
    cargoes: list[Cargo] = []
    queues: dict[str, CarriedQueue] = {}
    for number, text in enumerate(content.split(b"\n")):
        line = _parsed(content, text, path, at) if text.strip() else None
        if line is not None and (number == 0) is not isinstance(line, Head):
            raise Damaged(f"{placed(content, path, at)}: an export begins with a line that says so, and once")
        if end is not None and line is not None:
            raise Damaged(f"{placed(content, path, at)}: something follows the end")
        end = _take(line, cargoes, queues) or end
        if line is not None and end is None:
            written.update(text.strip() + b"\n")
        at += len(text) + 1
    for cargo in cargoes:
        total.add(None if cargo.user is None else cargo.user.name, cargo.tasks)
    if end is None or total.tasks != end.tasks:
        raise Damaged(f"{placed(content, path, len(content))}: the file ends before its end; export it again")
    if (total.digest(), written.hexdigest()) != (end.digest, end.checksum):
        raise Damaged(f"{path}: its lines do not add up to what its last line says; it was changed, export it again")
    return cargoes


def _parsed(content: bytes, text: bytes, path: str, at: int) -> _AnyLine:
    """`Damaged` is told of the place in the whole file."""
    try:
        return parsed(text, _AnyLine, "")  # type: ignore[arg-type]
    except Damaged as damage:
        said = str(damage).lstrip(":0123456789").strip()
        raise Damaged(f"{placed(content, path, at)}: {said}") from damage


def _take(line: _AnyLine | None, cargoes: list[Cargo], queues: dict[str, CarriedQueue]) -> End | None:
    """Put a line where it belongs; the last one is answered."""
    match line:
        case None:
            return None
        case Head():
            if line.version != VERSION:
                raise Damaged(f"This export has the version {line.version}; this taskyard reads {VERSION}.")
        case QueueLine():
            queues[line.name] = line.queue
        case UserLine():
            cargoes.append(Cargo(origin=FROM_A_YARD, user=line.user, queues=queues))
        case BreakerLine():
            _last(cargoes).breakers.append(line.breaker)
        case TaskLine():
            _last(cargoes).tasks.append(line.task)
        case End():
            return line
        case _:
            assert_never(line)
    return None


def _last(cargoes: list[Cargo]) -> Cargo:
    if not cargoes or len(cargoes[-1].tasks) == TASKS_MAX:
        raise Damaged(f"A breaker or a task stands before any user, or behind {TASKS_MAX:,} of one.")
    return cargoes[-1]
