"""When a waiting task will presumably start, and how many of its user's go before it.

The position counts among one's own ready tasks of the queue, in the order of `lanes.py`. The estimate follows from what
holds the task (`holds.py`): each hold has an instant at which it ends by itself, or so many places, which fall free as
those who hold them end (`estimates.py`) and are taken by those ahead; the last of the holds decides. Nothing is
said where a hold ends only by somebody's act. Both look at a bounded number of lanes and tasks, however many wait.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from msgspec import Struct

from taskyard.core.estimates import estimated_ms, remaining_ms
from taskyard.core.holds import Held, holds_of, lines_of
from taskyard.core.lanes import Lane, key_of
from taskyard.core.limits import Hold, ages_of
from taskyard.core.lines import Line
from taskyard.core.sentences import SENTENCES
from taskyard.core.state import Turn
from taskyard.core.task import Task
from taskyard.vocabulary import Level, Status
from taskyard.vocabulary.reasons import Reason

LANES_MAX: Final = 512
# A user's lanes looked at; past these the others are taken to be alike.
LOOKS_MAX: Final = 256
HOLDERS_MAX: Final = 32
# Running tasks looked at, and taken, to find out when a place falls free: the answer hardly changes with more.


class Forecast(Struct, frozen=True):
    position: int
    """1: the next of its user's tasks of that queue."""
    starts_at: int | None


class Ahead(Struct, frozen=True):
    """Those of its user's and queue's that go before a task."""

    tasks: int
    each_ms: int
    """How long one of them takes; how long the task itself does, if there is none."""


def forecast(turn: Turn, task: Task) -> Forecast | None:
    """Of a task that is queued; None for others."""
    if task.status is not Status.QUEUED:
        return None
    lane = turn.state.users[task.user_id].lanes[key_of(task)]
    ahead = ahead_of(turn, lane, task)
    return Forecast(ahead.tasks + 1, starts_at(turn, lane, holds_of(turn, lane, lines_of(turn, lane)), ahead))


def ahead_of(turn: Turn, lane: Lane, task: Task) -> Ahead:
    user, numbers = lane.user, turn.state.settings.priorities
    aged_before = ages_of(turn)[lane.rank]
    tasks = work_ms = 0
    for other in islice(user.lanes.values(), LANES_MAX):
        if other.kind.queue != lane.kind.queue or other.rank > lane.rank:
            continue
        before = other.size if other.rank < lane.rank else other.before(task, aged_before)
        if before:
            tasks += before
            work_ms += before * estimated_ms(user, other.kind.needs.type, None, numbers)
    if not tasks:
        return Ahead(0, estimated_ms(user, lane.kind.needs.type, task.terms.estimated_ms, numbers))
    each_ms = work_ms // tasks
    return Ahead(tasks * len(user.lanes) // min(len(user.lanes), LANES_MAX), each_ms)


def starts_at(turn: Turn, lane: Lane, holds: list[Held], ahead: Ahead) -> int | None:
    """The latest of the instants at which its holds end; None if one of them is unknown."""
    at = turn.now.wall
    for held in holds:
        ends_at = _ends_at(turn, lane, held, ahead)
        if ends_at is None:
            return None
        at = max(at, ends_at)
    return at


def _ends_at(turn: Turn, lane: Lane, held: Held, ahead: Ahead) -> int | None:
    hold = held.hold
    if hold.until is not None:
        return hold.until
    if not SENTENCES[hold.reason].passes or hold.limit == 0:
        return None
    frees = sorted(remaining_ms(turn, task) for task in holders_of(turn, lane, held))
    if not frees:
        return None
    if hold.limit is None:
        return turn.now.wall + frees[0]
    # Where more run than may, some must end before anybody starts.
    over = max((hold.used or 0) - hold.limit, 0)
    places = frees[over : over + hold.limit] or frees[-1:]
    before = ahead.tasks if held.line is None else _before_in(held.line, lane, ahead)
    return turn.now.wall + places[before % len(places)] + before // len(places) * ahead.each_ms


def _before_in(line: Line, lane: Lane, ahead: Ahead) -> int:
    """Users take turns: between two of one's own tasks each of the others has one, half of them before the first."""
    users = max(sum(len(parties) for parties in line.parties[: lane.rank + 1]), 1)
    return ahead.tasks * users + (users - 1) // 2


# Who holds the places.


_MEANT: Final[dict[Reason, Callable[[Task, Hold], bool]]] = {
    Reason.BREAKER_PROBING: lambda task, hold: task.kind.needs.type == hold.name,
    Reason.SOURCE_CONCURRENCY: lambda task, hold: task.kind.source == hold.name,
    Reason.LOW_CAP: lambda task, _: task.level is Level.LOW,
    Reason.EXCLUSIVE_HELD: lambda task, hold: task.terms.exclusive == hold.name,
    Reason.QUEUE_FULL: lambda task, hold: task.kind.queue == hold.name,
    Reason.QUEUE_PROBING: lambda task, hold: task.kind.queue == hold.name,
}
"""Which of those that run are in the way; all of them where nothing is said."""
_OF_DAEMONS: Final = (Reason.NO_FREE_SLOT, Reason.WAITS_ALONE)


def holders_of(turn: Turn, lane: Lane, held: Held) -> list[Task]:
    """Tasks whose end would give the held one a place, so many of them as are looked at."""
    is_meant = _MEANT.get(held.hold.reason)
    looked_at = islice(_running(turn, lane, held), LOOKS_MAX)
    meant = looked_at if is_meant is None else (task for task in looked_at if is_meant(task, held.hold))
    return list(islice(meant, HOLDERS_MAX))


def _running(turn: Turn, lane: Lane, held: Held) -> Iterable[Task]:
    """All that counts where the hold counts: of its user, of the hub, of a pool, on daemons that could run it."""
    reason, line = held.hold.reason, held.line
    if reason is Reason.HUB_FULL:
        return (task for task, _ in turn.state.live_attempts())
    if line is None:
        return lane.user.live.values()
    if reason in _OF_DAEMONS:
        return (task for daemon in line.servers if daemon.is_open for task in daemon.holding.values())
    return (task for daemon in line.pool.daemons.values() for task in daemon.holding.values())
