"""Keeps an agent's claims alive while the agent thinks: a model that works for minutes says nothing meanwhile.

Only where the server lives as long as its agent does (`taskyard mcp`): then the process is the sign of life. A claim is
kept until it is handed in, or the hub says that it is somebody else's now.
"""

import asyncio
from typing import Final

from taskyard.mcp.yard import Ask, Outcome, Yard, claim_path, of_task
from taskyard.vocabulary import Refusal

BEATS_PER_LEASE: Final = 3
PAUSE_S_MIN: Final = 0.05
KEPT_MAX: Final = 100
"""Claims of one agent. More than it can work on, and each costs the hub a heartbeat."""
OVER: Final = frozenset(
    {
        Refusal.STALE_ATTEMPT,
        Refusal.TASK_NOT_FOUND,
        Refusal.UNAUTHENTICATED,
        Refusal.FORBIDDEN,
        Refusal.INVALID_TRANSITION,
        Refusal.TASK_ALREADY_COMPLETED,
    }
)
"""What a heartbeat is answered with when there is nothing left to keep; everything else may pass."""


class Keeping:
    """A yard that remembers what was claimed through it."""

    def __init__(self, yard: Yard) -> None:
        self._yard = yard
        self._kept: dict[str, asyncio.Task[None]] = {}

    @property
    def is_of_a_task(self) -> bool:
        return self._yard.is_of_a_task

    async def ask(self, ask: Ask) -> Outcome:
        outcome = await self._yard.ask(ask)
        if ask.path == claim_path() and not outcome.is_error and outcome.value:
            self._keep(outcome)
        return outcome

    def _keep(self, claimed: Outcome) -> None:
        task_id, token = claimed.value["task"]["id"], claimed.value["token"]
        if len(self._kept) < KEPT_MAX:
            pause_s = max(claimed.value["lease_s"] / BEATS_PER_LEASE, PAUSE_S_MIN)
            keeping = asyncio.get_running_loop().create_task(self._beat(task_id, token, pause_s))
            self._kept[token] = keeping
            keeping.add_done_callback(lambda _: self._kept.pop(token, None))

    async def _beat(self, task_id: str, token: str, pause_s: float) -> None:
        beat = Ask(method="POST", path=of_task(task_id, "heartbeat"), body={}, token=token)
        while True:
            await asyncio.sleep(pause_s)
            told = await self._yard.ask(beat)
            if told.is_error and told.value.get("code") in OVER:
                return

    async def close(self) -> None:
        kept = list(self._kept.values())
        for keeping in kept:
            keeping.cancel()
        await asyncio.gather(*kept, return_exceptions=True)
