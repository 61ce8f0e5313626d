"""What a start would load now, compared with what is in memory: they differ in named soft state only.

Soft, and therefore left out: which attempts were accepted but not started, when an unstarted attempt was offered
(its clock begins anew), loads, whose turn it was, slots that linger, and what has ended but is not yet forgotten.
"""

from typing import Protocol

import msgspec

from taskyard.core.hub import Core
from taskyard.core.settings import Settings
from taskyard.core.state import Now, State
from taskyard.core.task import Task
from taskyard.core.timers import Clock, Due
from taskyard.hub.revisit import state_of
from taskyard.store.port import Store
from taskyard.vocabulary import ENDED, HELD, Status
from tests.simulation.history import Violation

_encode = msgspec.json.Encoder().encode


class Hub(Protocol):
    """Whoever has a core over a store."""

    core: Core
    settings: Settings

    @property
    def store(self) -> Store: ...

    @property
    def now(self) -> Now: ...


def compare(hub: Hub) -> None:
    """At a quiet point: nothing is being written, nothing waits to be."""
    image = hub.store.load()
    identity = image.identity
    loaded = state_of(image, hub.settings, identity, hub.now)
    live = hub.core.state
    for part in (tasks, places, dependants, keys, holdings, timers, people, hooks, templates, notices, schedules):
        expected, found = part(live), part(loaded)
        if expected != found:
            raise Violation(f"{part.__name__} would not survive a crash: {difference(expected, found)}")


def difference(expected: dict[str, object], found: dict[str, object]) -> str:
    names = [n for n in {**expected, **found} if expected.get(n) != found.get(n)]
    return "; ".join(f"{n}: {expected.get(n)!r} in memory, {found.get(n)!r} loaded" for n in names[:3])


def _open(state: State) -> list[Task]:
    return [task for task in state.tasks.values() if task.status not in ENDED]


def tasks(state: State) -> dict[str, object]:
    found: dict[str, object] = {}
    for task in _open(state):
        copy = msgspec.json.decode(_encode(task), type=Task)
        for attempt in copy.attempts or ():
            attempt.accepted = False
            if attempt.started_at is None:
                attempt.assigned_at = 0
        found[task.id] = _encode(copy)
    return found


def places(state: State) -> dict[str, object]:
    """Who waits in which lane."""
    return {
        f"{user.id} {key}": sorted(task.id for task in lane.tasks())
        for user in state.users.values()
        for key, lane in user.lanes.items()
    }


def dependants(state: State) -> dict[str, object]:
    return {name: sorted(heirs) for name, heirs in state.dependants.items()}


def keys(state: State) -> dict[str, object]:
    return {f"{user} {key}": i for (user, key), i in state.keys.items() if state.tasks[i].status not in ENDED}


def hooks(state: State) -> dict[str, object]:
    return {**state.hooks, "deliveries": sorted(state.hook_deliveries.items())}


def templates(state: State) -> dict[str, object]:
    return {user.id: user.templates for user in state.users.values() if user.templates}


def holdings(state: State) -> dict[str, object]:
    held: dict[str, object] = {d.id: (sorted(d.holding), d.cpu_intensive) for d in state.daemons.values()}
    return {**held, "exclusive": sorted(state.exclusive.items())}


def timers(state: State) -> dict[str, object]:
    """What each open task is to be woken for. A timer that has no work left to do may be there or not."""
    found: dict[str, object] = {}
    for task in _open(state):
        if task.status is Status.PENDING:
            found[f"begin {task.id}"] = _due_at(state, Due.BEGIN, task.id)
        if task.deadline is not None and task.status not in HELD:
            found[f"deadline {task.id}"] = _due_at(state, Due.DEADLINE, task.id)
        if task.trouble is not None and task.trouble.avoid:
            found[f"avoidance {task.id}"] = _due_at(state, Due.AVOIDANCE, task.id)
    return found


def _due_at(state: State, due: Due, whose: str) -> int | None:
    entry = state.timers._due[Clock.WALL].get((due, whose))
    return None if entry is None else entry[0]


def notices(state: State) -> dict[str, object]:
    """Who is told of what, and what is still to be told."""
    wanted: dict[str, object] = {
        f"{user_id} {notification.id}": (_encode(notification.record), sorted(d.id for d in notification.deliveries()))
        for user_id, own in state.notifications.items()
        for notification in own.values()
    }
    waiting = {each.id: (_encode(each), _due_at(state, Due.DELIVERY, each.id)) for each in state.deliveries.values()}
    return {**wanted, **waiting}


def schedules(state: State) -> dict[str, object]:
    """What they shall do, what is settled, and when they are due next."""
    return {
        name: (_encode(record), _encode(state.schedule_runs[name]), _due_at(state, Due.SCHEDULE, name))
        for name, record in state.schedules.items()
    }


def people(state: State) -> dict[str, object]:
    return {user.id: (user.number, sorted(user.live)) for user in state.users.values()}
