"""Work that begins when the hub has heard that it starts, and not before.

Heartbeats are answered in their order, and an answer leaves the hub when all that was said before is on its disk. So
one heartbeat behind `task.started` is enough to know, for all who wait. There is one of these under way at a time: who
comes meanwhile shares the next.

Who waits is not forgotten with a connection. A lost one answers nothing, and is asked for anew on the next.
"""

from taskyard.daemon.orders import Key


class Hearing:
    def __init__(self) -> None:
        self._waiting: dict[Key, int | None] = {}
        """With the number of the heartbeat that asks for it; None: none does, on this connection."""

    def wait(self, key: Key) -> None:
        """Its start is told ahead of the next heartbeat."""
        self._waiting[key] = None

    @property
    def wants_beat(self) -> bool:
        return bool(self._waiting) and all(number is None for number in self._waiting.values())

    def asked(self, number: int) -> None:
        """This heartbeat is on its way, behind all that was told until now."""
        for key, asked_by in self._waiting.items():
            if asked_by is None:
                self._waiting[key] = number

    def heard(self, number: int) -> list[Key]:
        """Who waits no more, since this heartbeat was answered; also those that ended before they began."""
        keys = [key for key, asked_by in self._waiting.items() if asked_by is not None and asked_by <= number]
        for key in keys:
            del self._waiting[key]
        return keys

    def fell_silent(self) -> None:
        self._waiting = dict.fromkeys(self._waiting)
