"""What is asked of a model for a task, and what its answer is as a result: no I/O."""

import re
from typing import Any, Final

import msgspec

from taskyard.daemon.openai.configuration import Endpoint
from taskyard.daemon.outcome import cut_text
from taskyard.daemon.prompt import prompt_of
from taskyard.daemon.task import Result, Task, TaskError
from taskyard.vocabulary import ErrorCode, ResultStatus

SUMMARY_BYTES_MAX: Final = 500
UNFINISHED_CHARS_MAX: Final = 64 * 1024
_NO_TOOLS: Final = (
    "the model called a tool instead of answering, and a daemon runs no tools for it: take `tools` out of the "
    "endpoint's options, or have an agent do this task that runs tools itself"
)
FORMATS: Final = ("text", "json_object", "json_schema")

_FENCED: Final = re.compile(r"\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*", re.DOTALL)


def model_of(endpoint: Endpoint, task: Task) -> str:
    """What the endpoint is told. A model that is not listed is refused, or a task could choose its price."""
    names = endpoint.model_names
    name = task.model or endpoint.default_model or next(iter(names), None)
    if name not in names:
        raise TaskError(
            ErrorCode.INVALID_INPUT,
            f"this endpoint is not set up for the model {name!r}: add it to its models, or name one of "
            f"{', '.join(list(names)[:20]) or 'none'}",
        )
    return names[name]


def body_of(endpoint: Endpoint, task: Task, *, counts_tokens: bool = True) -> dict[str, Any]:
    """The request. `counts_tokens`: ask for the usage; some older servers do not know that question."""
    messages = [{"role": "user", "content": prompt_of(task)}]
    if endpoint.system:
        messages.insert(0, {"role": "system", "content": endpoint.system})
    body = {**endpoint.options, "model": model_of(endpoint, task), "messages": messages, "stream": True}
    if counts_tokens:
        body["stream_options"] = {"include_usage": True}
    if (form := form_of(endpoint, task)) is not None:
        body["response_format"] = form
    return body


def form_of(endpoint: Endpoint, task: Task) -> dict[str, Any] | None:
    """The form an answer shall have: as the task's `metadata.response_format` says, else as configured."""
    asked = task.metadata.get("response_format") if isinstance(task.metadata, dict) else None
    if asked is None:
        return {"type": "json_object"} if endpoint.output == "json" else None
    if not isinstance(asked, dict) or asked.get("type") not in FORMATS:
        raise TaskError(
            ErrorCode.INVALID_INPUT, f"metadata.response_format is an object whose type is one of {', '.join(FORMATS)}"
        )
    return asked


def result_of(
    text: str, *, finish_reason: str | None, calls_tools: bool, wants_json: bool, usage: dict[str, float] | None
) -> Result:
    """The answer as the task's result. Raises `TaskError` for one that is none."""
    if finish_reason == "content_filter":
        raise TaskError("CONTENT_FILTERED", "the provider's filter withheld the answer", retryable=False, usage=usage)
    if not text.strip() and calls_tools:
        # It would do so each time: nothing that it is asked changes.
        raise TaskError("TOOL_CALL_ONLY", _NO_TOOLS, retryable=False, usage=usage)
    if not text.strip():
        raise TaskError("EMPTY_ANSWER", f"the model said nothing (finish reason: {finish_reason})", usage=usage)
    is_cut = finish_reason == "length"
    value: object = text
    if wants_json:
        value = _json(text, is_cut=is_cut, usage=usage)
    first = next(line.strip() for line in text.splitlines() if line.strip())
    status = ResultStatus.PARTIAL if is_cut else ResultStatus.SUCCESS
    return Result(value, summary=cut_text(first, SUMMARY_BYTES_MAX), status=status, usage=usage)


def _json(text: str, *, is_cut: bool, usage: dict[str, float] | None) -> object:
    fenced = _FENCED.fullmatch(text)
    try:
        return msgspec.json.decode((fenced[1] if fenced else text).encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError) as error:
        why = "it reached the limit of tokens: raise options.max_tokens" if is_cut else str(error)
        raise TaskError("INVALID_RESULT", f"the answer should be JSON and is not: {why}", usage=usage) from error


def unfinished(text: str) -> dict[str, str]:
    """A checkpoint of an answer that did not come to its end: to the next attempt it is a help, not a beginning."""
    return {
        "unfinished_answer": text[:UNFINISHED_CHARS_MAX],
        "note": "The answer above was cut off. Give the whole answer anew, from its beginning.",
    }
