"""Asks addresses whether there is something to do, for the schedules that want to know (`core/due_runs.py`).

A probe leaves after the commit that settled its run, guarded like all that the hub requests on a user's behalf
(`outbound.py`), and its answer comes back as a command. One that is never answered has its run skipped by the core's
own timer; one that was under way when the hub died is asked again by whoever leads next.
"""

import asyncio
from collections.abc import Coroutine
from typing import Final, Protocol

from taskyard.core.commands import Command
from taskyard.core.effects import AskProbe
from taskyard.core.occurrences import is_empty
from taskyard.core.schedule_commands import AnswerProbe
from taskyard.core.settings import Settings
from taskyard.gateway.destinations import read_allowed
from taskyard.hub.outbound import Answer, Outbound, Request, Unreached
from taskyard.vocabulary.schedules import SkipReason

AT_ONCE_MAX: Final = 32
# Thousands of schedules may be due on the hour. Those behind these wait, each no longer than its schedule does.

REFUSED, UNREACHED = "ADDRESS_REFUSED", "NOT_REACHED"


class Leader(Protocol):
    @property
    def settings(self) -> Settings: ...

    def tell(self, command: Command) -> None: ...

    def watch(self, work: Coroutine[None, None, None]) -> None: ...


class Prober:
    def __init__(self, hub: Leader, outbound: Outbound) -> None:
        self._hub = hub
        self._outbound = outbound
        self._room = asyncio.Semaphore(AT_ONCE_MAX)

    def ask(self, probe: AskProbe) -> None:
        """Its commit is released."""
        self._hub.watch(self._find_out(probe))

    async def _find_out(self, probe: AskProbe) -> None:
        numbers = self._hub.settings.notifications
        request = Request(url=probe.url, method="GET", timeout_s=probe.timeout_ms / 1000)
        try:
            async with asyncio.timeout(request.timeout_s), self._room:
                answer = await self._outbound.fetch(request, read_allowed(numbers.allow, numbers.ports))
        except TimeoutError:
            return
        self._hub.tell(AnswerProbe(probe.schedule_id, probe.due_at, *objection_in(answer)))


def objection_in(answer: Answer | Unreached) -> tuple[SkipReason | None, str | None]:
    """Why there is nothing to do (None: there is), and what went wrong, if something did."""
    if isinstance(answer, Unreached):
        return SkipReason.PROBE_FAILED, REFUSED if answer.is_refused else UNREACHED
    if not answer.is_ok:
        return SkipReason.PROBE_FAILED, f"HTTP_{answer.status}"
    return (SkipReason.PROBE_SAID_NO if is_empty(answer.body) else None), None
