"""Numbers of clients that count the other way: of four, 1 is the most urgent. A key says that its client does."""

from typing import Any, Final, Protocol

from taskyard.gateway.call import refuse_fields
from taskyard.vocabulary import Level, PriorityScale
from taskyard.wire.problems import FieldError

LEVELS: Final = dict(enumerate(Level, 1))
OFF_SCALE: Final = FieldError("priority", f"this key counts from 1 (critical) to {len(LEVELS)} (low)")


class Prioritised(Protocol):
    priority: Any


def fault_on_scale(body: Prioritised, scale: PriorityScale | None) -> tuple[FieldError, ...]:
    """Write the level that a number means in its place; or what is wrong with it."""
    if scale is None or not isinstance(body.priority, int):
        return ()
    if body.priority not in LEVELS:
        return (OFF_SCALE,)
    body.priority = LEVELS[body.priority]
    return ()


def put_on_scale(body: Prioritised, scale: PriorityScale | None) -> None:
    faults = fault_on_scale(body, scale)
    if faults:
        raise refuse_fields(faults)
