"""The daemons that could be meant for a task: the user's own and the shared ones, each with all that speaks against it.

What speaks against a daemon is `placement.lacks_of`; this file only says it. Where one thing alone is missing, that
is worth telling: "mac-2 would qualify if it had browser".
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from taskyard.core.holds import BUSY
from taskyard.core.lanes import Lane
from taskyard.core.lines import Line
from taskyard.core.placement import lacks_of
from taskyard.core.sentences import SHORTFALLS, clock, counted, filled, listed
from taskyard.core.state import Daemon, Turn
from taskyard.vocabulary.reasons import Lack

DAEMONS_MAX: Final = 100
# Daemons told of one by one, those that lack least first.
LOOKS_MAX: Final = 1000
QUALIFY_MAX: Final = 2


class Said(Struct, frozen=True):
    code: Lack
    message: str


class Considered(Struct, frozen=True):
    """A daemon, and what it lacks; nothing: it could start the task now."""

    id: str
    name: str
    lacks: tuple[Said, ...]
    would: tuple[str, ...]
    """Per lack, what would have to be so."""

    @property
    def eligible(self) -> bool:
        return not self.lacks


def considered(turn: Turn, lane: Lane, lines: list[Line]) -> list[Considered]:
    """Those that lack least first."""
    daemons = [daemon for line in lines for daemon in line.pool.daemons.values()][:LOOKS_MAX]
    found = [judged(turn, lane, lines, daemon) for daemon in daemons]
    return sorted(found, key=lambda one: (len(one.lacks), one.name, one.id))


def judged(turn: Turn, lane: Lane, lines: list[Line], daemon: Daemon) -> Considered:
    lacks = list(lacks_of(lane, lines, daemon))
    blanks = _blanks(turn, lane, daemon) if lacks else {}
    return Considered(
        daemon.id,
        daemon.record.name,
        tuple(Said(lack, filled(SHORTFALLS[lack].says, blanks)) for lack in lacks),
        tuple(filled(SHORTFALLS[lack].would, blanks) for lack in lacks),
    )


def _blanks(turn: Turn, lane: Lane, daemon: Daemon) -> dict[str, object]:
    needs, record, now = lane.kind.needs, daemon.record, turn.now.wall
    is_suspect = lane.special.suspect is not None and daemon.alone != lane.special.suspect
    return {
        "since": clock(record.last_seen_at or record.connected_at, now),
        "active": daemon.occupied,
        "slots": record.slots,
        "missing": listed([name for name in needs.capabilities if name not in record.capabilities] or ["-"]),
        "until": clock(_avoided_until(turn, lane, daemon), now),
        "target": needs.target,
        "free_mb": daemon.memory_free_mb,
        "needed_mb": needs.memory_mb,
        "model": needs.model,
        "type": needs.type,
        "held": "busy, and the task must run alone" if is_suspect and daemon.alone is None else "kept for another task",
    }


def _avoided_until(turn: Turn, lane: Lane, daemon: Daemon) -> int:
    """A lane that avoids a daemon holds few tasks: those to which the same happened."""
    task = lane.heads()[0] if daemon.id in lane.special.avoided else None
    avoided = () if task is None or task.trouble is None else task.trouble.avoid
    return next((each.until for each in avoided if each.daemon_id == daemon.id), turn.now.wall)


# In one sentence.


def qualifying(daemons: Iterable[Considered]) -> str:
    """Which would do if one thing were different; empty: none is that near. That one is busy passes by itself."""
    near = []
    for one in daemons:
        missing = [would for said, would in zip(one.lacks, one.would, strict=True) if said.code not in BUSY]
        if len(missing) == 1:
            near.append(f"{one.name} would qualify if {missing[0]}")
    return "; ".join(near[:QUALIFY_MAX])


def wanted(lane: Lane) -> str:
    """What a daemon would have to be."""
    needs = lane.kind.needs
    parts = [f"has {listed(needs.capabilities)}"] if needs.capabilities else []
    parts += [f"has {needs.memory_mb} MB of memory free"] if needs.memory_mb else []
    parts += [f"serves {needs.model}"] if needs.model is not None else []
    return f"a daemon that {listed([*parts, f'runs tasks of type {needs.type}'])}"


def misfits(lane: Lane, daemons: list[Considered], fleet: Iterable[Daemon]) -> str:
    """Why none of these could ever run it."""
    offered = {name for daemon in fleet for name in daemon.record.capabilities}
    unseen = [name for name in lane.kind.needs.capabilities if name not in offered]
    if unseen:
        is_unserved = all(any(said.code is Lack.MODEL_NOT_SERVED for said in one.lacks) for one in daemons)
        model = f", and none serves {lane.kind.needs.model}" if is_unserved else ""
        return f"none of the daemons you may use has ever offered {listed(unseen)}{model}"
    each = [f"{one.name} ({', '.join(said.message for said in one.lacks)})" for one in daemons]
    return f"none of the daemons you may use fits: {listed(each)}"


def servers(daemons: list[Considered], lines: list[Line]) -> str:
    """Who could run it, and why not now."""
    ids = {daemon.id for line in lines for daemon in line.servers}
    able = [one for one in daemons if one.id in ids and one.lacks]
    if len(able) == 1:
        return f"the only daemon that could run it is {able[0].name} ({able[0].lacks[0].message})"
    states = Counter(one.lacks[0].code for one in able)
    parts = [f"{number} {_STATES.get(code, 'not ready')}" for code, number in states.items()]
    return f"{counted(len(able), 'daemon')} could run it, but none now: {listed(parts)}"


_STATES: Final = {
    Lack.DAEMON_OFFLINE: "offline",
    Lack.DAEMON_DRAINING: "draining",
    Lack.DAEMON_FULL: "full",
    Lack.DAEMON_HELD: "kept for another task",
    Lack.MEMORY_SHORT: "short of memory",
}
