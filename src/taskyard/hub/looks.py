"""Look-ups under way: what a command needs of the store before it can be decided (`core/lookups.py`).

While one is read, the core forgets nothing newer than what was on disk when it began.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Final

import msgspec

from taskyard.core.changes import Batch
from taskyard.core.commands import Command, HearEnded, Known
from taskyard.core.hub import Core
from taskyard.core.lookups import ROUNDS_MAX, Lookup, merge, missing
from taskyard.core.state import State
from taskyard.hub.readers import Readers
from taskyard.hub.revisit import known_of
from taskyard.hub.used_keys import FIT, UsedKeys
from taskyard.store.port import Reader, RecordDamaged

KEYS_PER_PAGE: Final = 1000
# About 2 ms of the loop's time.


DAMAGED: Final = "\ufffd"
# Stands in the place of bytes that cannot be read: a text that has it may not be where it would be in order.


class Looks:
    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._begun: dict[int, int] = {}
        """The commit after which each began."""
        self._numbers = count()
        self._used: UsedKeys | None = None
        """None: not all of history's keys are in it yet."""
        self._coming: UsedKeys | None = None
        """The one that history's are being added to."""
        self._fit = FIT

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

    def wanted(self, state: State, command: Command) -> Lookup | None:
        """What has to be read before this can be decided; None: nothing."""
        lookup = missing(state, command)
        if lookup is None or not lookup.keys or lookup.user_id is None or self._used is None:
            return lookup
        user_id, used = lookup.user_id, self._used
        keys = tuple(key for key in lookup.keys if used.may_have(user_id, key))
        return msgspec.structs.replace(lookup, keys=keys) if keys or lookup.ids or lookup.refs else None

    async def learn(self, core: Core, command: Command, lookup: Lookup) -> None:
        """Read into the command's `known` what it lacks, and what that turns out to need."""
        wanted: Lookup | None = lookup
        for _ in range(ROUNDS_MAX):
            if wanted is not None:
                if isinstance(command, HearEnded):
                    for readable, found in await self._readable(wanted, core.state):
                        command.known = merge(command.known, readable, found)
                    return
                found = await self._readers.read(partial(known_of, wanted))
                command.known = merge(command.known, wanted, found)  # type: ignore[union-attr]
                wanted = self.wanted(core.state, command)

    async def _readable(self, lookup: Lookup, state: State) -> list[tuple[Lookup, Known]]:
        """Of ended tasks that open ones wait for, those that can be read: for a damaged one they go on waiting."""
        try:
            return [(lookup, await self._readers.read(partial(known_of, lookup)))]
        except RecordDamaged as damaged:
            if damaged.task_id in state.tasks:
                raise
        if len(lookup.ids) == 1:
            return []
        middle = len(lookup.ids) // 2
        halves = (msgspec.structs.replace(lookup, ids=part) for part in (lookup.ids[:middle], lookup.ids[middle:]))
        return [found for half in halves for found in await self._readable(half, state)]

    # The keys of what has ended.

    def note(self, batch: Batch) -> None:
        """This was committed, and what ended in it may be forgotten from now on."""
        used = [(row.task.user_id, row.task.key) for row in batch.ended if row.task.key is not None]
        for keys in (self._used, self._coming):
            if keys is not None and used:
                keys.add(used)

    def forget_keys(self) -> None:
        """The state was loaded anew: commits may have come to pass that this process never heard of."""
        self._used = self._coming = None

    def is_full(self) -> bool:
        """So many keys are in it, most of them perhaps archived since, that it is better made anew."""
        return self._coming is None and (self._used is None or self._used.count > self._fit)

    async def gather_keys(self) -> None:
        """Make it anew. What ends meanwhile is in both, so it does not matter whether a page has it."""
        coming = self._coming = UsedKeys()
        after, is_more = ("", ""), True
        try:
            while is_more:
                page = await self._readers.read(partial(_keys_after, after))
                if self._coming is not coming:
                    return
                coming.add(page)
                is_more = len(page) == KEYS_PER_PAGE
                if is_more and (legible := [pair for pair in page if DAMAGED not in "".join(pair)]):
                    after = legible[-1]
                elif is_more:
                    # There is no telling where to go on. Each key is looked for in the store instead.
                    return
            self._used, self._fit = coming, max(FIT, 2 * coming.count)
        finally:
            if self._coming is coming:
                self._coming = None


def _keys_after(after: tuple[str, str], reader: Reader) -> list[tuple[str, str]]:
    return reader.keys_used(after=after, limit=KEYS_PER_PAGE)
