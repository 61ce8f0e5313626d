"""Names that stand in an address: of schedules and of templates."""

from taskyard.gateway.call import RequestRefused
from taskyard.vocabulary import Refusal
from taskyard.wire.problems import FieldError


def check_name(name: str, reserved: tuple[str, ...] = ()) -> None:
    """`reserved` stands in the same place of an address and means something else."""
    if "/" not in name and name.isprintable() and name not in reserved:
        return
    but = f", and none of {', '.join(reserved)}" if reserved else ""
    message = f"A name is printable, without a slash{but}."
    raise RequestRefused(Refusal.INVALID_INPUT, message, errors=(FieldError("name", message),))
