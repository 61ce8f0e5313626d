"""Whose tasks a daemon runs, and which open ones are to run on it and no other: by its id, or by its name."""

from taskyard.core.state import Daemon, State
from taskyard.core.task import Task
from taskyard.vocabulary import ENDED


def note_target(state: State, task: Task) -> None:
    """List a task that names a daemon for as long as it is open. Call after its status was set."""
    target = task.kind.needs.target
    if target is None:
        return
    targeted = state.users[task.user_id].targeted
    if task.status not in ENDED:
        targeted.setdefault(target, {})[task.id] = None
        return
    listed = targeted.get(target, {})
    listed.pop(task.id, None)
    if not listed:
        targeted.pop(target, None)


def serves(daemon: Daemon, user_id: str) -> bool:
    """Whether the daemon runs this user's tasks at all."""
    return daemon.record.shared or daemon.record.user_id == user_id


def is_called(daemon: Daemon, target: str, user_id: str) -> bool:
    """Whether a task of this user with this target may run on the daemon."""
    return target in (daemon.id, daemon.record.name) and serves(daemon, user_id)


def tasks_naming(state: State, daemon: Daemon) -> list[str]:
    """The open tasks that are to run on this daemon."""
    record = daemon.record
    users = state.users.values() if record.shared else (state.users[record.user_id],)
    return [
        task_id
        for user in users
        for name in {record.id: None, record.name: None}
        for task_id in user.targeted.get(name, ())
    ]
