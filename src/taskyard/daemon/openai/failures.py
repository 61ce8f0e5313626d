"""An endpoint's refusal as a task's error: which code, whether another try has any use, and when."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from taskyard.daemon.openai.waits import wait_s
from taskyard.daemon.outcome import cut_text
from taskyard.daemon.refusals import STATUSES, meant_by
from taskyard.daemon.task import TaskError
from taskyard.vocabulary import ErrorCode
from taskyard.vocabulary.rate_limits import says_rate_limited

SAID_BYTES_MAX: Final = 2048


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
    ) in STATUSES
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
    code, retryable = meant_by(status, f"{_kind(body)}\n{said}")
    asks_to_wait = any(name.lower() in ("retry-after", "retry-after-ms") for name in headers)
    if (status == 503 and asks_to_wait) or (status >= 500 and says_rate_limited(said)):
        code = ErrorCode.RATE_LIMITED
    if code == ErrorCode.RATE_LIMITED:
        wait = wait_s(headers, body, now_s)
        return TaskError(code, told, details=None if wait is None else {"retry_after": wait})
    if status == 404:
        told = f"{told}. Is the model there, and does base_url end in its version (/v1)?"
    return TaskError(code, told, retryable=retryable)


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
