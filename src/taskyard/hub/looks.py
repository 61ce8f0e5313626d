"""Look-ups under way: what a command needs of the store before it can be decided (`core/lookups.py`).

While one is read, the core forgets nothing newer than what was on disk when it began.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count

from taskyard.core.commands import Command
from taskyard.core.hub import Core
from taskyard.core.lookups import ROUNDS_MAX, Lookup, merge, missing
from taskyard.hub.readers import Readers
from taskyard.hub.revisit import known_of


class Looks:
    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._begun: dict[int, int] = {}
        """The commit after which each began."""
        self._numbers = count()

    def seen_by_all(self, seq: int) -> int:
        """The newest commit, up to this one, that every look-up under way has seen."""
        return min(self._begun.values(), default=seq)

    @contextmanager
    def since(self, seq: int) -> Iterator[None]:
        number = next(self._numbers)
        self._begun[number] = seq
        try:
            yield
        finally:
            del self._begun[number]

    async def learn(self, core: Core, command: Command, lookup: Lookup) -> None:
        """Read into the command's `known` what it lacks, and what that turns out to need."""
        wanted: Lookup | None = lookup
        for _ in range(ROUNDS_MAX):
            if wanted is not None:
                found = await self._readers.read(partial(known_of, wanted))
                command.known = merge(command.known, wanted, found)  # type: ignore[union-attr]
                wanted = missing(core.state, command)
