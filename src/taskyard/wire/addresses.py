"""Where the hubs of one yard are reached, and which of them is called next.

Any hub takes every call and hands on what is the leader's to decide, so one that does not answer is passed over for
the next, and the one that answered last is asked first.
"""


def each_hub(addresses: str) -> tuple[str, ...]:
    """`a,b,c` is three hubs of one yard; a single address is a list of one."""
    return tuple(address for part in addresses.split(",") if (address := part.strip().rstrip("/")))


class Turn:
    """Whose turn it is. Shared between threads: two that pass over the same hub pass over it once."""

    def __init__(self, hubs: tuple[str, ...]) -> None:
        self._hubs = hubs
        self._at = 0

    @property
    def hub(self) -> str:
        return self._hubs[self._at]

    def pass_over(self, hub: str) -> None:
        """It did not answer, or could not: the next one is called from now on."""
        at = self._at
        if self._hubs[at] == hub:
            self._at = (at + 1) % len(self._hubs)
