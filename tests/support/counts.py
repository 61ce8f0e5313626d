"""What runs, counted from scratch: what the core keeps as it goes must be the same."""

from collections.abc import Iterator

from taskyard.core.counts import CRITICAL, LOW
from taskyard.core.placement import SHARED
from taskyard.core.state import State
from taskyard.core.task import Attempt, Task
from taskyard.vocabulary import Level

Figure = tuple[str, ...]


def recounted(state: State) -> dict[Figure, int]:
    """Every count from the live attempts, from scratch; what is zero is left out."""
    found: dict[Figure, int] = {}
    for task, attempt in state.live_attempts():
        if attempt.in_place is None:
            for name in _names(state, task, attempt):
                found[name] = found.get(name, 0) + 1
    return found


def _names(state: State, task: Task, attempt: Attempt) -> Iterator[Figure]:
    daemon = state.daemons[attempt.daemon_id]
    pool = SHARED if daemon.record.shared else daemon.record.user_id
    yield ("hub",)
    yield "user", task.user_id
    yield "source", task.user_id, task.kind.source
    yield "queue", task.kind.queue, pool
    if attempt.level is LOW:
        yield "low", task.user_id
    if attempt.level is CRITICAL and daemon.record.shared:
        yield "critical", task.user_id
    if daemon.is_open:
        yield "level", attempt.level, pool


def counted(state: State) -> dict[Figure, int]:
    """The same as it is kept."""
    found: dict[Figure, int] = {("hub",): state.running}
    for user in state.users.values():
        found["user", user.id] = user.running.total
        found["low", user.id] = user.running.low
        found["critical", user.id] = user.running.shared_critical
        found.update((("source", user.id, s), n) for s, n in user.running.by_source.items())
    for pool in state.yard.pools.values():
        found.update((("queue", queue, pool.id), n) for queue, n in pool.queues.items())
        found.update((("level", level, pool.id), pool.running[rank]) for rank, level in enumerate(Level))
    return {name: number for name, number in found.items() if number}
