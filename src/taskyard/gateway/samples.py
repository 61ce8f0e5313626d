"""How the hub did in some time, as it is kept: small, and such that samples of shorter times make one of a longer.

Counts add up. What stands at a moment (depth, slots) becomes the mean of the moments. Waits and runs are counted by
bucket, so that quantiles of an hour are those of all its tasks and not of its minutes.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from taskyard.vocabulary import Level


class Sample(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Hubs one version apart read each other's: fields are added with a default, never changed."""

    depth: dict[Level, int] = {}
    """Ready tasks; a level that is not there has none."""
    running: int = 0
    enqueued: int = 0
    completed: int = 0
    failed: int = 0
    """For good."""
    waits: dict[int, int] = {}
    """By bucket of `quantiles.DURATIONS_MS`."""
    runs: dict[int, int] = {}
    slots: int = 0
    slots_used: int = 0
    daemons_online: int = 0


encode_sample: Final = msgspec.json.Encoder().encode
decode_sample: Final = msgspec.json.Decoder(Sample).decode


def merged(samples: Sequence[Sample]) -> Sample:
    """One of all their time, of which there is some."""

    def mean(standing: Iterable[int]) -> int:
        return round(sum(standing) / len(samples))

    waits: Counter[int] = Counter()
    runs: Counter[int] = Counter()
    for sample in samples:
        waits.update(sample.waits)
        runs.update(sample.runs)
    return Sample(
        depth={level: depth for level in Level if (depth := mean(one.depth.get(level, 0) for one in samples))},
        running=mean(one.running for one in samples),
        enqueued=sum(one.enqueued for one in samples),
        completed=sum(one.completed for one in samples),
        failed=sum(one.failed for one in samples),
        waits=dict(waits),
        runs=dict(runs),
        slots=mean(one.slots for one in samples),
        slots_used=mean(one.slots_used for one in samples),
        daemons_online=mean(one.daemons_online for one in samples),
    )
