"""Which daemon: filters that say why not, then a choice among the rest.

A filter is one small function that returns the `Lack` or None. The fitting ones depend only on what task and
daemon are, so a line applies them once and remembers who passed (`lanes.py`); the standing ones depend on the
moment and are asked at every choice. `lacks_of` runs them all, for `why` and the dashboard.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from taskyard.vocabulary.reasons import Lack

if TYPE_CHECKING:
    from taskyard.core.lanes import Lane
    from taskyard.core.lines import Line
    from taskyard.core.state import Daemon

SHARED: Final = ""
"""The pool of the shared daemons; every other is named after its owner."""
Fit = Callable[["Line", "Daemon"], Lack | None]
Standing = Callable[["Lane", "Daemon"], Lack | None]


def is_yours(line: "Line", daemon: "Daemon") -> Lack | None:
    """The line's pool decides: the shared ones, or one user's own."""
    pool = SHARED if daemon.record.shared else daemon.record.user_id
    return None if pool == line.pool.id else Lack.DAEMON_NOT_YOURS


def is_target(line: "Line", daemon: "Daemon") -> Lack | None:
    target = line.needs.target
    return None if target is None or target in (daemon.id, daemon.record.name) else Lack.NOT_TARGET


def is_not_excluded(line: "Line", daemon: "Daemon") -> Lack | None:
    excluded = line.needs.excluded
    return Lack.DAEMON_EXCLUDED if daemon.id in excluded or daemon.record.name in excluded else None


def is_not_avoided(line: "Line", daemon: "Daemon") -> Lack | None:
    return Lack.DAEMON_AVOIDED if daemon.id in line.key[3] else None


def has_capabilities(line: "Line", daemon: "Daemon") -> Lack | None:
    missing = set(line.needs.capabilities).difference(daemon.record.capabilities)
    return Lack.CAPABILITY_MISSING if missing else None


def serves_model(line: "Line", daemon: "Daemon") -> Lack | None:
    models, model = daemon.record.models, line.needs.model
    return None if not models or model is None or model in models else Lack.MODEL_NOT_SERVED


def serves_type(line: "Line", daemon: "Daemon") -> Lack | None:
    types = daemon.record.types
    return None if not types or line.needs.type in types else Lack.TYPE_NOT_SERVED


FITS: Final[tuple[Fit, ...]] = (
    is_yours,
    is_target,
    is_not_excluded,
    is_not_avoided,
    has_capabilities,
    serves_model,
    serves_type,
)


def is_online(lane: "Lane", daemon: "Daemon") -> Lack | None:
    return None if daemon.session else Lack.DAEMON_OFFLINE


def is_not_draining(lane: "Lane", daemon: "Daemon") -> Lack | None:
    """One that is away has nothing to drain: it comes back as a new process."""
    return Lack.DAEMON_DRAINING if daemon.record.draining and daemon.session else None


def has_free_slot(lane: "Lane", daemon: "Daemon") -> Lack | None:
    return None if daemon.occupied < daemon.record.slots else Lack.DAEMON_FULL


def is_not_held(lane: "Lane", daemon: "Daemon") -> Lack | None:
    """A suspect runs alone: its daemon takes nothing else, and it takes no daemon that runs anything."""
    suspect = lane.special.suspect
    if daemon.alone is not None:
        return None if daemon.alone == suspect and not daemon.active else Lack.DAEMON_HELD
    return Lack.DAEMON_HELD if suspect is not None and daemon.active else None


def has_memory(lane: "Lane", daemon: "Daemon") -> Lack | None:
    needed, free = lane.kind.needs.memory_mb, daemon.memory_free_mb
    return Lack.MEMORY_SHORT if needed and free is not None and free < needed else None


STANDINGS: Final[tuple[Standing, ...]] = (is_online, is_not_draining, has_free_slot, is_not_held, has_memory)


def could_serve(line: "Line", daemon: "Daemon") -> bool:
    return all(fit(line, daemon) is None for fit in FITS)


def choose(lane: "Lane", line: "Line", *, claims_only: bool = False) -> "Daemon | None":
    """The daemon for this lane's head, if one of the line's has room; `claims_only`: of the agents that claim."""
    servers = [daemon for daemon in line.servers if daemon.record.pulls] if claims_only else line.servers
    suspect, memory_mb = lane.special.suspect, line.needs.memory_mb
    is_plain = not lane.special.shunned and not line.needs.cpu_intensive
    if is_plain and suspect is None and not memory_mb and not claims_only and line.is_served_by_all():
        roomiest = line.pool.roomiest()
        if roomiest is None or roomiest.alone is None:
            return roomiest
    score = _plain_score if is_plain else _score
    best, least = None, None
    for daemon in servers:
        if not daemon.has_room():
            continue
        if (suspect is not None or daemon.alone is not None) and is_not_held(lane, daemon) is not None:
            continue
        if memory_mb and has_memory(lane, daemon) is not None:
            continue
        found = score(lane, daemon)
        if least is None or found < least:
            best, least = daemon, found
    return best


Score = tuple[int, ...]


def standing_of(daemon: "Daemon") -> Score:
    """Whoever asks: smaller is better; `used` makes it total. A pool keeps its daemons in this order."""
    return daemon.load_step, len(daemon.holding) + len(daemon.lingering), daemon.used


def _plain_score(lane: "Lane", daemon: "Daemon") -> Score:
    return standing_of(daemon)


def _score(lane: "Lane", daemon: "Daemon") -> Score:
    """The same for a task that would rather not go to some, or that fills a machine."""
    is_shunned = daemon.id in lane.special.shunned
    is_busy = lane.kind.needs.cpu_intensive and daemon.cpu_intensive > 0
    return is_shunned, is_busy, *standing_of(daemon)


def lacks_of(lane: "Lane", lines: "list[Line]", daemon: "Daemon") -> Iterator[Lack]:
    """Everything that speaks against this daemon now, for a lane that waits in these lines."""
    line = next((line for line in lines if is_yours(line, daemon) is None), lines[0])
    for fit in FITS:
        if (lack := fit(line, daemon)) is not None:
            yield lack
    for standing in STANDINGS:
        if (lack := standing(lane, daemon)) is not None:
            yield lack
