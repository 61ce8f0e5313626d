"""The same question the other way round: why a daemon with room gets nothing, and what holds most of a user's tasks.

Both look at lanes, not at tasks, and at a bounded number of them.
"""

from collections import Counter
from collections.abc import Iterable
from heapq import nlargest
from itertools import islice
from typing import Final

from msgspec import Struct

from taskyard.core.considered import judged
from taskyard.core.holds import holds_of, lines_of
from taskyard.core.lanes import Lane
from taskyard.core.limits import Hold
from taskyard.core.sentences import clock, counted
from taskyard.core.state import Daemon, Turn, User
from taskyard.core.why import ABOUT_DAEMONS, Cause, causes_of_lane
from taskyard.vocabulary import RANK, Level, Profile
from taskyard.vocabulary.reasons import Reason

LANES_MAX: Final = 64
# Lanes asked one by one what holds them, the longest first.
USERS_MAX: Final = 1000
GROUPS_MAX: Final = 5
ASKED_MAX: Final = 16
# Things that hold lanes, put into words: where the fleet is large, each may look at all of it.


class Group(Struct, frozen=True):
    """Tasks that the same thing holds back."""

    cause: Cause
    tasks: int
    example: str
    """The ref of the first of them."""


class Share(Struct):
    """A user's tasks of one queue and level."""

    queue: str
    level: Level
    running: int = 0
    waiting: int = 0


class Overview(Struct, frozen=True):
    profile: Profile
    running: int
    waiting: int
    """Ready, and not started."""
    shares: tuple[Share, ...]
    held: tuple[Group, ...]
    """What holds the most tasks first."""


# A daemon.


def why_idle(turn: Turn, daemon: Daemon, viewer: str | None) -> str | None:
    """Why it is given nothing more, from what the viewer may see (None: everything); None if it is full."""
    record = daemon.record
    if record.pulls and daemon.holding:
        # Its claim has been answered: it works, and is not connected meanwhile.
        return None
    if not daemon.session:
        return f"It is offline since {clock(record.last_seen_at or record.connected_at, turn.now.wall)}."
    if record.draining:
        return "It is draining: it finishes what it has and takes nothing new."
    if not daemon.has_room():
        return None
    if daemon.alone is not None:
        return "It is kept for a task that must run alone."
    lanes = nlargest(LANES_MAX, _lanes_seen(turn, daemon, viewer), key=lambda lane: lane.size)
    if not lanes:
        return "Nothing waits." if viewer is None or not record.shared else "Nothing of yours waits."
    return _because(turn, daemon, lanes, is_own=viewer is not None)


def _lanes_seen(turn: Turn, daemon: Daemon, viewer: str | None) -> Iterable[Lane]:
    """Of its owner, if it serves nobody else; else of whoever asks; else of all."""
    state, record = turn.state, daemon.record
    whose = viewer if record.shared else record.user_id
    users = islice(state.users.values(), USERS_MAX) if whose is None else [state.users[whose]]
    return (lane for user in users for lane in user.lanes.values())


def _because(turn: Turn, daemon: Daemon, lanes: list[Lane], *, is_own: bool) -> str:
    """What it could run says what holds it; else what it cannot run says why not."""
    unfit: Counter[str] = Counter()
    fit: list[Lane] = []
    for lane in lanes:
        one = judged(turn, lane, lines_of(turn, lane), daemon)
        if one.eligible:
            fit.append(lane)
        else:
            unfit[", ".join(said.message for said in one.lacks)] += lane.size
    if fit:
        group = _groups(turn, fit)[0]
        # Of others' work only what holds it is named: its sentence speaks to its owner.
        because = group.cause.message if is_own else f"Held by: {group.cause.code.lower().replace('_', ' ')}."
        return f"{_tasks_wait(group.tasks)} that it could run. {because}"
    (message, number), *others = unfit.most_common()
    more = f" ({number}), and {counted(len(others), 'other reason')}" if others else ""
    return f"{_tasks_wait(unfit.total())} that it cannot run: {message}{more}."


def _tasks_wait(number: int) -> str:
    return f"{counted(number, 'task')} {'waits' if number == 1 else 'wait'}"


# A user.


def overview(turn: Turn, user: User) -> Overview:
    """How many of a user's tasks run and wait, where, and what holds most of them."""
    shares: dict[tuple[str, Level], Share] = {}
    for task in user.live.values():
        _share(shares, task.kind.queue, task.level).running += 1
    for lane in user.lanes.values():
        _share(shares, lane.kind.queue, lane.level).waiting += lane.size
    lanes = nlargest(LANES_MAX, user.lanes.values(), key=lambda lane: lane.size)
    return Overview(
        turn.state.settings.profile,
        sum(share.running for share in shares.values()),
        sum(share.waiting for share in shares.values()),
        tuple(sorted(shares.values(), key=lambda share: (share.queue, RANK[share.level]))),
        tuple(_groups(turn, lanes)[:GROUPS_MAX]),
    )


def _share(shares: dict[tuple[str, Level], Share], queue: str, level: Level) -> Share:
    return shares.setdefault((queue, level), Share(queue, level))


def _groups(turn: Turn, lanes: list[Lane]) -> list[Group]:
    """By what holds them first of all, as far as that is told in other words: what is told alike is helped alike."""
    alike: dict[tuple[object, ...], list[Lane]] = {}
    for lane in lanes:
        holds = holds_of(turn, lane, lines_of(turn, lane))
        alike.setdefault(_about(lane, holds[0].hold) if holds else (), []).append(lane)
    found: dict[tuple[Reason, str], Group] = {}
    for held in nlargest(ASKED_MAX, alike.values(), key=_tasks_in):
        cause, tasks, example = causes_of_lane(turn, held[0])[0], _tasks_in(held), held[0].heads()[0].ref
        first = found.get((cause.code, cause.message)) or Group(cause, 0, example)
        found[cause.code, cause.message] = Group(first.cause, first.tasks + tasks, first.example)
    return sorted(found.values(), key=lambda group: -group.tasks)


def _about(lane: Lane, hold: Hold) -> tuple[object, ...]:
    """What a hold is about; one about daemons also about what the lane asks of them."""
    return hold.reason, hold.blocker, hold.name, lane.kind.needs if hold.reason in ABOUT_DAEMONS else None


def _tasks_in(lanes: list[Lane]) -> int:
    return sum(lane.size for lane in lanes)
