"""What a caller reads when the hub says no: one row per `Refusal`, and the body (RFC 9457) made of it."""

from typing import Final

from msgspec import Struct

from taskyard.vocabulary import Refusal
from taskyard.wire.frames import Backpressure

MEDIA_TYPE: Final = "application/problem+json"
INTERNAL: Final = "INTERNAL_ERROR"
"""The code of a 500: a fault of ours, which tells the caller nothing but that."""


class Row(Struct, frozen=True):
    status: int
    title: str


PROBLEMS: Final[dict[Refusal, Row]] = {
    Refusal.BAD_REQUEST: Row(400, "The request breaks the rules of HTTP"),
    Refusal.TOO_MANY_PENDING: Row(400, "Too many tasks are pending"),
    Refusal.TASK_ALREADY_COMPLETED: Row(400, "The task has already completed"),
    Refusal.TOO_MANY_NOTIFICATIONS: Row(400, "There are too many notifications"),
    Refusal.TOO_MANY_HOOKS: Row(400, "There are too many hooks"),
    Refusal.TOO_MANY_SCHEDULES: Row(400, "There are too many schedules"),
    Refusal.TOO_MANY_TEMPLATES: Row(400, "There are too many templates"),
    Refusal.UNAUTHENTICATED: Row(401, "Who is asking is not known"),
    Refusal.BAD_SIGNATURE: Row(401, "The signature is not right"),
    Refusal.FORBIDDEN: Row(403, "Not allowed"),
    Refusal.MONTHLY_LIMIT_REACHED: Row(403, "The month's hours are used up"),
    Refusal.TASK_NOT_FOUND: Row(404, "No such task"),
    Refusal.DAEMON_NOT_FOUND: Row(404, "No such daemon"),
    Refusal.USER_NOT_FOUND: Row(404, "No such user"),
    Refusal.KEY_NOT_FOUND: Row(404, "No such key"),
    Refusal.QUEUE_NOT_FOUND: Row(404, "No such queue"),
    Refusal.PLAN_NOT_FOUND: Row(404, "No such plan"),
    Refusal.NOTIFICATION_NOT_FOUND: Row(404, "No such notification"),
    Refusal.DELIVERY_NOT_FOUND: Row(404, "No such delivery"),
    Refusal.SCHEDULE_NOT_FOUND: Row(404, "No such schedule"),
    Refusal.NOTIFICATION_NOT_FOUND: Row(404, "No such notification"),
    Refusal.DELIVERY_NOT_FOUND: Row(404, "No such delivery"),
    Refusal.HOOK_NOT_FOUND: Row(404, "No such hook"),
    Refusal.TEMPLATE_NOT_FOUND: Row(404, "No such template"),
    Refusal.NOT_FOUND: Row(404, "Nothing is here"),
    Refusal.METHOD_NOT_ALLOWED: Row(405, "This method is not possible here"),
    Refusal.REQUEST_TIMEOUT: Row(408, "The request did not come in time"),
    Refusal.INVALID_TRANSITION: Row(409, "The task's status does not allow this"),
    Refusal.STALE_ATTEMPT: Row(409, "The attempt is over"),
    Refusal.NAME_TAKEN: Row(409, "The name is taken"),
    Refusal.DAEMON_LEAVING: Row(409, "The daemon is about to end"),
    Refusal.DAEMON_IN_USE: Row(409, "The daemon is in use"),
    Refusal.QUEUE_IN_USE: Row(409, "Tasks wait in this queue"),
    Refusal.IDEMPOTENCY_KEY_TAKEN: Row(409, "Another task holds this idempotency key"),
    Refusal.TOO_LARGE: Row(413, "Too large"),
    Refusal.URI_TOO_LONG: Row(414, "The address is too long"),
    Refusal.INVALID_INPUT: Row(422, "The request is not valid"),
    Refusal.DEPENDENCY_NOT_FOUND: Row(422, "A dependency does not exist"),
    Refusal.DEPENDENCY_CYCLE: Row(422, "The dependencies form a cycle"),
    Refusal.MODEL_NOT_ROUTED: Row(422, "No queue serves this model"),
    Refusal.IDEMPOTENCY_KEY_REUSED: Row(422, "The idempotency key was used with other content"),
    Refusal.RATE_LIMITED: Row(429, "Too many requests"),
    Refusal.RECORD_DAMAGED: Row(500, "A stored record is damaged"),
    Refusal.BACKPRESSURE: Row(503, "The queue is too long"),
    Refusal.NO_LEADER: Row(503, "No hub leads at the moment"),
    Refusal.HUB_REWOUND: Row(503, "The database lacks commits that were seen"),
    Refusal.OVERLOADED: Row(503, "The hub has more to do than it can hold"),
    Refusal.STORE_UNAVAILABLE: Row(503, "The store cannot be written at the moment"),
    Refusal.OUTCOME_UNKNOWN: Row(503, "Whether it was done is not known"),
}


NO_SUCH_TASK: Final = "There is no such task of yours."
TASK_WORDS: Final = frozenset({"", ".", "..", "batch", "bulk", "counts", "queue-status"})
"""What stands where a task's name does and means something else."""


def names_a_task(name: str) -> bool:
    """Whether an address made of it would be a task's. Clients ask, since the hub could not tell what was meant."""
    return name not in TASK_WORDS


class FieldError(Struct, frozen=True):
    """One field that is wrong; `path` is like `tasks[0].input`."""

    path: str
    message: str


class Problem(Struct, omit_defaults=True, kw_only=True):
    status: int
    title: str
    detail: str
    code: str
    errors: list[FieldError] = []
    kept: bool = False
    """With `STALE_ATTEMPT`: the result was kept on its attempt all the same."""
    retry_after: float | None = None
    """Seconds, to the millisecond; the header has whole ones, rounded up."""
    backpressure: Backpressure | None = None
    """With a limit on what comes in: how it stands with the line."""


def problem(
    code: Refusal,
    detail: str,
    *,
    errors: tuple[FieldError, ...] = (),
    kept: bool = False,
    retry_after: float | None = None,
    backpressure: Backpressure | None = None,
) -> Problem:
    row = PROBLEMS[code]
    return Problem(
        status=row.status,
        title=row.title,
        detail=detail,
        code=code.value,
        errors=list(errors),
        kept=kept,
        retry_after=retry_after,
        backpressure=backpressure,
    )
