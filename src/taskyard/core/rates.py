"""How much may come in: token buckets, one per user and source and one for the hub, each with two limits.

A bucket is kept as the instant at which it is full again. What it lacks now follows from that, in whole numbers: one
task costs `period_ms`, and each millisecond gives back `per`, the number of tasks that the limit allows in its period.
So nothing is rounded, `Retry-After` is exact, and a caller who waits exactly that long passes.

What is larger than the burst passes on a full bucket and leaves it below empty. A bucket that is full again is
forgotten: those that are kept are of users who submitted lately.
"""

from typing import Final

from msgspec import Struct
from msgspec.json import Decoder

from taskyard.core.settings import Rate
from taskyard.core.state import State, Turn
from taskyard.vocabulary import Keeps, SourceType

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 3_600_000
BUCKET: Final = Keeps.BUCKET
SWEPT_PER_CHARGE: Final = 3
# Buckets looked at for fullness with each charge: more than a charge can add, so that full ones do not pile up.


class Limit(Struct, frozen=True):
    """`per` tasks in a period, of which `burst` may come at once."""

    per: int
    period_ms: int
    burst: int


class Fill(Struct, array_like=True):
    """When one limit's bucket is full again: `full_ms` and `rest` parts of a millisecond, of which there are `per`."""

    full_ms: int
    rest: int
    per: int


class Bucket(Struct):
    """As it is kept."""

    fills: list[Fill]
    """One for each of `limits_of`."""
    seen_ms: int
    """When it was last looked at: a calendar that goes back must not lock anybody out."""


_decode = Decoder(Bucket).decode


class Verdict(Struct, frozen=True):
    """How many of the tasks a bucket has room for, and when it has room for the others."""

    takes: int
    wait_ms: int = 0


def bucket_name(user_id: str, source: SourceType) -> str:
    return f"{user_id}/{source}"


def limits_of(rate: Rate) -> tuple[Limit, Limit]:
    burst = rate.per_minute if rate.burst is None else rate.burst
    return Limit(rate.per_minute, MINUTE_MS, burst), Limit(rate.per_hour, HOUR_MS, rate.per_hour)


def ask(turn: Turn, name: str, rate: Rate, cost: int, *, partial: bool) -> Verdict:
    """Whether this many tasks may come in now; if `partial`, as many of them as may."""
    owed = _owed(turn, name, rate)
    takes = min(cost if is_room(lacks, limit, cost) else room(lacks, limit) for lacks, limit in owed)
    if takes == cost:
        return Verdict(cost)
    taken = takes if partial else 0
    waits = (wait_ms(lacks + taken * limit.period_ms, limit, cost - taken) for lacks, limit in owed)
    return Verdict(taken, max(waits))


def charge(turn: Turn, name: str, rate: Rate, cost: int) -> None:
    """They came in. The bucket is kept with the commit that takes them in."""
    state, now_ms = turn.state, turn.now.wall
    fills = []
    for lacks, limit in _owed(turn, name, rate):
        whole_ms, rest = divmod(lacks + cost * limit.period_ms, limit.per)
        fills.append(Fill(now_ms + whole_ms, rest, limit.per))
    # The one charged last is the last to be full, or nearly so.
    state.buckets.pop(name, None)
    bucket = state.buckets[name] = Bucket(fills, now_ms)
    state.ledger.kept[BUCKET, name] = bucket
    _forget_full(turn)


def remember(state: State, name: str, record: bytes) -> None:
    state.buckets[name] = _decode(record)


def is_room(lacks: int, limit: Limit, cost: int) -> bool:
    return lacks <= max(limit.burst - cost, 0) * limit.period_ms


def room(lacks: int, limit: Limit) -> int:
    """How many tasks a bucket that lacks so much still takes one by one."""
    return max(0, (limit.burst * limit.period_ms - lacks) // limit.period_ms)


def wait_ms(lacks: int, limit: Limit, cost: int) -> int:
    """Until there is room for all of them: to the millisecond, and not one too many."""
    over = lacks - max(limit.burst - cost, 0) * limit.period_ms
    return max(0, -(-over // limit.per))


def _owed(turn: Turn, name: str, rate: Rate) -> list[tuple[int, Limit]]:
    """What the bucket lacks under each limit."""
    bucket, limits, now_ms = turn.state.buckets.get(name), limits_of(rate), turn.now.wall
    if bucket is None:
        return [(0, limit) for limit in limits]
    if now_ms < bucket.seen_ms:
        for fill in bucket.fills:
            fill.full_ms -= bucket.seen_ms - now_ms
    bucket.seen_ms = now_ms
    return [(_lacks(fill, limit, now_ms), limit) for fill, limit in zip(bucket.fills, limits, strict=True)]


def _lacks(fill: Fill, limit: Limit, now_ms: int) -> int:
    parts = (fill.full_ms - now_ms) * fill.per + fill.rest
    if fill.per != limit.per:
        # The limit was changed meanwhile: the bucket is full when it would have been.
        parts = -(-parts * limit.per // fill.per)
    return max(0, parts)


def _forget_full(turn: Turn) -> None:
    state, now_ms = turn.state, turn.now.wall
    for _ in range(SWEPT_PER_CHARGE):
        name, oldest = next(iter(state.buckets.items()))
        if any((fill.full_ms - now_ms) * fill.per + fill.rest > 0 for fill in oldest.fills):
            return
        del state.buckets[name]
        state.ledger.kept[BUCKET, name] = None
