"""Time and chance, one of each: a heap of events and a seeded generator. Nothing else may decide an order."""

import random
from collections.abc import Callable
from hashlib import blake2b
from heapq import heappop, heappush

Action = Callable[..., None]


class Clockwork:
    """What happens when. An event is a call; equal instants happen in the order they were asked for."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 1_000_000
        self.steps = 0
        self._heap: list[tuple[int, int, Action, tuple[object, ...]]] = []
        self._asked = 0
        self._digest = blake2b(digest_size=16)

    def later(self, delay_ms: int, action: Action, *arguments: object) -> None:
        self._asked += 1
        heappush(self._heap, (self.now + delay_ms, self._asked, action, arguments))

    def step(self) -> bool:
        """The next event; False when nothing is left to happen."""
        if not self._heap:
            return False
        self.now, _, action, arguments = heappop(self._heap)
        self.steps += 1
        action(*arguments)
        return True

    def note(self, content: bytes) -> None:
        """What the world did becomes part of its digest."""
        self._digest.update(content)

    def digest(self) -> str:
        self._digest.update(b"%d %d" % (self.now, self.steps))
        return self._digest.copy().hexdigest()

    # Dice

    def happens(self, probability: float) -> bool:
        return self.rng.random() < probability

    def between(self, low: int, high: int) -> int:
        return low + int(self.rng.random() * (high - low + 1))

    def about(self, mean_ms: float) -> int:
        """An exponential wait."""
        return int(self.rng.expovariate(1 / mean_ms))
