"""What a task is told: by the tasks it waited for, and by the hub about itself.

Results are handed on as they are stored, without being parsed; one that is too long is left out with
a note, since half a JSON value helps nobody.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Raw

from taskyard.core.task import Note, Task
from taskyard.store.port import StoredTask
from taskyard.vocabulary import Status, ref_of
from taskyard.wire.fields import NULL, instant_of, instant_or_none
from taskyard.wire.tasks import CONTEXT_INPUT_BYTES_MAX, CONTEXT_INPUT_RESULT_BYTES_MAX, ContextInput, Outcome

_outcome: Final = msgspec.json.Decoder(Outcome)


def context_input_of(task: Task, parents: Sequence[StoredTask]) -> list[ContextInput]:
    """`parents` are the dependencies that ended, in the order of `task.depends`."""
    entries: list[ContextInput] = []
    room = CONTEXT_INPUT_BYTES_MAX
    for parent in parents:
        if parent.task.status is Status.COMPLETED:
            entry, used = _of_parent(task, parent, min(CONTEXT_INPUT_RESULT_BYTES_MAX, room))
            room -= used
            entries.append(entry)
    notes = task.trouble.notes if task.trouble is not None else ()
    entries += [_of_note(note, parents) for note in notes]
    return entries


def _of_parent(task: Task, parent: StoredTask, room: int) -> tuple[ContextInput, int]:
    of = parent.task
    at = next((depends.at for depends in task.depends or () if depends.id == of.id), None)
    entry = ContextInput(
        source_task=of.id,
        ref=ref_of(of.number),
        result_status=of.result_status,
        result_summary=of.summary,
        included_at=instant_or_none(at or of.completed_at),
    )
    if parent.damaged is not None:
        entry.note = f"The result cannot be read: {parent.damaged}."
        return entry, 0
    result = result_of(parent.outcome)
    if result is None:
        return entry, 0
    if len(result) > room:
        entry.note = f"The result has {len(result):,} bytes and was left out; ask for task {entry.ref}."
        return entry, 0
    entry.result = Raw(result)
    return entry, len(result)


def _of_note(note: Note, parents: Sequence[StoredTask]) -> ContextInput:
    number = next((parent.task.number for parent in parents if parent.task.id == note.source_task), None)
    return ContextInput(
        source_task=note.source_task,
        ref=None if number is None else ref_of(number),
        result_status=None,
        result_summary=None,
        included_at=instant_of(note.at),
        kind=note.kind,
        warning=note.message,
    )


def result_of(outcome: bytes | None) -> bytes | None:
    """The result alone, still encoded; None if there is none."""
    if outcome is None:
        return None
    result = _outcome.decode(outcome).result
    raw = bytes(result) if isinstance(result, Raw) else NULL
    return None if raw == NULL else raw
