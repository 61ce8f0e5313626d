"""An endpoint's refusal as a task's error: which code, whether another try has any use, and when."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from taskyard.daemon.openai.waits import wait_s
from taskyard.daemon.outcome import cut_text
from taskyard.daemon.task import TaskError
from taskyard.vocabulary import ErrorCode, says_rate_limited

SAID_BYTES_MAX: Final = 2048

_CONTEXT: Final = re.compile(
    r"context[ _](?:length|window|size)|maximum context|too many tokens|prompt is too long|string_above_max_length",
    re.IGNORECASE,
)
_NUMBER_IN_ERROR: Final = frozenset(range(400, 600))


def refusal(status: int, headers: Mapping[str, str], content: bytes, *, now_s: float) -> TaskError:
    """What an answer other than 200 means."""
    body = _body(content)
    return _failure(
        status,
        headers,
        body,
        _said(body) or cut_text(content.decode("utf-8", "replace").strip(), SAID_BYTES_MAX),
        now_s,
    )


def complaint(error: Any, *, now_s: float) -> TaskError:
    """What an error means that came in the middle of an answer, with no status of its own."""
    number = error.get("code", error.get("status")) if isinstance(error, dict) else None
    is_status = (isinstance(number, int) or (isinstance(number, str) and number.isdecimal())) and int(
        number
    ) in _NUMBER_IN_ERROR
    body = {"error": error}
    return _failure(int(number) if is_status else 500, {}, body, _said(body), now_s)  # type: ignore[arg-type]


def redirected(status: int, place: str) -> TaskError:
    return TaskError(
        "ENDPOINT_MISCONFIGURED",
        f"the endpoint answered {status} and wants to be called at {place}: set base_url to that if it is right. "
        "Redirects are not followed, since the key would go along",
        retryable=False,
    )


def _failure(status: int, headers: Mapping[str, str], body: Any, said: str, now_s: float) -> TaskError:
    told = f"the endpoint answered {status}: {said}" if said else f"the endpoint answered {status}"
    kind = _kind(body)
    asks_to_wait = any(name.lower() in ("retry-after", "retry-after-ms") for name in headers)
    if status in (429, 529) or (status == 503 and asks_to_wait) or (status >= 500 and says_rate_limited(said)):
        wait = wait_s(headers, body, now_s)
        return TaskError(ErrorCode.RATE_LIMITED, told, details=None if wait is None else {"retry_after": wait})
    if status in (400, 413, 422) and (_CONTEXT.search(kind) or _CONTEXT.search(said)):
        return TaskError("CONTEXT_TOO_LONG", told, retryable=False)
    if status in (401, 402, 403, 407):
        return TaskError(ErrorCode.PERMISSION_DENIED, told, retryable=False)
    if status == 404:
        return TaskError(
            "MODEL_NOT_FOUND",
            f"{told}. Is the model there, and does base_url end in its version (/v1)?",
            retryable=False,
        )
    if status in (408, 409, 425) or status >= 500:
        return TaskError("ENDPOINT_ERROR", told)
    return TaskError("ENDPOINT_REFUSED", told, retryable=False)


def _body(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _said(body: Any) -> str:
    """The sentence in it, wherever this kind of server puts it."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return ""
    error = body.get("error")
    for place in (error if isinstance(error, dict) else {}, body):
        for name in ("message", "detail", "error"):
            if isinstance(place.get(name), str) and place[name].strip():
                return cut_text(place[name].strip(), SAID_BYTES_MAX)
    return ""


def _kind(body: Any) -> str:
    error = body.get("error") if isinstance(body, dict) else None
    return f"{error.get('code')} {error.get('type')}" if isinstance(error, dict) else ""
