"""What the hub has done, counted as its commits are released; and how it stands, read when somebody asks.

Counting follows commits, so no figure tells of something that a crash took back. It is done once per batch and mostly
by loops that run in C: at full speed there are a hundred thousand events a second. Everything is of this process: a
restart begins at 0, as those who collect such figures expect.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from operator import attrgetter
from typing import Final

from msgspec import Struct

from taskyard.core.breakers import state_of
from taskyard.core.changes import Batch, Event
from taskyard.core.state import Now, State
from taskyard.gateway.figures import Depth, Figures
from taskyard.gateway.quantiles import DURATION_DECADES, DURATION_MS_MIN
from taskyard.hub.clock import read_stopwatch
from taskyard.hub.distribution import Sizes, Tally
from taskyard.hub.views import status_of
from taskyard.vocabulary import BreakerState, DaemonStatus, EventName, Level, SourceType, Status

MINUTE_S: Final = 60
LAG_EVERY_S: Final = 1.0
LANES_PER_TURN: Final = 5000
# About a millisecond of looking, then the loop goes on.

# Python 3.11 looks up a member of an enum by a call, and every event is asked for these.
_SCHEDULED: Final = EventName.TASK_SCHEDULED
_COMPLETED: Final = EventName.TASK_COMPLETED
_RUNNING: Final = Status.RUNNING
_name_of: Final = attrgetter("name")

BAD_ENDS: Final = {
    EventName.TASK_FAILED: "failed",
    EventName.TASK_RETRYING: "rate_limited",
    EventName.TASK_CANCELLED: "cancelled",
    EventName.TASK_LOST: "lost",
    EventName.TASK_PREEMPTED: "preempted",
}
"""How a running attempt ended that did not complete its task, by what is told of the task."""
_BAD_ENDS: Final = frozenset(BAD_ENDS)


class Totals(Struct, frozen=True):
    """What was counted since the start: two of them tell of the time between."""

    events: Counter[str]
    waits: list[int]
    """By bucket of `quantiles.DURATIONS_MS`."""
    runs: list[int]


class Metrics:
    def __init__(self, clock: Callable[[], Now]) -> None:
        self._clock = clock
        self._events = Tally()
        self._attempts = Tally()
        self._wait_ms = Sizes(least=DURATION_MS_MIN, decades=DURATION_DECADES)
        self._execution_ms = Sizes(least=DURATION_MS_MIN, decades=DURATION_DECADES)
        self._commit_rows = Sizes(least=1, decades=4)
        self._commit_ms = Sizes(least=0.1, decades=5)
        self._loop_lag_ms = Sizes(least=0.1, decades=5)

    # Counting.

    def observe(self, batch: Batch) -> None:
        """A commit is released."""
        events = batch.events
        if not events:
            return
        second = self._clock().mono // 1000
        found = Counter(map(_name_of, events))
        self._events.add(found, second)
        if _SCHEDULED in found:
            self._wait_ms.add(_waits(batch), second)
        if _COMPLETED in found:
            self._execution_ms.add(_runs(batch), second)
            self._attempts.add({"completed": found[_COMPLETED]}, second)
        if not _BAD_ENDS.isdisjoint(found):
            self._observe_bad_ends(batch, second)

    def _observe_bad_ends(self, batch: Batch, second: int) -> None:
        """They are few, so each of them may be looked for among the rows."""
        ends = [event for event in batch.events if event.was is _RUNNING and event.name in _BAD_ENDS]
        self._attempts.add(Counter(map(_outcome_of, ends)), second)
        began = {row.task.id: row.task.started_at for rows in (batch.changed, batch.ended) for row in rows}
        runs = ((end.at, began.get(end.task_id or "")) for end in ends)
        self._execution_ms.add([at - since for at, since in runs if since is not None], second)

    def committed(self, batch: Batch, took_s: float) -> None:
        """The store took it."""
        second = self._clock().mono // 1000
        rows = len(batch.created) + len(batch.changed) + len(batch.ended) + len(batch.revived) + len(batch.amended)
        self._commit_rows.add((rows,), second)
        self._commit_ms.add((took_s * 1000,), second)

    async def watch_loop(self) -> None:
        """How late the event loop calls whoever asked to be called."""
        while True:
            due = read_stopwatch() + LAG_EVERY_S
            await asyncio.sleep(LAG_EVERY_S)
            self._loop_lag_ms.add((max(read_stopwatch() - due, 0.0) * 1000,), self._clock().mono // 1000)

    # Showing.

    def totals(self) -> Totals:
        return Totals(self._events.total.copy(), self._wait_ms.counts(), self._execution_ms.counts())

    async def figures(self, state: State) -> Figures:
        depth = await depth_of(state)
        now = self._clock()
        second = now.mono // 1000
        daemons = Counter(status_of(daemon) for daemon in state.daemons.values())
        # An agent that claims is not connected while it works.
        there = [daemon for daemon in state.daemons.values() if status_of(daemon) is not DaemonStatus.OFFLINE]
        breakers = Counter(
            state_of(breaker, now.wall) for user in state.users.values() for breaker in user.breakers.values()
        )
        return Figures(
            depth=depth,
            running=state.running,
            events=self._events.total,
            attempts=self._attempts.total,
            events_per_minute=self._events.lately(second, MINUTE_S),
            events_lately=self._events.lately(second),
            attempts_lately=self._attempts.lately(second),
            wait_ms=self._wait_ms.distribution(second),
            execution_ms=self._execution_ms.distribution(second),
            commit_rows=self._commit_rows.distribution(second),
            commit_ms=self._commit_ms.distribution(second),
            loop_lag_ms=self._loop_lag_ms.distribution(second),
            daemons={status: daemons[status] for status in DaemonStatus},
            slots=sum(daemon.record.slots for daemon in there),
            slots_used=sum(daemon.occupied for daemon in there),
            breakers={each: breakers[each] for each in BreakerState},
            pressure=state.pressure,
        )


async def depth_of(state: State) -> Depth:
    """Ready tasks, by the sizes of their lanes. Of very many lanes only so many are looked at in one go."""
    depth: Counter[tuple[str, Level, SourceType]] = Counter()
    looked = 0
    for user in list(state.users.values()):
        for lane in list(user.lanes.values()):
            depth[lane.kind.queue, lane.level, lane.kind.source] += lane.size
            looked += 1
            if looked % LANES_PER_TURN == 0:
                await asyncio.sleep(0)
    return depth


def _waits(batch: Batch) -> list[int]:
    """How long those who got a daemon had been ready; less than nothing if they were ready again meanwhile."""
    begun = {event.task_id for event in batch.events if event.name is _SCHEDULED}
    return [
        (task.scheduled_at or 0) - (task.queued_at or 0)
        for rows in (batch.changed, batch.created, batch.ended)
        for row in rows
        if (task := row.task).id in begun
    ]


def _runs(batch: Batch) -> list[int]:
    """How long those that are completed ran."""
    completed = Status.COMPLETED
    return [
        (task.completed_at or 0) - task.started_at
        for row in batch.ended
        if (task := row.task).status is completed and task.started_at is not None
    ]


def _outcome_of(end: Event) -> str:
    """A timeout is told as a failure."""
    return "timeout" if end.now is Status.TIMEOUT else BAD_ENDS[end.name]
