"""The queues by model source: a file for each source, and an archive by source and month.

Refs are counted per queue there, so `T-001` may be in each of them: a task is known by its queue and its ref, and what
it depends on is looked for in its own queue first. A retry there comes on top of the first try.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from taskyard.cli.imports.cargo import Cargo
from taskyard.cli.imports.files import Damaged, Directory, NotADirectory, Unrecognised, directory, parsed, tasks_in
from taskyard.cli.imports.foreign import (
    CHANNEL,
    attempts_of,
    complete,
    error_of,
    gather,
    instant_of,
    listed,
    metadata_of,
    missing_in,
    origin_of,
    tell_empty,
    text_of,
    within,
)
from taskyard.vocabulary import AttemptStatus, DependsPolicy, Level, ResultStatus, Status
from taskyard.wire.fields import ATTEMPTS_MAX, DEPENDENCIES_MAX, Name
from taskyard.wire.frames import WireError
from taskyard.wire.imports import CONCURRENT_MAX, ORDER_MAX, CarriedQueue, CarriedTask
from taskyard.wire.submission import Execution, Source

ARCHIVE: Final = "archive"
STATUSES: Final = {
    "pending": Status.PENDING,
    "waiting": Status.WAITING,
    "running": Status.RUNNING,
    "blocked": Status.BLOCKED,
    "done": Status.COMPLETED,
    "failed": Status.PERMANENTLY_FAILED,
    "skipped": Status.SKIPPED,
}
RETRIES: Final = 3
NORMAL: Final = 5
URGENCY: Final = {1: Level.CRITICAL, 2: Level.HIGH, 3: Level.NORMAL, 4: Level.LOW}
"""The scale from 1 to 4 of some of these queues, most urgent first."""


class QueueFile(Struct, rename="camel"):
    source: Name | None = None
    models: list[Name] = []
    max_concurrent: int | None = None
    max_retries: int | None = None


class QueuedTask(Struct, kw_only=True):
    """What is read of one; the rest is kept as it is."""

    id: Name
    status: str
    queue: Name | None = None
    model: Name | None = None
    description: str | None = None
    goal: str | None = None
    priority: float | None = None
    depends_on: Name | Annotated[list[Name], Meta(max_length=DEPENDENCIES_MAX)] | None = None
    on_depends_fail: DependsPolicy | None = None
    result: Raw | UnsetType = UNSET
    result_status: str | None = None
    result_summary: str | None = None
    retries: int | None = None
    max_retries: int | None = msgspec.field(default=None, name="maxRetries")
    subagent_session: str | None = None
    error_message: Any = None
    error: Any = None
    skipped_reason: str | None = None
    added_at: str | float | None = None
    started_at: str | float | None = None
    completed_at: str | float | None = None


class Shelf(Struct):
    """One queue as it is read."""

    name: str
    max_retries: int
    archived: bool


def read(path: str, *, origin: str | None = None, urgent_first: bool = False) -> Cargo:
    """All of it, from the directory that holds the queues' files. `urgent_first`: priorities are from 1 to 4."""
    with directory(path) as found:
        files = found.names(".json")
        if not files and not found.has(ARCHIVE):
            raise NotADirectory(f"{path}: holds no queue's file (*.json), and no {ARCHIVE}")
        cargo = Cargo(origin=origin_of("model-queues", path, origin))
        tasks: dict[str, CarriedTask] = {}
        strangers = [name for name in files if not _read_queue(found, name, cargo, tasks)]
        if strangers == files and not found.has(ARCHIVE):
            raise NotADirectory(f"{path}: holds no queue's file: none of {listed(files)} has `tasks`")
        if found.has(ARCHIVE):
            _read_archive(found, cargo, tasks)
    _set_priorities(tasks.values(), cargo, urgent_first=urgent_first)
    cargo.tasks = list(tasks.values())
    tell_empty(cargo, "`description` or `goal`")
    unclear = _find_dependencies(cargo.tasks)
    missing = {name: unclear.get(name, "it was in none of the files") for name in missing_in(cargo.tasks)}
    complete(cargo, missing)
    return cargo


def _read_queue(found: Directory, name: str, cargo: Cargo, tasks: dict[str, CarriedTask]) -> bool:
    """Whether it is a queue's file, be it a damaged one."""
    shown = f"{found.shown}/{name}"
    try:
        content = found.read(name)
        read_tasks = tasks_in(content, QueuedTask, shown)
        head = parsed(content, QueueFile, shown)
        source = _named(head.source or name.removesuffix(".json"), shown)
        own = Shelf(source, RETRIES if head.max_retries is None else head.max_retries, archived=False)
        carried = [_carried(task, text, own, shown) for task, text in read_tasks]
    except Damaged as damage:
        cargo.damaged.append(str(damage))
        return not isinstance(damage, Unrecognised)
    most = None if head.max_concurrent is None else int(within(head.max_concurrent, 1, CONCURRENT_MAX, 1))
    if most != head.max_concurrent:
        cargo.notes.append(f"{shown}: `maxConcurrent` {head.max_concurrent:,} cannot be; the queue gets {most:,}.")
    cargo.queues[source] = CarriedQueue(models=list(dict.fromkeys(head.models)), max_concurrent=most)
    gather(carried, shown, cargo, tasks)
    return True


def _read_archive(found: Directory, cargo: Cargo, tasks: dict[str, CarriedTask]) -> None:
    """A directory for each source, a file for each month."""
    try:
        with found.below(ARCHIVE) as archive:
            for name in archive.names():
                _read_months(archive, name, cargo, tasks)
    except Damaged as damage:
        cargo.damaged.append(str(damage))


def _read_months(archive: Directory, source: str, cargo: Cargo, tasks: dict[str, CarriedTask]) -> None:
    with archive.below(source) as months:
        for name in months.names(".json"):
            shown = f"{months.shown}/{name}"
            try:
                own = Shelf(_named(source, shown), RETRIES, archived=True)
                read_tasks = tasks_in(months.read(name), QueuedTask, shown)
                carried = [_carried(task, text, own, shown) for task, text in read_tasks]
            except Damaged as damage:
                cargo.damaged.append(str(damage))
                continue
            gather(carried, shown, cargo, tasks)


def _named(source: str, shown: str) -> str:
    if "/" in source or not source.isprintable() or source in (".", ".."):
        raise Damaged(f"{shown}:1:1: {source!r} is no name of a queue")
    return source


def _carried(task: QueuedTask, text: bytes, source: Shelf, shown: str) -> CarriedTask:
    status = STATUSES.get(task.status)
    if status is None:
        raise Damaged(f"{shown}: {task.id} has the status {task.status!r}; there are: {', '.join(STATUSES)}")
    has_ended = status in (Status.COMPLETED, Status.PERMANENTLY_FAILED, Status.SKIPPED)
    record: Mapping[str, Any] = msgspec.json.decode(text)
    retries = source.max_retries if task.max_retries is None else task.max_retries
    named = [task.depends_on] if isinstance(task.depends_on, str) else task.depends_on or []
    carried = CarriedTask(
        id=f"{source.name}/{task.id}",
        order=_order(task.id),
        input=text_of(task.description, task.goal),
        goal=task.goal,
        metadata=metadata_of(
            "model_queues",
            {**record, "queue": source.name},
            left_out=("description", *(["result"] if has_ended else [])),
        ),
        source=Source(channel=CHANNEL),
        model=task.model,
        queue=source.name,
        priority=None if task.priority is None else round(task.priority),
        depends_on=list(dict.fromkeys(named)),
        on_depends_fail=task.on_depends_fail or DependsPolicy.BLOCK,
        execution=Execution(max_attempts=int(within(retries + 1, 1, ATTEMPTS_MAX, RETRIES + 1))),
        status=status,
        created_at=instant_of(task.added_at),
        archived=source.archived and has_ended,
    )
    _tell_tries(carried, task)
    if has_ended:
        _tell_end(carried, task)
    return carried


def _tell_tries(carried: CarriedTask, task: QueuedTask) -> None:
    """A task that failed for good failed once more than it was retried."""
    failed = max(task.retries or 0, 0) + (carried.status is Status.PERMANENTLY_FAILED)
    last = {Status.COMPLETED: AttemptStatus.SUCCESS, Status.RUNNING: AttemptStatus.RUNNING}.get(carried.status)
    error = _error_of(task)
    carried.attempts = attempts_of(failed, daemon=task.subagent_session, error=error, last=last)


def _tell_end(carried: CarriedTask, task: QueuedTask) -> None:
    carried.started_at = instant_of(task.started_at)
    carried.completed_at = instant_of(task.completed_at) or carried.started_at
    carried.result = UNSET if task.result is UNSET or bytes(task.result) == b"null" else task.result
    carried.result_summary = task.result_summary
    carried.skipped_reason = task.skipped_reason
    if carried.status is Status.COMPLETED:
        known = {one.value: one for one in ResultStatus}
        carried.result_status = known.get(task.result_status or "", ResultStatus.SUCCESS)
    if carried.status is Status.PERMANENTLY_FAILED:
        carried.error = _error_of(task)


def _error_of(task: QueuedTask) -> WireError | None:
    return error_of(task.error_message) or error_of(task.error)


def _find_dependencies(tasks: list[CarriedTask]) -> dict[str, str]:
    """Let every task name what it depends on by queue and ref; what cannot be told is answered, with why."""
    names = {task.id for task in tasks}
    queues: dict[str, list[str]] = {}
    for name in sorted(names):
        queues.setdefault(name.rpartition("/")[2], []).append(name)
    unclear: dict[str, str] = {}
    for task in tasks:
        for at, ref in enumerate(task.depends_on):
            own, others = f"{task.queue}/{ref}", queues.get(ref, [])
            if own in names or not others:
                task.depends_on[at] = own
            elif len(others) == 1:
                task.depends_on[at] = others[0]
            else:
                task.depends_on[at] = f"?/{ref}"
                unclear[f"?/{ref}"] = f"which of these was meant cannot be told: {', '.join(others)}"
    return unclear


def _order(ref: str) -> int | None:
    """Those that were added at once are served in the order of their refs."""
    number = ref.rpartition("-")[2]
    return min(int(number), ORDER_MAX) if number.isdecimal() and len(number) < 9 else None


def _set_priorities(tasks: Iterable[CarriedTask], cargo: Cargo, *, urgent_first: bool) -> None:
    """A bare number there: more is more urgent, or less with `urgent_first`; 0 is what nobody said anything about."""
    most, bent = len(URGENCY) if urgent_first else 10, []
    for task in tasks:
        said = task.priority
        if not isinstance(said, int):
            continue
        if not 0 <= said <= most:
            bent.append(task.id)
        number = int(within(said, 1, most, NORMAL))
        task.priority = NORMAL if said == 0 else URGENCY[number] if urgent_first else number
    if bent:
        cargo.notes.append(f"Priorities there are from 1 to {most}; the nearest is taken for: {listed(bent)}.")
