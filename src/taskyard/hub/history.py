"""Keeps how the hub did, minute by minute: what a page shows of the last hours and weeks outlives a restart.

Nothing here is decided by the core, and nothing waits for it (ADR 22). At the end of each minute one sample is written
beside the commits, with the hour that it belongs to made anew of its minutes, so that no hour has to be found at its
end by whoever leads then. A minute that nobody wrote, because no hub led or the store was away, is a gap.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from taskyard.core.state import Now, State
from taskyard.gateway.figures import Figures
from taskyard.gateway.port import Unavailable
from taskyard.gateway.samples import Sample, decode_sample, encode_sample, merged
from taskyard.hub.metrics import Metrics
from taskyard.hub.observe import Log
from taskyard.store import port
from taskyard.store.port import Reader, RecordDamaged, Store, StoreUnavailable
from taskyard.vocabulary import DaemonStatus, EventName, Level
from taskyard.wire.metrics import HOUR_S, MINUTE_S

MINUTE_MS, HOUR_MS = MINUTE_S * 1000, HOUR_S * 1000
EARLY_MS: Final = 1_000
# A timer and the wall clock may differ by less than this; who wakes before the turn must not wake for it twice.
DAY_MS: Final = 24 * HOUR_MS
# An hour more than is shown of each: the oldest step is shown until the newest is whole.
MINUTES_KEPT_MS: Final = DAY_MS + HOUR_MS
HOURS_KEPT_MS: Final = 31 * DAY_MS + HOUR_MS

T = TypeVar("T")


class Kept(Protocol):
    """The hub, as far as it is needed here."""

    @property
    def ready(self) -> bool: ...

    @property
    def state(self) -> State: ...

    def read(self, look: Callable[[Reader], T]) -> Awaitable[T]: ...

    def write_beside(self, work: Callable[[Store], None]) -> Awaitable[None]: ...


class History:
    def __init__(self, hub: Kept, metrics: Metrics, log: Log, clock: Callable[[], Now]) -> None:
        self._hub = hub
        self._metrics = metrics
        self._log = log
        self._clock = clock
        self._before = metrics.totals()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(until_turn_ms(self._clock().wall) / 1000)
            await self.keep()

    async def keep(self) -> None:
        """Write down the minute that has just ended."""
        if not self._hub.ready:
            return
        at = minute_ended(self._clock().wall)
        try:
            sample = await self._sample()
            hour_at = at - at % HOUR_MS
            of_hour = await self._hub.read(lambda reader: reader.figures(step_s=MINUTE_S, since=hour_at))
            others = [decode_sample(one.record) for one in of_hour if one.at < hour_at + HOUR_MS and one.at != at]
            written = (
                port.Figures(MINUTE_S, at, encode_sample(sample)),
                port.Figures(HOUR_S, hour_at, encode_sample(merged([*others, sample]))),
            )
            await self._hub.write_beside(lambda store: store.keep_figures(written, kept=_kept(at)))
        except (StoreUnavailable, Unavailable, RecordDamaged) as error:
            # For an hour in which one minute is damaged, its later minutes are missing too.
            self._log.say("figures.unkept", level="warning", reason=str(error))

    async def _sample(self) -> Sample:
        figures = await self._metrics.figures(self._hub.state)
        before, self._before = self._before, self._metrics.totals()
        events = self._before.events - before.events
        return Sample(
            depth=_by_level(figures),
            running=figures.running,
            enqueued=events[EventName.TASK_CREATED],
            completed=events[EventName.TASK_COMPLETED],
            failed=events[EventName.TASK_PERMANENTLY_FAILED],
            waits=_more(self._before.waits, before.waits),
            runs=_more(self._before.runs, before.runs),
            slots=figures.slots,
            slots_used=figures.slots_used,
            daemons_online=sum(figures.daemons.values()) - figures.daemons[DaemonStatus.OFFLINE],
        )


def until_turn_ms(now_ms: int) -> int:
    """How long it is to the next turn of a minute; who woke a little before one has had it."""
    return ((now_ms + EARLY_MS) // MINUTE_MS + 1) * MINUTE_MS - now_ms


def minute_ended(now_ms: int) -> int:
    """When the minute began whose end is nearest."""
    return (now_ms + MINUTE_MS // 2) // MINUTE_MS * MINUTE_MS - MINUTE_MS


def _kept(at: int) -> Mapping[int, tuple[int, int]]:
    """By length, the first and the last; what lies ahead is of a clock that was put back since."""
    return {MINUTE_S: (at - MINUTES_KEPT_MS, at), HOUR_S: (at - HOURS_KEPT_MS, at)}


def _by_level(figures: Figures) -> dict[Level, int]:
    levels: Counter[Level] = Counter()
    for (_, level, _), size in figures.depth.items():
        levels[level] += size
    return dict(+levels)


def _more(now: Sequence[int], before: Sequence[int]) -> dict[int, int]:
    return {bucket: times - was for bucket, (times, was) in enumerate(zip(now, before, strict=True)) if times > was}
