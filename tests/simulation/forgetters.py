"""Daemons are told to be forgotten, by people and by housekeeping, whether they may be or not.

With dice of their own, so that a life in which no daemon is forgotten is as it was without them.
"""

import random
from typing import TYPE_CHECKING

from taskyard.core.daemon_commands import ForgetDaemon, ForgetUnseen

if TYPE_CHECKING:
    from tests.simulation.world import World

UNSEEN_MS = (0, 5_000, 60_000)


class Forgetters:
    def __init__(self, world: "World") -> None:
        self.world = world
        self._dice = random.Random(f"forgetters of {world.seed}")

    def begin(self) -> None:
        if self.world.faults.forgets_ms:
            self._plan()

    def _plan(self) -> None:
        self.world.clock.later(int(self._dice.expovariate(1 / self.world.faults.forgets_ms)), self._act)

    def _act(self) -> None:
        world, dice = self.world, self._dice
        if world.is_healed:
            return
        state = world.history.state
        known = list(state.daemons.values()) if state is not None else []
        away = [daemon for daemon in known if not daemon.session]
        if dice.random() < 0.3:
            world.hub.mention(ForgetUnseen(world.hub.now.wall - dice.choice(UNSEEN_MS)))
        elif known:
            world.hub.mention(ForgetDaemon(dice.choice(away if away and dice.random() < 0.7 else known).id))
        self._plan()
