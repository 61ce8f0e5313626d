"""When a client asks again by itself, and after how long.

Only what cannot do harm twice is repeated: a request that never left, or one whose second arrival changes
nothing (`Request.idempotent`; submissions are, since the client gives each a key). Only what a repetition
can cure is repeated: silence, and 429 or 503 with a `Retry-After` that is not long. Whoever would rather be told of
a limit at once says so (`waits_for_limits`, or `wait=False` for one call): the command line, and `ProactiveSubmitter`,
which slows down instead. A limit that is waited out is said, since a program that stands still should say why.

The pause is drawn from the whole interval (full jitter), so that a fleet that lost its hub together does
not come back together.
"""

import logging
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from taskyard.sdk.errors import HubUnreachable, Limited, Refused, TaskyardError
from taskyard.sdk.request import Request

log = logging.getLogger("taskyard.sdk")

OnLimited: TypeAlias = Callable[[Limited, float], object]
"""Told of a limit before it is waited out: what the hub said, and how many seconds it takes until the next try."""


class RetryPolicy(Struct, frozen=True, kw_only=True):
    attempts_max: int = 4
    delay_s: float = 0.1
    delay_s_max: float = 2.0
    retry_after_s_max: float = 30.0
    """A hub that asks for more than this is down for the caller: better an error than a long silence."""
    waits_for_limits: bool = True
    """Whether a limit on what comes in is waited out, or told."""

    def pause_s(self, error: TaskyardError, *, attempt: int, idempotent: bool, dice: float) -> float | None:
        """Seconds until the next attempt, or None to give up. `dice` is in [0, 1)."""
        if attempt >= self.attempts_max:
            return None
        backoff_s = dice * min(self.delay_s_max, self.delay_s * 2.0 ** (attempt - 1))
        match error:
            case HubUnreachable(sent=sent) if idempotent or not sent:
                return backoff_s
            case Limited() if not self.waits_for_limits:
                return None
            case Refused(status=429 | 503, retry_after=float(wanted_s)) if idempotent:
                return wanted_s + backoff_s if wanted_s <= self.retry_after_s_max else None
            case _:
                return None


def log_limited(error: Limited, pause_s: float) -> None:
    log.warning("the hub takes no more for now, and it is tried again in %.1f s: %s", pause_s, error.detail)


def policy_for(request: Request[Any], *, prompt: RetryPolicy, patient: RetryPolicy) -> RetryPolicy:
    """Of a client's two policies, the one for this request."""
    policy = patient if request.wait_s else prompt
    return policy if request.waits_for_limits else replace(policy, waits_for_limits=False)


PROMPT: Final = RetryPolicy()
"""For single calls: a hub that is not there is reported within about half a second."""

PATIENT: Final = RetryPolicy(attempts_max=20, delay_s_max=5.0)
"""For waiting and for event streams, which outlive a restart of the hub: about half a minute in a row."""

CANDID: Final = RetryPolicy(waits_for_limits=False)
"""For whoever can do something else meanwhile: as prompt, and a limit is told at once."""

NEVER: Final = RetryPolicy(attempts_max=1)
