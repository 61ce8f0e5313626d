"""Work as a daemon is sent it: a `task.execute`, put together from parts that are encoded already."""

from typing import Final

import msgspec

from taskyard.core.task import Task
from taskyard.gateway.context_input import context_input_of
from taskyard.gateway.present import attempt_answer
from taskyard.store.port import Load
from taskyard.wire.fields import NULL

_NO_MORE: Final = b'[],"checkpoint":null,"previous_attempts":[]}'

_encoder: Final = msgspec.json.Encoder()


def execute_frame(load: Load, attempt: int, timeout_ms: int, token: str, *, traceparent: str | None = None) -> bytes:
    """The encoded `task.execute`. Every id in it is minted or was read by the hub, so it needs no escaping."""
    task, rest = load.task, _NO_MORE
    if task.depends is not None or task.trouble is not None or attempt > 1 or load.checkpoint is not None:
        rest = _more_of(load, attempt)
    parent = "" if task.parent_id is None else f',"parent_task_id":"{task.parent_id}"'
    trace = "" if traceparent is None else f',"traceparent":"{traceparent}"{_state_of(task)}'
    head = (
        f'{{"type":"task.execute","task":{{"id":"{task.id}","ref":"T-{task.number:03d}"'
        f',"user_id":"{task.user_id}","status":"scheduled","priority":"{task.level}"{parent}{trace},'
    )
    tail = f',"attempt":{attempt},"timeout":{timeout_ms / 1000},"token":"{token}","context_input":'
    return b"".join((head.encode(), memoryview(load.body)[1:], tail.encode(), rest))


def _state_of(task: Task) -> str:
    """What goes on with its trace, which may hold quotes."""
    return "" if task.tracestate is None else f',"tracestate":{_encoder.encode(task.tracestate).decode()}'


def _more_of(load: Load, attempt: int) -> bytes:
    """What came before this attempt: of other tasks, and of this one. As `_NO_MORE` if nothing did."""
    task, context = load.task, b"[]"
    if task.depends is not None or task.trouble is not None:
        context = _encoder.encode(context_input_of(task, load.parents))
    earlier = [attempt_answer(one) for one in task.attempts or () if one.number < attempt]
    previous = _encoder.encode(earlier)
    return b"".join((context, b',"checkpoint":', load.checkpoint or NULL, b',"previous_attempts":', previous, b"}"))
