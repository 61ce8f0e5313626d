"""Intake: recognise, admit or refuse. Everything or nothing of a submission is taken.

Shape and size were checked at the edge. Here the rules, in the specification's order: idempotency, routing,
dependencies, priority. Each is a function in `CHECKS` that answers with a `Refused` or None. How much of what passes
them is taken is decided for all of it together (`admission.py`). A batch is looked at whole before the first of its
tasks exists; with `partial` the refused ones are left out and named.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from taskyard.core import occurrences
from taskyard.core.admission import Offer, charge_for, refusals_of
from taskyard.core.commands import Draft, SubmitTasks
from taskyard.core.dependencies import listen, outcome_of, warn
from taskyard.core.effects import Refused, Reply, Submitted
from taskyard.core.endings import holder_of
from taskyard.core.hooks import note_delivery
from taskyard.core.plans import allowance_of
from taskyard.core.priority import assign, ceiling_of, inherit
from taskyard.core.queues import route, unroutable
from taskyard.core.readiness import admit
from taskyard.core.state import Turn
from taskyard.core.targets import is_called
from taskyard.core.task import Dependency, Task
from taskyard.vocabulary import HELD, DependsPolicy, Refusal, SourceType, Status

CONTINUE = DependsPolicy.CONTINUE
# Python 3.11 looks up a member of an enum by a call, and every new task is asked for this one.


class Intake:
    """One submission while it is looked at."""

    __slots__ = ("aliases", "command", "names", "planned", "state", "turn")

    def __init__(self, turn: Turn, command: SubmitTasks) -> None:
        self.turn = turn
        self.state = turn.state
        self.command = command
        self.names: dict[str, Draft] = {d.name: d for d in command.drafts if d.name is not None}
        self.aliases: dict[str, str] = {}
        """Local names of drafts that turned out to be tasks already."""
        self.planned: dict[str, Draft] = {}
        """The drafts that will become tasks, by id."""

    def find(self, task_id: str) -> Task | None:
        """One of the user's own tasks, open or ended."""
        task = self.state.tasks.get(task_id) or self.command.known.tasks.get(task_id)
        return task if task is not None and task.user_id == self.command.user_id else None

    def is_seen(self, task: Task | None) -> bool:
        """Whether it is there for this caller. With a task's token, only that task's sub-tasks are: a dependency hands
        on what came of it, and a key that is recognised shows the task."""
        return task is not None and self.command.under in (None, task.parent_id)

    def resolve(self, name: str) -> str:
        """The id behind a local name, a ref or an id."""
        if name in self.names:
            return self.aliases.get(name) or self.names[name].id
        return self.command.known.refs.get(name, name)

    def parent_of(self, draft: Draft) -> Task | None:
        return None if draft.parent_id is None else self.find(self.resolve(draft.parent_id))


Check = Callable[[Intake, Draft], Refused | None]


def source_is_allowed(intake: Intake, draft: Draft) -> Refused | None:
    allowed = intake.command.sources
    if allowed is None or draft.kind.source in allowed:
        return None
    return Refused(Refusal.FORBIDDEN, f"This key may not submit as {draft.kind.source}.", field="source.type")


def name_is_its_own(intake: Intake, draft: Draft) -> Refused | None:
    if draft.name is None or intake.names[draft.name] is draft:
        return None
    return Refused(Refusal.INVALID_INPUT, f"Two tasks of this batch are called {draft.name}.", field="name")


def queue_is_known(intake: Intake, draft: Draft) -> Refused | None:
    return None if draft.queue is None else unroutable(intake.state, queue=draft.queue, model=None)


def model_is_routed(intake: Intake, draft: Draft) -> Refused | None:
    model = draft.kind.needs.model
    return None if model is None or draft.queue is not None else unroutable(intake.state, queue=None, model=model)


def deadline_is_ahead(intake: Intake, draft: Draft) -> Refused | None:
    if draft.deadline is None or draft.deadline > intake.turn.now.wall:
        return None
    return Refused(Refusal.INVALID_INPUT, "The deadline has passed already.", field="deadline")


def target_is_not_excluded(intake: Intake, draft: Draft) -> Refused | None:
    """Such a task would wait for ever. A daemon may be named by its id in one place and by its name in the other."""
    target, excluded = draft.kind.needs.target, draft.kind.needs.excluded
    if target is None or not excluded:
        return None
    named = [d for d in intake.state.daemons.values() if is_called(d, target, intake.command.user_id)]
    is_left = any(d.id not in excluded and d.record.name not in excluded for d in named)
    if is_left or (not named and target not in excluded):
        return None
    detail = f"The task is to run on {target} and excludes it; leave it out of one of the two."
    return Refused(Refusal.INVALID_INPUT, detail, field="requirements.excluded_daemons")


def parent_takes_children(intake: Intake, draft: Draft) -> Refused | None:
    if draft.parent_id is None:
        return None
    parent = intake.find(intake.resolve(draft.parent_id))
    if parent is None:
        return Refused(Refusal.INVALID_INPUT, f"There is no task {draft.parent_id}.", field="parent_task_id")
    if intake.command.under is not None and (parent.status not in HELD or parent.cancel_requested_at is not None):
        return Refused(
            Refusal.STALE_ATTEMPT, "The task this token is for is no longer running.", field="parent_task_id"
        )
    if parent.depth >= intake.state.settings.subtask_depth_max:
        return Refused(Refusal.INVALID_INPUT, "Sub-tasks are nested too deep.", field="parent_task_id")
    return None


def dependencies_exist(intake: Intake, draft: Draft) -> Refused | None:
    for name in draft.depends_on:
        task_id = intake.resolve(name)
        if task_id not in intake.planned and name not in intake.names and not intake.is_seen(intake.find(task_id)):
            return Refused(Refusal.DEPENDENCY_NOT_FOUND, f"There is no task {name} of yours.", field="depends_on")
    return None


CHECKS: Final[tuple[Check, ...]] = (
    source_is_allowed,
    name_is_its_own,
    queue_is_known,
    model_is_routed,
    deadline_is_ahead,
    target_is_not_excluded,
    parent_takes_children,
    dependencies_exist,
)


def submit(turn: Turn, command: SubmitTasks) -> None:
    answer = take(turn, command)
    if command.hook_id is not None:
        note_delivery(turn, command.hook_id, answer)
    turn.effects.append(Reply(command.reply_to, answer))


def take(turn: Turn, command: SubmitTasks) -> Refused | Submitted:
    """Take the tasks in, or say why not."""
    intake = Intake(turn, command)
    if command.under is not None:
        for draft in command.drafts:
            draft.parent_id = command.under
    refused, existing = _examine(intake)
    if refused and not command.partial:
        return refused[min(refused)]
    ids, deduplicated = [], []
    counts: dict[SourceType, int] = {}
    for index, draft in enumerate(command.drafts):
        if index in refused:
            continue
        found = existing.get(index)
        if found is None:
            _create(intake, draft)
            counts[draft.kind.source] = counts.get(draft.kind.source, 0) + 1
        ids.append(found or draft.id)
        deduplicated.append(found is not None)
    if counts:
        charge_for(turn, turn.state.users[command.user_id], counts)
    rejected = tuple(refused[index] for index in sorted(refused))
    return Submitted(tuple(ids), tuple(deduplicated), rejected)


def _examine(intake: Intake) -> tuple[dict[int, Refused], dict[int, str]]:
    """Per index: what is refused, and which tasks are there already. Nothing has changed yet."""
    refused: dict[int, Refused] = {}
    existing: dict[int, str] = {}
    drafts = intake.command.drafts
    keys: dict[str, Draft] = {}
    for index, draft in enumerate(drafts):
        answer = None if draft.key is None else recognise(intake, draft, draft.key, keys)
        if isinstance(answer, Refused):
            refused[index] = msgspec.structs.replace(answer, index=index)
        elif answer is not None:
            existing[index] = answer
            if draft.name is not None:
                intake.aliases[draft.name] = answer
        else:
            intake.planned[draft.id] = draft
    for index, draft in enumerate(drafts):
        if draft.id in intake.planned:
            refusal = _refusal_of(intake, draft)
            if refusal is not None:
                refused[index] = msgspec.structs.replace(refusal, index=index)
    _refuse_cycles(intake, refused)
    _refuse_heirs(intake, refused)
    if not refused or intake.command.partial:
        _refuse_too_much(intake, refused)
    by_id = {drafts[index].id: refusal for index, refusal in refused.items()}
    for index, twin_id in list(existing.items()):
        if twin_id in by_id:
            del existing[index]
            refused[index] = msgspec.structs.replace(by_id[twin_id], index=index)
    return refused, existing


def _refuse_too_much(intake: Intake, refused: dict[int, Refused]) -> None:
    """Of what is right in itself, that for which there is no room."""
    drafts = enumerate(intake.command.drafts)
    left = {index: draft for index, draft in drafts if index not in refused and draft.id in intake.planned}
    if not left:
        return
    found = refusals_of(Offer(intake.turn, intake.command, left, intake.parent_of))
    if found:
        refused.update((index, msgspec.structs.replace(refusal, index=index)) for index, refusal in found.items())
        _refuse_heirs(intake, refused)


def _refusal_of(intake: Intake, draft: Draft) -> Refused | None:
    for check in CHECKS:
        refusal = check(intake, draft)
        if refusal is not None:
            return refusal
    return None


def recognise(intake: Intake, draft: Draft, key: str, keys: dict[str, Draft]) -> Refused | str | None:
    """The id of the task that this key already made; a refusal if it was made of other content."""
    twin = keys.setdefault(key, draft)
    command = intake.command
    holder = holder_of(intake.state, command.known, command.user_id, key, intake.turn.now.wall) or twin
    if holder is draft:
        return None
    if holder.digest != draft.digest or (isinstance(holder, Task) and not intake.is_seen(holder)):
        # Not by its name: where a header's key is meant for several tasks, each has one made of it.
        detail = "This idempotency key was used for other content; use a new key."
        return Refused(Refusal.IDEMPOTENCY_KEY_REUSED, detail, field="idempotency_key")
    return holder.id


def _refuse_cycles(intake: Intake, refused: dict[int, Refused]) -> None:
    """Among the drafts of one batch; what exists already cannot depend on what does not yet."""
    graph = {d.id: [intake.resolve(n) for n in d.depends_on] for d in intake.planned.values() if d.depends_on}
    while cycle := find_cycle(graph):
        labels = [intake.planned[i].name or i for i in cycle]
        detail = f"These depend on each other: {' → '.join([*labels, labels[0]])}."
        for index, draft in enumerate(intake.command.drafts):
            if draft.id in cycle:
                refused.setdefault(index, Refused(Refusal.DEPENDENCY_CYCLE, detail, field="depends_on", index=index))
                del graph[draft.id]


def find_cycle(graph: dict[str, list[str]]) -> list[str]:
    """One cycle, in order; empty if there is none."""
    done: dict[str, None] = {}
    for root in graph:
        path: dict[str, None] = {}
        stack: list[tuple[str, bool]] = [(root, False)]
        while stack:
            node, is_left = stack.pop()
            if is_left:
                del path[node]
                done[node] = None
            elif node in path:
                order = list(path)
                return order[order.index(node) :]
            elif node in graph and node not in done:
                path[node] = None
                stack.append((node, True))
                stack.extend((n, False) for n in graph[node])
    return []


def _refuse_heirs(intake: Intake, refused: dict[int, Refused]) -> None:
    """In a partial batch, what depends on a refused draft has no dependency either."""
    drafts = intake.command.drafts
    gone = {drafts[index].id for index in refused}
    is_growing = bool(gone)
    while is_growing:
        is_growing = False
        for index, draft in enumerate(drafts):
            lost = next((n for n in draft.depends_on if intake.resolve(n) in gone), None)
            if index not in refused and draft.id in intake.planned and lost is not None:
                detail = f"It depends on {lost}, which was refused."
                refused[index] = Refused(Refusal.DEPENDENCY_NOT_FOUND, detail, field="depends_on", index=index)
                gone.add(draft.id)
                is_growing = True


def _create(intake: Intake, draft: Draft) -> None:
    enter(intake.turn, task_of(intake, draft), draft.body)


def enter(turn: Turn, task: Task, body: bytes) -> None:
    """A new open task takes its place."""
    state = turn.state
    state.intern(task)
    state.tasks[task.id] = task
    if task.key is not None:
        state.keys[task.user_id, task.key] = task.id
    listen(state, task)
    if task.terms.on_depends_fail is CONTINUE:
        for dependency in task.depends or ():
            if dependency.outcome not in (None, Status.COMPLETED):
                warn(turn, task, dependency)
    if task.schedule_id is not None:
        occurrences.begin(turn, task, task.schedule_id)
    admit(turn, task, body)
    inherit(turn, task)


def task_of(intake: Intake, draft: Draft) -> Task:
    """Its record, with the next number of its user."""
    state, now = intake.state, intake.turn.now
    user = state.users[intake.command.user_id]
    user.number += 1
    numbers = state.settings.priorities
    ceiling = ceiling_of(draft, intake.command.ceiling, numbers, allowance_of(state, user).max_priority)
    level, value = assign(draft, user, ceiling=ceiling, now_ms=now.wall, numbers=numbers)
    parent = intake.parent_of(draft)
    queue = route(state, queue=draft.queue, model=draft.kind.needs.model)
    task = Task(
        id=draft.id,
        user_id=user.id,
        number=user.number,
        kind=draft.kind if queue == draft.kind.queue else msgspec.structs.replace(draft.kind, queue=queue),
        terms=draft.terms,
        created_at=now.wall,
    )
    # One by one: naming so many fields at once takes a record twice as long to make.
    task.level = level
    task.value = value
    task.ceiling = ceiling
    task.not_before = draft.scheduled_for
    task.deadline = draft.deadline
    task.sla = draft.sla
    task.key = draft.key
    task.digest = draft.digest
    task.correlation_id = draft.correlation_id
    task.traceparent = draft.traceparent
    task.tracestate = draft.tracestate
    task.schedule_id = draft.schedule_id
    if parent is not None:
        task.parent_id, task.depth = parent.id, parent.depth + 1
    if draft.depends_on:
        task.depends = _dependencies(intake, draft)
    return task


def _dependencies(intake: Intake, draft: Draft) -> list[Dependency]:
    ids = dict.fromkeys(intake.resolve(name) for name in draft.depends_on)
    return [dependency_on(intake.find(task_id), task_id, intake.turn) for task_id in ids]


def dependency_on(task: Task | None, task_id: str, turn: Turn) -> Dependency:
    """How it stands with a task one depends on; None is one of the same batch, which has not begun."""
    outcome = outcome_of(task) if task is not None else None
    return Dependency(task_id) if outcome is None else Dependency(task_id, outcome, turn.now.wall)
