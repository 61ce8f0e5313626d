"""What a chat answer tells of tasks and queues, read from what is committed. `chat/replies.py` puts it into words."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from taskyard.chat.replies import Because, Blocked, QueueFacts, TaskFacts
from taskyard.core.task import Dependency, Task
from taskyard.gateway.views import QueueView
from taskyard.store.port import Reader, StoredTask, TaskFilter
from taskyard.vocabulary import ENDED, Level, Status
from taskyard.wire.tasks import Content

LISTED_MAX: Final = 100
# Of a user's open tasks, and of those done lately that are counted: a page, not all that there ever was.
SHOWN_MAX: Final = 10
"""Of one queue's open tasks."""
FAILED_SHOWN_MAX: Final = 5
"""Of one queue's tasks that failed for good."""
BLOCKED_MAX: Final = 20

_PASSED: Final = frozenset({Status.FAILED, Status.TIMEOUT})
OPEN: Final = tuple(status for status in Status if status not in ENDED and status not in _PASSED)
UNBLOCKED: Final = tuple(status for status in OPEN if status is not Status.BLOCKED)
STOPPED: Final = frozenset({Status.BLOCKED, Status.SKIPPED})
"""By a dependency."""
UNREADY: Final = frozenset({Status.PENDING, Status.WAITING, Status.BLOCKED})
RETRYABLE: Final = frozenset({Status.PERMANENTLY_FAILED, Status.SKIPPED})

_content: Final = msgspec.json.Decoder(Content)


class Standing(Struct, frozen=True):
    """A user's open and failed tasks, newest first, the refs of what they wait for, and what was done lately."""

    open: list[StoredTask]
    failed: list[StoredTask]
    refs: Mapping[str, str]
    done: Mapping[str, int]


def standing(reader: Reader, user_id: str, queue: str | None) -> Standing:
    opened = reader.tasks(TaskFilter(user_id=user_id, statuses=OPEN, queue=queue, limit=LISTED_MAX))
    letters = reader.dead_letters(user_id=user_id, limit=LISTED_MAX, before=None)
    failed = [one for one in letters if one.damaged is None]
    ended = TaskFilter(user_id=user_id, statuses=(Status.COMPLETED,), queue=queue, limit=LISTED_MAX)
    done = Counter(one.task.kind.queue for one in reader.tasks(ended))
    return Standing(opened, failed, refs_of(reader, user_id, [one.task for one in (*opened, *failed)]), done)


def refs_of(reader: Reader, user_id: str, tasks: Sequence[Task]) -> dict[str, str]:
    """Of these tasks and all that they wait for, by id."""
    ids = dict.fromkeys(each.id for task in tasks for each in task.depends or ())
    known = reader.known(user_id=user_id, ids=tuple(ids), refs=(), keys=())
    return {task.id: task.ref for task in (*known.tasks.values(), *tasks)}


def queue_facts(views: Sequence[QueueView], found: Standing, now_ms: int) -> list[QueueFacts]:
    """Queue by queue; oldest tasks first, since those are next."""
    by_queue: dict[str, list[StoredTask]] = {}
    for one in reversed(found.open):
        by_queue.setdefault(one.task.kind.queue, []).append(one)
    facts = []
    for view in views:
        tasks = by_queue.get(view.name, [])
        failed = [one for one in found.failed if one.task.kind.queue == view.name]
        facts.append(
            QueueFacts(
                name=view.name,
                state=view.state,
                # The view counts those that are ready; what waits for a time or a task waits too.
                waiting=view.waiting + sum(one.task.status in UNREADY for one in tasks),
                running=view.running,
                done=found.done.get(view.name, 0),
                tasks=tuple(task_facts(one, found.refs, now_ms) for one in tasks[:SHOWN_MAX]),
                more=max(0, len(tasks) - SHOWN_MAX),
                failed=tuple(task_facts(one, found.refs, now_ms) for one in failed[:FAILED_SHOWN_MAX]),
                failures=len(failed),
                is_cut=LISTED_MAX in (len(found.open), len(found.failed)),
            )
        )
    return facts


def task_facts(
    stored: StoredTask,
    refs: Mapping[str, str],
    now_ms: int,
    *,
    position: int | None = None,
    was_known: bool = False,
    because: Because | None = None,
    priority: Level | None = None,
    goal: str | None = None,
) -> TaskFacts:
    task, content = stored.task, _content.decode(stored.body)
    trouble = task.trouble
    failed = tuple((refs[each.id], each.outcome) for each in _failed(task) if each.outcome and each.id in refs)
    own = None if trouble is None or _failed(task) else trouble.skipped_reason
    if because is None and own:
        # Of a task that was imported: in the words of where it came from.
        because = Because(own)
    return TaskFacts(
        ref=task.ref,
        text=content.title or content.input,
        status=task.status,
        queue=task.kind.queue,
        model=content.model,
        depends_on=tuple(refs[each.id] for each in task.depends or () if each.id in refs),
        position=position,
        was_known=was_known,
        summary=task.summary,
        error=None if task.error is None else f"{task.error.code}: {task.error.message}",
        tries=sum(attempt.series == task.series for attempt in task.attempts or ()),
        lasted_ms=_lasted_ms(task, now_ms),
        because=because,
        priority=priority,
        goal=goal,
        failed=failed if task.status in STOPPED else (),
    )


def _lasted_ms(task: Task, now_ms: int) -> int | None:
    newest = task.newest
    if newest is None or newest.started_at is None or task.status not in (Status.RUNNING, Status.COMPLETED):
        return None
    return max(0, (newest.ended_at or now_ms) - newest.started_at)


def blocked(reader: Reader, user_id: str) -> list[Blocked]:
    """If every open task of a user is blocked: each, with what it needs. None if one of them may still go on."""
    if reader.tasks(TaskFilter(user_id=user_id, statuses=UNBLOCKED, limit=1)):
        return []
    found = reader.tasks(TaskFilter(user_id=user_id, statuses=(Status.BLOCKED,), limit=BLOCKED_MAX))
    refs = refs_of(reader, user_id, [one.task for one in found])
    return [one for stored in reversed(found) if (one := _blocked(stored.task, refs)) is not None]


def _failed(task: Task) -> list[Dependency]:
    """What it depends on and did not complete."""
    return [each for each in task.depends or () if each.outcome not in (None, Status.COMPLETED)]


def _blocked(task: Task, refs: Mapping[str, str]) -> Blocked | None:
    """What it needs; None if that is a blocked task itself, which is told of too."""
    bad = [each for each in _failed(task) if each.outcome is not Status.BLOCKED]
    named = {each.id: refs[each.id] for each in bad if each.id in refs}
    retryable = tuple(named[each.id] for each in bad if each.outcome in RETRYABLE and each.id in named)
    return Blocked(task.ref, tuple(named.values()), retryable) if named else None
