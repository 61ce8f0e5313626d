"""What a client can meet, as exceptions.

    TaskyardError
    ├── HubUnreachable      nobody answered: not there, gone in the middle, or too slow
    ├── BadAnswer           somebody answered, but not a hub that we understand
    ├── CredentialsMissing  no key to call with
    ├── BadAddress          what was named as the hub is no address
    ├── WaitTimeout         the task did not end in the time given (also a `TimeoutError`); `why` says what holds it
    ├── TaskStuck           the task that is waited for cannot go on by itself; `why` says what holds it
    └── Refused             the hub said no; `code` says why, `detail` says it in a sentence
        ├── NotFound        there is no such task, daemon, user or key, or it is not yours
        ├── NotAllowed      the key is missing, unknown, or lacks the scope
        ├── Limited         too much or too many; `retry_after` says when to come back
        ├── Conflict        it cannot be done to the thing as it stands now
        ├── Invalid         the request itself is wrong; `errors` names the fields
        ├── Damaged         a stored record can no longer be read; `detail` names it, and an operator has to restore it
        └── Unavailable     the hub cannot answer now; the clients retry this by themselves when it is safe

The class follows from the problem's code, by one table. A code that this version does not know falls back
on its HTTP status, so that a newer hub does not break an older client.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from taskyard.sdk.answers import Backpressure
from taskyard.vocabulary import Refusal


class TaskyardError(Exception):
    """Any of the below."""


class HubUnreachable(TaskyardError):
    """`sent` is false when the request certainly never reached a hub, so that repeating it is always safe."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class BadAnswer(TaskyardError):
    pass


class CredentialsMissing(TaskyardError):
    pass


class BadAddress(TaskyardError):
    pass


class WaitTimeout(TaskyardError, TimeoutError):
    def __init__(self, message: str, *, why: str | None = None) -> None:
        super().__init__(message)
        self.why = why
        """What holds the task, in a sentence, where the hub could say it."""


class TaskStuck(TaskyardError):
    """Nothing but a person, or a daemon that is not known yet, lets the task go on. It stays as it is, and can be
    waited for again."""

    def __init__(self, message: str, *, code: str | None = None, why: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        """The reason's code: `DEPENDENCY_FAILED`, `NO_ELIGIBLE_DAEMON` or `NO_DAEMON`."""
        self.why = why
        """What holds the task, in a sentence, where the hub could say it."""


class FieldError(Struct):
    """One wrong field of a request."""

    path: str = ""
    message: str = ""


class Refused(TaskyardError):
    def __init__(
        self,
        *,
        code: str,
        status: int,
        detail: str,
        errors: list[FieldError] | None = None,
        kept: bool = False,
        retry_after: float | None = None,
        backpressure: Backpressure | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.status = status
        self.detail = detail
        self.errors = errors or []
        self.kept = kept
        """Of a result that came too late: it was kept all the same."""
        self.retry_after = retry_after
        """Seconds."""
        self.backpressure = backpressure
        """How it stands with the line, where that is why."""


class NotFound(Refused):
    pass


class NotAllowed(Refused):
    pass


class Limited(Refused):
    pass


class Conflict(Refused):
    pass


class Invalid(Refused):
    pass


class Damaged(Refused):
    pass


class Unavailable(Refused):
    pass


BY_CODE: Final[Mapping[str, type[Refused]]] = {
    Refusal.TOO_MANY_PENDING: Limited,
    Refusal.TOO_MANY_NOTIFICATIONS: Limited,
    Refusal.TOO_MANY_SCHEDULES: Limited,
    Refusal.TASK_ALREADY_COMPLETED: Conflict,
    Refusal.TOO_MANY_HOOKS: Limited,
    Refusal.TOO_MANY_TEMPLATES: Limited,
    Refusal.UNAUTHENTICATED: NotAllowed,
    Refusal.BAD_SIGNATURE: NotAllowed,
    Refusal.FORBIDDEN: NotAllowed,
    Refusal.MONTHLY_LIMIT_REACHED: Limited,
    Refusal.TASK_NOT_FOUND: NotFound,
    Refusal.DAEMON_NOT_FOUND: NotFound,
    Refusal.USER_NOT_FOUND: NotFound,
    Refusal.KEY_NOT_FOUND: NotFound,
    Refusal.QUEUE_NOT_FOUND: NotFound,
    Refusal.SCHEDULE_NOT_FOUND: NotFound,
    Refusal.PLAN_NOT_FOUND: NotFound,
    Refusal.NOTIFICATION_NOT_FOUND: NotFound,
    Refusal.DELIVERY_NOT_FOUND: NotFound,
    Refusal.HOOK_NOT_FOUND: NotFound,
    Refusal.TEMPLATE_NOT_FOUND: NotFound,
    Refusal.NOT_FOUND: NotFound,
    Refusal.METHOD_NOT_ALLOWED: Invalid,
    Refusal.INVALID_TRANSITION: Conflict,
    Refusal.STALE_ATTEMPT: Conflict,
    Refusal.NAME_TAKEN: Conflict,
    Refusal.QUEUE_IN_USE: Conflict,
    Refusal.DAEMON_LEAVING: Conflict,
    Refusal.DAEMON_IN_USE: Conflict,
    Refusal.IDEMPOTENCY_KEY_TAKEN: Conflict,
    Refusal.BAD_REQUEST: Invalid,
    Refusal.REQUEST_TIMEOUT: Invalid,
    Refusal.URI_TOO_LONG: Invalid,
    Refusal.TOO_LARGE: Invalid,
    Refusal.INVALID_INPUT: Invalid,
    Refusal.DEPENDENCY_NOT_FOUND: Invalid,
    Refusal.DEPENDENCY_CYCLE: Invalid,
    Refusal.MODEL_NOT_ROUTED: Invalid,
    Refusal.IDEMPOTENCY_KEY_REUSED: Invalid,
    Refusal.RATE_LIMITED: Limited,
    Refusal.BACKPRESSURE: Limited,
    Refusal.RECORD_DAMAGED: Damaged,
    Refusal.NO_LEADER: Unavailable,
    Refusal.HUB_REWOUND: Unavailable,
    Refusal.OVERLOADED: Unavailable,
    Refusal.STORE_UNAVAILABLE: Unavailable,
    Refusal.OUTCOME_UNKNOWN: Unavailable,
}

BY_STATUS: Final[Mapping[int, type[Refused]]] = {
    400: Invalid,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    405: Invalid,
    408: Invalid,
    409: Conflict,
    413: Invalid,
    414: Invalid,
    422: Invalid,
    429: Limited,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


class Problem(Struct):
    """An `application/problem+json` body, as far as clients read it."""

    code: str = ""
    title: str = ""
    detail: str = ""
    errors: list[FieldError] = []
    kept: bool = False
    retry_after: float | None = None
    backpressure: Backpressure | None = None


_problem = msgspec.json.Decoder(Problem)


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> Refused:
    """The exception for an answer that is an error."""
    try:
        problem = _problem.decode(body)
    except msgspec.DecodeError:
        # A proxy in between answers in its own words, which are not for us.
        problem = Problem()
    code = problem.code or f"HTTP_{status}"
    # The header has whole seconds; what the body says is exact.
    exact, said = problem.retry_after, _seconds(headers.get("Retry-After"))
    kind = BY_CODE.get(code) or BY_STATUS.get(status, Refused)
    return kind(
        code=code,
        status=status,
        detail=problem.detail or problem.title or f"The hub answered with status {status}.",
        errors=problem.errors,
        kept=problem.kept,
        retry_after=said if exact is None else exact,
        backpressure=problem.backpressure,
    )


def _seconds(header: str | None) -> float | None:
    """`Retry-After` as the hub sends it: a number. A date, which only a proxy would send, is not read."""
    try:
        return None if header is None else max(0.0, float(header))
    except ValueError:
        return None
