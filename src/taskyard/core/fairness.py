"""Whose turn it is among users that wait at the same level.

The one with the fewest live attempts; between equals the one served longest ago. Nothing a user submits
changes either, so no backlog, however long, moves its owner forward.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taskyard.core.state import User

Rank = tuple[int, int]


def take_stock(user: "User", served: int | None = None) -> None:
    """What the user runs, or when it was last given a slot, has changed: `user.turn` says whose turn it is.

    Smaller is served first. It is kept with the user, so that asking whether anything changed costs nothing.
    """
    user.turn = (len(user.live), user.turn[1] if served is None else served)
