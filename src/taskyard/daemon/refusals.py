"""What a model's provider means by a status: the code of the task's error, and whether another try has any use.

The same whether the daemon asked for itself or a program did that tells what it was answered.
"""

import re
from typing import Final

from taskyard.vocabulary import ErrorCode

STATUSES: Final = range(400, 600)
"""Numbers that are a refusal; a program's own error codes are smaller."""

_CONTEXT: Final = re.compile(
    r"context[ _](?:length|window|size)|maximum context|too many tokens|prompt is too long|string_above_max_length",
    re.IGNORECASE,
)


def meant_by(status: int, said: str) -> tuple[str, bool | None]:
    """The code, and False if the same would be answered again."""
    if status in (429, 529):
        return ErrorCode.RATE_LIMITED, None
    if status in (400, 413, 422) and _CONTEXT.search(said):
        return "CONTEXT_TOO_LONG", False
    if status in (401, 402, 403, 407):
        return ErrorCode.PERMISSION_DENIED, False
    if status == 404:
        return "MODEL_NOT_FOUND", False
    if status in (408, 409, 425) or status >= 500:
        return "ENDPOINT_ERROR", None
    return "ENDPOINT_REFUSED", False
