"""A task as words for an agent: what to do, how, and what is known already. Every runner that talks to a model uses it.

Everything in it was written by somebody else, so each part stands under its own heading. Text that pretends to be a
heading may mislead a model; it reaches nothing but the prompt.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from taskyard.daemon.outcome import cut_text
from taskyard.daemon.task import Task
from taskyard.vocabulary import AttemptStatus

PART_BYTES_MAX: Final = 1024 * 1024
# The hub holds an input, all of `context_input` and a checkpoint to as much; a newer hub may not.
ATTEMPTS_MAX: Final = 5
"""Of the previous attempts the last ones: an agent needs to know what to avoid, not the whole history."""
MESSAGE_BYTES_MAX: Final = 2048
UNHEARD: Final = frozenset({AttemptStatus.RATE_LIMITED, AttemptStatus.REJECTED})
"""Attempts that were refused, by a provider or a daemon: there is nothing to be learnt from them."""

_encode: Final = msgspec.json.encode


def prompt_of(task: Task) -> str:
    """The whole prompt. A task that is nothing but its input is handed on as it is."""
    parts = [(heading, text) for heading, text in _parts(task) if text]
    if [heading for heading, _ in parts] == [TASK]:
        return parts[0][1]
    return "\n\n".join(f"# {heading}\n\n{text}" for heading, text in parts) + "\n"


TASK: Final = "Task"


def _parts(task: Task) -> Iterator[tuple[str, str]]:
    yield "Title", text_of(task.title)
    yield "Goal", text_of(task.goal)
    yield "Constraints", _listed(task.constraints)
    yield "Context", text_of(task.context)
    yield "Results of the tasks this one depends on", _results(task.context_input)
    yield "Previous attempts", _attempts(task.previous_attempts)
    yield "Checkpoint: where an earlier attempt had got to. Go on from there", text_of(task.checkpoint)
    yield TASK, text_of(task.input)
    yield "Data that belongs to the task", text_of(task.payload)


def text_of(value: Any) -> str:
    """Text as it is, anything else as JSON; nothing for nothing."""
    if value is None or value in ("", [], {}):
        return ""
    return cut_text(value if isinstance(value, str) else _json(value), PART_BYTES_MAX)


def _json(value: Any) -> str:
    return msgspec.json.format(_encode(value), indent=2).decode()


def _listed(values: Any) -> str:
    if not isinstance(values, list):
        return text_of(values)
    return cut_text("\n".join(f"- {text_of(value)}" for value in values), PART_BYTES_MAX)


def _results(entries: Any) -> str:
    if not isinstance(entries, list):
        return text_of(entries)
    told = [_result(entry) if isinstance(entry, dict) else text_of(entry) for entry in entries]
    return cut_text("\n\n".join(told), PART_BYTES_MAX)


def _result(entry: dict[str, Any]) -> str:
    """One task's result, or a remark of the hub."""
    lines = [f"## {entry.get('ref') or entry.get('source_task') or 'A remark of the hub'}"]
    status = entry.get("result_status")
    if status is not None:
        lines.append(f"It ended with {text_of(status)}.")
    lines += [text_of(entry.get(name)) for name in ("warning", "result_summary", "result", "note")]
    return "\n".join(line for line in lines if line)


def _attempts(attempts: Any) -> str:
    if not isinstance(attempts, list):
        return text_of(attempts)
    heard = [one for one in attempts if isinstance(one, dict) and one.get("status") not in UNHEARD]
    told = [_attempt(attempt) for attempt in heard]
    if len(told) > ATTEMPTS_MAX:
        told = [f"- {len(told) - ATTEMPTS_MAX} earlier ones are left out", *told[-ATTEMPTS_MAX:]]
    return "\n".join(told)


def _attempt(attempt: dict[str, Any]) -> str:
    line = f"- attempt {attempt.get('number')}: {attempt.get('status')}"
    error = attempt.get("error")
    if isinstance(error, dict):
        line += f", {error.get('code')}: {cut_text(str(error.get('message') or ''), MESSAGE_BYTES_MAX)}"
    return line
