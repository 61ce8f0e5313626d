"""The smallest of many, while their order changes: a heap with leftovers.

Something whose key grew is found out when it surfaces, and sinks to where it belongs. Something whose key shrank must
be told (`put`), and finds its place when the smallest is next asked for. An entry that is no longer the valid one of
its item is passed over. One item by itself is kept without any order: most of the time there is only one.
"""

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush, heapreplace
from typing import Final, Generic, TypeVar

T = TypeVar("T")
LEFTOVERS_MAX: Final = 64
Key = tuple[int | str, ...]


class Ordered(Generic[T]):
    __slots__ = ("_heap", "_items", "_key", "_moved", "_puts")

    def __init__(self, key: Callable[[T], Key]) -> None:
        self._key = key
        self._items: dict[T, tuple[Key, int, T] | None] = {}
        """Each item with its one valid entry; None before it has a place."""
        self._moved: dict[T, None] = {}
        """Those of two or more that were put since the smallest was last asked for."""
        self._heap: list[tuple[Key, int, T]] = []
        self._puts = 0

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        """In the order in which they came."""
        return iter(self._items)

    def __contains__(self, item: T) -> bool:
        return item in self._items

    def put(self, item: T) -> None:
        """Add it, or put it where it now belongs."""
        items = self._items
        if item not in items:
            items[item] = None
            if len(items) == 2:
                # The one that was alone was not kept in order.
                self._moved.update(dict.fromkeys(items))
                return
        if len(items) > 1:
            self._moved[item] = None

    def drop(self, item: T) -> None:
        del self._items[item]
        self._moved.pop(item, None)

    def first(self) -> T | None:
        """The one with the smallest key; the one put first between equals."""
        items = self._items
        if len(items) < 2:
            return next(iter(items), None)
        if self._moved:
            self._rank_moved()
        heap, key_of = self._heap, self._key
        while True:
            entry = heap[0]
            item = entry[2]
            if items.get(item) is not entry:
                heappop(heap)
                continue
            key = key_of(item)
            if key is entry[0] or key == entry[0]:
                return item
            # It has moved back since.
            self._puts += 1
            sunk = items[item] = (key, self._puts, item)
            heapreplace(heap, sunk)

    def _rank_moved(self) -> None:
        items, heap, key_of = self._items, self._heap, self._key
        moved, self._moved = self._moved, {}
        for item in moved:
            self._puts += 1
            entry = items[item] = (key_of(item), self._puts, item)
            heappush(heap, entry)
        if len(heap) > 2 * len(items) + LEFTOVERS_MAX:
            heap[:] = [each for each in heap if items.get(each[2]) is each]
            heapify(heap)
