"""What runs, counted everywhere it counts: the hub, the user and their sources, the pool with its levels and queues.

Every number here is derived from the live attempts, and tests derive it anew: nothing counts
beside them, and no other file changes one. What runs in the place of its waiting parent counts nowhere.
"""

from taskyard.core.state import Daemon, State, User
from taskyard.core.task import Attempt, Task
from taskyard.vocabulary import Level

CRITICAL, LOW = Level.CRITICAL, Level.LOW


def count(state: State, task: Task, attempt: Attempt, daemon: Daemon, change: int) -> None:
    """An attempt begins to hold its slot (1), or has given it back (-1)."""
    if attempt.in_place is not None:
        return
    state.running += change
    user = state.users[task.user_id]
    running = user.running
    running.total += change
    source = task.kind.source
    running.by_source[source] = running.by_source.get(source, 0) + change
    if attempt.level is LOW:
        running.low += change
    if attempt.level is CRITICAL and daemon.record.shared:
        running.shared_critical += change
        _regrade(state, user)
    assert daemon.pool is not None, "I2: what is held is held in a pool"
    daemon.pool.count(daemon, task, attempt, change)


def take_place(state: State, task: Task, attempt: Attempt, daemon: Daemon) -> None:
    """An attempt runs in its waiting parent's place from here on, and nobody else does."""
    if attempt.in_place is not None:
        state.standing[attempt.in_place] = task.id
        daemon.beyond += attempt.beyond


def leave_place(state: State, task: Task, attempt: Attempt, daemon: Daemon) -> None:
    """An attempt has ended. Who runs in its place takes over what it had: room of its own, or a place."""
    # In whose place nobody runs any more, and who has room of its own from now on, can be told to make room.
    state.yard.urgent[task.user_id] = None
    if attempt.in_place is not None:
        del state.standing[attempt.in_place]
        state.yard.places[attempt.in_place] = None
        daemon.beyond -= attempt.beyond
    heir = state.tasks[state.standing.pop(task.id)] if task.id in state.standing else None
    taking_over = None if heir is None else heir.newest
    if heir is None or taking_over is None:
        return
    state.ledger.touch(heir)
    host = state.daemons[taking_over.daemon_id]
    host.beyond -= taking_over.beyond
    taking_over.beyond = taking_over.beyond and attempt.beyond
    taking_over.in_place = attempt.in_place
    take_place(state, heir, taking_over, host)
    count(state, heir, taking_over, host, 1)


def _regrade(state: State, user: User) -> None:
    """In the shared pool nobody owns the fleet by calling everything critical: what is beyond the reserve is high."""
    reserve = state.settings.shares.reserve_of(state.yard.shared.slots)
    state.yard.regrade(user, is_over=user.running.shared_critical >= max(1, reserve))


def fleet_changed(state: State, daemon: Daemon) -> None:
    """A daemon came, went away, or takes nothing more: its pool has other slots, and the reserve another size."""
    state.yard.recount(daemon)
    if daemon.record.shared:
        reserve_changed(state)


def pool_changed(state: State, daemon: Daemon) -> None:
    """A daemon is shared from now on, or no longer: so is the critical work that it holds."""
    for task in daemon.holding.values():
        attempt = task.newest
        if attempt is not None and attempt.level is CRITICAL and attempt.in_place is None:
            state.users[task.user_id].running.shared_critical += 1 if daemon.record.shared else -1
    reserve_changed(state)


def reserve_changed(state: State) -> None:
    """The shared pool has other slots, or another part of them is kept for critical work."""
    for user in state.users.values():
        if user.running.shared_critical or user.is_over_critical:
            _regrade(state, user)


def wake_room(state: State, task: Task, daemon: Daemon) -> None:
    """A slot was given back: whoever slept on what it counted under is looked at again."""
    assert daemon.pool is not None, "I2: what is held is held in a pool"
    user_id, yard = task.user_id, state.yard
    if not yard.has_sleepers:
        return
    yard.wake(("user", user_id))
    yard.wake(("source", user_id, task.kind.source))
    yard.wake(("low", user_id))
    yard.wake(("queue", task.kind.queue, daemon.pool.id))
    if task.terms.exclusive is not None:
        yard.wake(("exclusive", user_id, task.terms.exclusive))
