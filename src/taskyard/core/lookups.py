"""What a command needs that the core no longer holds, so that the shell can look it up first.

The core forgets a task once it has ended and that is on disk. A command that names such a task (a dependency, an
idempotency key, a dead letter to revive, a late result's) is held by the shell until the store has answered; the answer
travels in the command's `known`, with the sequence number it was read at. The core keeps whatever ended after
that number, so between memory and `known` nothing is missed. An answer may raise a further question (a revived
task's dependencies), hence the shell asks until there is none, a bounded number of times.
"""

from collections.abc import Callable, Iterable
from typing import Final, cast

from msgspec import Struct

from taskyard.core.commands import (
    CancelTask,
    ChangeTask,
    Command,
    CompleteTask,
    FailTask,
    HearEnded,
    ImportTasks,
    Known,
    RetryTask,
    ReviewTask,
    SkipTask,
    SubmitTasks,
)
from taskyard.core.daemon_commands import JoinDaemon
from taskyard.core.dependencies import unheard
from taskyard.core.state import State

ROUNDS_MAX: Final = 3

Named = CancelTask | SkipTask | ChangeTask | CompleteTask | FailTask


class Lookup(Struct, frozen=True):
    """What to read. `user_id` None: whoever's it is, the daemon's word is checked against the attempt."""

    user_id: str | None
    ids: tuple[str, ...]
    refs: tuple[str, ...]
    keys: tuple[str, ...]
    seqs: tuple[int, ...] = ()
    """Commits whose batch ids are wanted."""


NOTHING_MISSING: Final = Lookup(None, (), (), ())


def is_ref(name: str) -> bool:
    return name.startswith("T-") and name[2:].isdecimal()


def missing(state: State, command: Command) -> Lookup | None:
    """What the store has to be asked before this command can be decided; None when nothing is left to ask."""
    look = LOOKS.get(type(command))
    if look is None:
        return None
    lookup = look(state, command)
    if lookup is NOTHING_MISSING:
        return None
    return lookup if lookup.ids or lookup.refs or lookup.keys or lookup.seqs else None


def _of_named(state: State, command: Named) -> Lookup:
    if command.task_id in state.tasks:
        return NOTHING_MISSING
    return _lookup(state, command.known, getattr(command, "user_id", None), (command.task_id,), ())


def _of_start(state: State, command: HearEnded) -> Lookup:
    return _lookup(state, command.known, None, unheard(state), ())


def _of_join(state: State, command: JoinDaemon) -> Lookup:
    """Which batch the log holds at the position that the daemon has seen, if that is sealed and not past its end."""
    seen = command.seen
    if seen is None or not seen.takeover or seen.seq >= state.ledger.seq:
        return NOTHING_MISSING
    return NOTHING_MISSING if commit_name(seen.seq) in command.known.asked else Lookup(None, (), (), (), (seen.seq,))


def _of_submission(state: State, command: SubmitTasks) -> Lookup:
    local = {draft.name: None for draft in command.drafts}
    named = [n for d in command.drafts for n in (*d.depends_on, d.parent_id) if n is not None and n not in local]
    if command.under is not None:
        named.append(command.under)
    keys = [d.key for d in command.drafts if d.key is not None and (command.user_id, d.key) not in state.keys]
    return _lookup(state, command.known, command.user_id, named, keys)


def _of_import(state: State, command: ImportTasks) -> Lookup:
    """First whoever's these ids are, since one that is another's must not be written again; then the user's keys."""
    drafts = [arrival.draft for arrival in command.arrivals]
    named = [n for d in drafts for n in (d.id, *d.depends_on, d.parent_id) if n is not None]
    found = _lookup(state, command.known, None, named, ())
    if found.ids:
        return found
    keys = [d.key for d in drafts if d.key is not None and (command.user_id, d.key) not in state.keys]
    return _lookup(state, command.known, command.user_id, (), keys)


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


def commit_name(seq: int) -> str:
    """How a commit is remembered among the things asked: never equal to an id or ref."""
    return f"commit:{seq}"


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
            **dict.fromkeys(map(commit_name, lookup.seqs)),
        },
        batches={**known.batches, **found.batches},
    )


_Look = Callable[[State, Command], Lookup]
# Commands that are not here name nothing that may have been forgotten, or do not care if it was.
_LOOKS: Final[dict[type, object]] = {
    SubmitTasks: _of_submission,
    ImportTasks: _of_import,
    CancelTask: _of_named,
    SkipTask: _of_named,
    ChangeTask: _of_named,
    CompleteTask: _of_named,
    FailTask: _of_named,
    RetryTask: _of_revival,
    ReviewTask: _of_revival,
    HearEnded: _of_start,
    JoinDaemon: _of_join,
}
LOOKS: Final = cast("dict[type, _Look]", _LOOKS)
