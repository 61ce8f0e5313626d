"""What a command needs that the core no longer holds, so that the shell can look it up first.

The core forgets a task once it has ended and that is on disk. A command that names such a task (a dependency, an
idempotency key, a dead letter to revive, a late result's) is held by the shell until the store has answered; the answer
travels in the command's `known`, with the sequence number it was read at. The core keeps whatever ended after
that number, so between memory and `known` nothing is missed. An answer may raise a further question (a revived
task's dependencies), hence the shell asks until there is none, a bounded number of times.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from taskyard.core.commands import (
    BeatTask,
    CancelTask,
    ChangeTask,
    Command,
    CompleteTask,
    ConfirmCancel,
    FailTask,
    HearEnded,
    Known,
    ReportProgress,
    RetryTask,
    ReviewTask,
    SaveCheckpoint,
    SkipTask,
    SubmitTasks,
)
from taskyard.core.dependencies import unheard
from taskyard.core.state import State

ROUNDS_MAX: Final = 3

Named = (
    CancelTask
    | RetryTask
    | SkipTask
    | ChangeTask
    | ReviewTask
    | CompleteTask
    | FailTask
    | ReportProgress
    | SaveCheckpoint
    | BeatTask
    | ConfirmCancel
)


class Lookup(Struct, frozen=True):
    """What to read. `user_id` None: whoever's it is, the daemon's word is checked against the attempt."""

    user_id: str | None
    ids: tuple[str, ...]
    refs: tuple[str, ...]
    keys: tuple[str, ...]


def is_ref(name: str) -> bool:
    return name.startswith("T-") and name[2:].isdecimal()


def missing(state: State, command: Command) -> Lookup | None:
    """What the store has to be asked before this command can be decided; None when nothing is left to ask."""
    if isinstance(command, SubmitTasks):
        lookup = _of_submission(state, command)
    elif isinstance(command, RetryTask | ReviewTask):
        lookup = _of_revival(state, command)
    elif isinstance(command, HearEnded):
        lookup = _lookup(state, command.known, None, unheard(state), ())
    elif isinstance(command, Named):
        user_id = getattr(command, "user_id", None)
        lookup = _lookup(state, command.known, user_id, (command.task_id,), ())
    else:
        return None
    return lookup if lookup.ids or lookup.refs or lookup.keys else None


def _of_submission(state: State, command: SubmitTasks) -> Lookup:
    local = {draft.name: None for draft in command.drafts}
    named = [n for d in command.drafts for n in (*d.depends_on, d.parent_id) if n is not None and n not in local]
    if command.under is not None:
        named.append(command.under)
    keys = [d.key for d in command.drafts if d.key is not None and (command.user_id, d.key) not in state.keys]
    return _lookup(state, command.known, command.user_id, named, keys)


def _of_revival(state: State, command: RetryTask | ReviewTask) -> Lookup:
    task = state.tasks.get(command.task_id) or command.known.tasks.get(command.task_id)
    if task is None:
        return _lookup(state, command.known, command.user_id, (command.task_id,), ())
    keys = [task.key] if task.key is not None and (task.user_id, task.key) not in state.keys else []
    return _lookup(state, command.known, command.user_id, [d.id for d in task.depends or ()], keys)


def _lookup(state: State, known: Known, user_id: str | None, names: Iterable[str], keys: Iterable[str]) -> Lookup:
    ids: dict[str, None] = {}
    refs: dict[str, None] = {}
    for name in names:
        if is_ref(name):
            refs[name] = None
        elif name not in state.tasks:
            ids[name] = None
    asked = known.asked
    return Lookup(
        user_id,
        tuple(i for i in ids if i not in asked),
        tuple(r for r in refs if r not in asked),
        tuple(k for k in dict.fromkeys(keys) if key_name(k) not in asked),
    )


def key_name(key: str) -> str:
    """How a key is remembered among the things asked: never equal to an id or ref."""
    return f"key:{key}"


def merge(known: Known, lookup: Lookup, found: Known) -> Known:
    """What was known and what was now found; as fresh as the older of the two."""
    return Known(
        read_seq=min(known.read_seq, found.read_seq) if known.asked else found.read_seq,
        tasks={**known.tasks, **found.tasks},
        refs={**known.refs, **found.refs},
        keys={**known.keys, **found.keys},
        asked={
            **known.asked,
            **dict.fromkeys((*lookup.ids, *lookup.refs, *(key_name(k) for k in lookup.keys))),
        },
    )
