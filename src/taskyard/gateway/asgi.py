"""The shapes of ASGI, as its specification has them, and one extension of it."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, Protocol

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

KNOWN: Final = "taskyard.known"
"""Where the scope of a request says that its caller showed a credential that is good."""

LATE: Final = "taskyard.late"
"""Where it says that the body had its time, and did not come."""

SHORT_CUT: Final = "taskyard.short_cut"
"""The extension by which the scope of a socket offers one."""


class ShortCut(Protocol):
    """A socket's messages without a queue and a task in between: with small ones, that is where the time goes."""

    take: Callable[[bytes], None] | None
    """Called with each message as it arrives, and must not raise; None: they go to `receive`."""

    @property
    def is_free(self) -> bool:
        """Whether what is written now leaves now. If not, `send` waits until it can."""

    def write(self, text: bytes) -> None: ...

    def rest(self, s: float, then: Callable[[], None]) -> None:
        """Read nothing for this long, then call. Of several, the last one counts."""
