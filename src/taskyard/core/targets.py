"""Which open tasks are to run on one daemon and no other: by its id, or by its name."""

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


def is_called(daemon: Daemon, target: str, user_id: str) -> bool:
    """Whether a task of this user with this target may run on the daemon."""
    record = daemon.record
    return target in (record.id, record.name) and (record.shared or record.user_id == user_id)


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
