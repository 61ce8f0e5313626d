"""Levels and numbers: what a task gets, what may raise it, and what may not.

A level orders, a number (1 to 10) orders within the level. A named priority is taken as it is; an unnamed one is
assigned from source, channel and deadline. Nothing lifts a task above its ceiling: neither its deadline nor
what waits for it.
"""

from typing import Final

from taskyard.core.ageing import watch_age
from taskyard.core.commands import Draft
from taskyard.core.estimates import estimated_ms
from taskyard.core.lanes import key_of
from taskyard.core.settings import Priorities
from taskyard.core.state import Turn, User
from taskyard.core.task import Task, Trouble, ms_of
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import ENDED, RANK, EventName, Level, SourceType, Status

# Python 3.11 looks up a member of an enum by a call. What every new task is compared with is named here once.
CRITICAL, NORMAL = Level.CRITICAL, Level.NORMAL
AGENT, USER, WEBHOOK = SourceType.AGENT, SourceType.USER, SourceType.WEBHOOK

VALUE_OF: Final = {Level.CRITICAL: 10, Level.HIGH: 8, Level.NORMAL: 5, Level.LOW: 2}


def level_of(value: int) -> Level:
    """10 critical, 8–9 high, 5–7 normal, 1–4 low."""
    if value >= VALUE_OF[CRITICAL]:
        return CRITICAL
    if value >= VALUE_OF[Level.HIGH]:
        return Level.HIGH
    return NORMAL if value >= VALUE_OF[NORMAL] else Level.LOW


def lower_of(level: Level, ceiling: Level | None) -> Level:
    return ceiling if ceiling is not None and RANK[level] < RANK[ceiling] else level


def higher_of(one: Level, other: Level) -> Level:
    return one if RANK[one] <= RANK[other] else other


def ceiling_of(
    draft: Draft, key_ceiling: Level | None, numbers: Priorities, plan_ceiling: Level | None = None
) -> Level | None:
    """The lower of the key's and the plan's. A key that says nothing has the agents' own for what agents submit."""
    if key_ceiling is None and draft.kind.source is AGENT:
        key_ceiling = numbers.agent_max
    return plan_ceiling if key_ceiling is None else lower_of(key_ceiling, plan_ceiling)


def assign(draft: Draft, user: User, *, ceiling: Level | None, now_ms: int, numbers: Priorities) -> tuple[Level, int]:
    """The level and number a new task begins with."""
    if draft.value is not None:
        level, value = level_of(draft.value), draft.value
    else:
        level = draft.level or _unnamed(draft, user, now_ms, numbers)
        value = VALUE_OF[level]
    allowed = lower_of(level, ceiling)
    return (level, value) if allowed is level else (allowed, VALUE_OF[allowed])


def _unnamed(draft: Draft, user: User, now_ms: int, numbers: Priorities) -> Level:
    level, source, event = NORMAL, draft.kind.source, draft.event_type or ""
    if source is USER and draft.channel == "desktop":
        level = Level.HIGH
    elif source is WEBHOOK and "security" in event:
        level = CRITICAL
    elif source is WEBHOOK and "payment" in event:
        level = Level.HIGH
    if draft.deadline is None:
        return level
    left = draft.deadline - now_ms
    estimated = estimated_ms(user, draft.kind.needs.type, draft.terms.estimated_ms, numbers)
    if left < numbers.assign_critical_factor * estimated:
        return CRITICAL
    return higher_of(level, Level.HIGH) if left < numbers.assign_high_factor * estimated else level


def watch_deadline(turn: Turn, task: Task) -> None:
    """A ready task whose deadline is near becomes critical, now or when it gets near."""
    if task.deadline is None:
        return
    numbers, user = turn.state.settings.priorities, turn.state.users[task.user_id]
    estimated = estimated_ms(user, task.kind.needs.type, task.terms.estimated_ms, numbers)
    near_at = task.deadline - round(numbers.escalate_factor * estimated)
    if turn.now.wall > near_at:
        raise_to(turn, task, CRITICAL, because="deadline")
    else:
        turn.state.timers.set(Clock.WALL, Due.ESCALATION, task.id, near_at + 1)


def escalate(turn: Turn, task: Task) -> None:
    """The timer of `watch_deadline`; a task that is not ready any more is looked at when it is again."""
    if task.status is Status.QUEUED:
        watch_deadline(turn, task)


def raise_to(turn: Turn, task: Task, level: Level, *, because: str) -> None:
    """Lift a task, and what it waits for, at least to this level; never above a ceiling, never down."""
    lifted = [(task, level)]
    while lifted:
        task, level = lifted.pop()
        allowed = lower_of(level, task.ceiling)
        if task.status in ENDED or RANK[allowed] >= RANK[task.level]:
            continue
        was = task.level
        set_level(turn, task, allowed, VALUE_OF[allowed])
        task.asked = task.asked or was
        turn.tell(EventName.TASK_ESCALATED, task, data={"level": allowed, "from_level": was, "because": because})
        lifted += [(other, task.level) for other in _held_up_by(turn, task)]


def inherit(turn: Turn, task: Task) -> None:
    """A task is at least as urgent as what waits for it, and what it waits for as the task itself."""
    tasks = turn.state.tasks
    for heir_id in turn.state.dependants.get(task.id, ()):
        raise_to(turn, task, tasks[heir_id].level, because=f"{tasks[heir_id].ref} waits for it")
    parent = tasks.get(task.parent_id) if task.parent_id is not None else None
    if parent is not None and parent.status not in ENDED:
        raise_to(turn, task, parent.level, because=f"it is a sub-task of {parent.ref}")
    for other in _held_up_by(turn, task):
        raise_to(turn, other, task.level, because=f"{task.ref} waits for it")


def _held_up_by(turn: Turn, task: Task) -> list[Task]:
    """What has to end before this task can: unfinished dependencies, and sub-tasks."""
    tasks, children = turn.state.tasks, turn.state.children.get(task.id, {})
    if task.depends is None and not children:
        return []
    unfinished = [d.id for d in task.depends or () if d.outcome is None and d.id in tasks]
    return [tasks[task_id] for task_id in (*unfinished, *children)]


def set_level(turn: Turn, task: Task, level: Level, value: int) -> None:
    """Change a task's priority; if it is ready it changes lanes."""
    turn.state.ledger.touch(task)
    user = turn.state.users[task.user_id]
    if task.status is Status.QUEUED:
        turn.state.yard.leave(user, task)
    task.level, task.value = level, value
    if task.status is Status.QUEUED:
        turn.state.yard.enter(user, task)
        turn.state.yard.refresh(user)
        watch_age(turn, task)
        watch_critical(turn, task)
        tell_unplaceable(turn, task)


def watch_critical(turn: Turn, task: Task) -> None:
    if task.level is CRITICAL:
        wait_ms = ms_of(turn.state.settings.priorities.critical_wait_s)
        turn.state.timers.set(Clock.MONO, Due.CRITICAL_WAIT, task.id, turn.now.mono + wait_ms)


def tell_critical_waits(turn: Turn, task: Task) -> None:
    """A critical task has waited too long: say so; it changes nothing else."""
    if task.status is Status.QUEUED and task.level is CRITICAL:
        waited_ms = turn.now.wall - (task.queued_at or turn.now.wall)
        turn.tell(EventName.TASK_BLOCKED, task, data={"reason": "CRITICAL_WAITS", "waited_ms": waited_ms})


def tell_unplaceable(turn: Turn, task: Task) -> None:
    """A critical task in a lane that no daemon there can serve: its user hears of it at once, and once."""
    if task.level is not CRITICAL:
        return
    lines = turn.state.yard.lines_for(turn.state.users[task.user_id], key_of(task))
    if any(line.is_served() for line in lines):
        return
    trouble = task.trouble = task.trouble or Trouble()
    if not trouble.told_critical:
        trouble.told_critical = True
        turn.tell(EventName.TASK_BLOCKED, task, data={"reason": "NO_DAEMON"})


def tell_sla_missed(turn: Turn, task: Task) -> None:
    """Once, also when the hub was away at that instant."""
    trouble = task.trouble = task.trouble or Trouble()
    trouble.told_sla = True
    turn.tell(EventName.TASK_SLA_MISSED, task)
