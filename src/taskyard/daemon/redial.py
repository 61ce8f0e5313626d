"""When to connect again after a connection ended, or why not to.

Full jitter: a hub that restarts under a thousand daemons must not meet them all in its first second. But one that
holds work has its lease to come back in, else what it runs is run again elsewhere: `within_ms` bounds its patience.
"""

from http import HTTPStatus
from random import Random
from typing import Final

import msgspec
from msgspec import Struct

from taskyard.wire import frames

DELAY_MS: Final = 1_000
DELAY_MS_MAX: Final = 60_000
LONG_DELAY_MS: Final = 60_000

CLOSE_CODES: Final = {
    "superseded": frames.CLOSE_SUPERSEDED,
    "unauthenticated": frames.CLOSE_UNAUTHENTICATED,
    "forbidden": frames.CLOSE_UNAUTHENTICATED,
    "daemon_not_found": frames.CLOSE_UNAUTHENTICATED,
    "cloned_identity": frames.CLOSE_SUPERSEDED,
    "hub_rewound": frames.CLOSE_REWOUND,
}
"""What an `error` message announces; the close code after it may be lost, or say less."""

# After these another try at once would only do harm: somebody else has this daemon's identity, or the hub
# lost part of its past and a person has to look.
_WAIT_LONG: Final = frozenset({frames.CLOSE_SUPERSEDED, frames.CLOSE_REWOUND})


SAID_MAX: Final = 500
# Of the words of whoever answers at this address: it may be anybody.


class _Problem(Struct):
    detail: str


def upgrade_refused(status: int, body: bytes | bytearray) -> tuple[int | None, str]:
    """A status came instead of a connection: the close code that means the same, if there is one, and why in words."""
    never = status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
    try:
        said = f": {msgspec.json.decode(body, type=_Problem).detail[:SAID_MAX]}"
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = ""
    return frames.CLOSE_UNAUTHENTICATED if never else None, f"the hub answered {status}{said}"


class Redial:
    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._tries = 0
        self._was_welcome = False
        """On this connection, once: so whatever it ends of, our protocol it is not."""
        self._is_urgent = False

    def welcomed(self) -> None:
        self._tries = 0
        self._was_welcome = True

    def hurry(self) -> None:
        """The next connection is wanted at once: this machine has slept, or has something to say of itself."""
        self._tries = 0
        self._is_urgent = True

    def delay_ms(self, close_code: int | None, *, within_ms: int = DELAY_MS_MAX) -> int:
        if close_code in _WAIT_LONG:
            return LONG_DELAY_MS + int(self._rng.random() * LONG_DELAY_MS)
        if self._is_urgent:
            self._is_urgent = False
            return 0
        ceiling = min(DELAY_MS_MAX, within_ms, DELAY_MS << min(self._tries, 16))
        self._tries += 1
        return int(self._rng.random() * ceiling)

    def refusal(self, close_code: int | None, reason: str) -> str | None:
        """The connection ended: why no later try can succeed, in words for whoever started the daemon, if so."""
        was_welcome, self._was_welcome = self._was_welcome, False
        if close_code == frames.CLOSE_UNAUTHENTICATED:
            return f"the hub does not accept this daemon: {reason or 'unauthenticated'}"
        if close_code == frames.CLOSE_PROTOCOL and not was_welcome:
            return (
                f"the hub does not take this daemon's hello (protocol {frames.PROTOCOL}): {reason or 'no reason given'}"
            )
        return None
