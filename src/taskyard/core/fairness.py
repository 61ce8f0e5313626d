"""Whose turn it is among users that wait at the same level.

The one with the fewest live attempts; between equals the one served longest ago. Nothing a user submits
changes either, so no backlog, however long, moves its owner forward.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taskyard.core.state import User

Rank = tuple[int, int]


def rank_of(user: "User") -> Rank:
    """Smaller is served first."""
    return len(user.live), user.served
