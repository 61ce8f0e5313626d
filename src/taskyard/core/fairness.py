"""Whose turn it is among users that wait at the same level.

The one with the fewest live attempts; between equals the one served longest ago. Nothing a user submits
changes either, so no backlog, however long, moves its owner forward.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from taskyard.core.state import User

SERVED_BITS: Final = 48
# Of a count of grants: at a million a second it lasts for eight years.
SERVED: Final = (1 << SERVED_BITS) - 1


def take_stock(user: "User", served: int | None = None) -> None:
    """What the user runs, or when it was last given a slot, has changed: `user.turn` says whose turn it is.

    Smaller is served first. It is kept with the user, so that asking whether anything changed costs nothing, and in one
    number, since most of what a decision costs among very many users is to compare these.
    """
    user.turn = len(user.live) << SERVED_BITS | (user.turn & SERVED if served is None else served)
