"""Claims: agents that have no socket and pull one task at a time.

A claiming agent is a daemon of its name, with one slot for each claim that is open. Here each such slot is a daemon of
its own, `NAME.0`, `NAME.1`, …: so every claim has a lease of its own, and one agent's silence is never covered by
another of the same name. A slot is taken by a claim, is there while that waits, and goes away with the task it was
given, which it then holds by its lease: what the agent says of it by its token renews it. When the task has ended, the
slot is free for the next claim.

Nobody tells events of these: an agent that asks every few seconds would fill everybody's log.
"""

from itertools import takewhile
from typing import Final

from taskyard.core.attempts import is_overdue, start
from taskyard.core.changes import DaemonRecord
from taskyard.core.counts import fleet_changed
from taskyard.core.daemon_commands import JoinDaemon
from taskyard.core.losses import hand_back
from taskyard.core.state import Daemon, State, Turn
from taskyard.core.suspects import reconsider
from taskyard.core.task import Attempt, Task

CLAIMS_MAX: Final = 1000
"""Open claims of one name. Each costs a daemon's record, until nothing was heard of it for long (`forgetting.py`)."""
TOO_MANY_CLAIMS: Final = "TOO_MANY_CLAIMS"
NOTED_MS: Final = 60_000
# As with heartbeats: often enough to charge by, seldom enough that they cost no commits.


def _slot(name: str, number: int) -> str:
    return f"{name}.{number}"


def free_slot(state: State, command: JoinDaemon) -> str | None:
    """The first slot of this name that no claim has; None if there are too many."""
    slots = (_slot(command.daemon_id, number) for number in range(CLAIMS_MAX))
    return next((slot for slot in slots if _is_theirs(state.daemons.get(slot), command.user_id)), None)


def _is_theirs(daemon: Daemon | None, user_id: str) -> bool:
    return daemon is None or (daemon.record.user_id == user_id and is_free(daemon))


def is_free(daemon: Daemon) -> bool:
    """A slot that no claim waits with and no agent works in."""
    return daemon.record.pulls and not daemon.session and not daemon.holding


def slot_of(state: State, name: str, session: int) -> Daemon | None:
    """The slot that the claim of this session has, while it waits."""
    slots = (state.daemons.get(_slot(name, number)) for number in range(CLAIMS_MAX))
    taken = takewhile(lambda daemon: daemon is not None, slots)
    return next((daemon for daemon in taken if daemon is not None and daemon.session == session), None)


def has_later_slot(state: State, daemon: Daemon) -> bool:
    """Whether another slot of its agent comes after this one. Slots are numbered without a gap (`slot_of`)."""
    name, _, number = daemon.id.rpartition(".")
    return daemon.record.pulls and _slot(name, int(number) + 1) in state.daemons


def came(turn: Turn, record: DaemonRecord) -> None:
    turn.state.ledger.daemons[record.id] = record


def go(turn: Turn, daemon: Daemon) -> None:
    """The claim was answered, or is over. What it was given and has not taken goes back; what it took, it holds."""
    daemon.session = 0
    daemon.record.last_seen_at = turn.now.wall
    for task in list(daemon.holding.values()):
        attempt = task.newest
        assert attempt is not None, "I2: a held task has an attempt"
        if not attempt.accepted:
            hand_back(turn, task, attempt)
    fleet_changed(turn.state, daemon)
    reconsider(turn, daemon)
    came(turn, daemon.record)


def heard(turn: Turn, task: Task, attempt: Attempt) -> bool:
    """Word of an attempt by its token. If it was claimed, that renews its lease; False: it is to stop.

    An agent that is told to stop by nothing else must learn it from this. Its slot is free when it hands in what it
    has, or when its lease ends.
    """
    daemon = turn.state.daemons[attempt.daemon_id]
    if not daemon.record.pulls:
        return True
    is_late = attempt.started_at is not None and is_overdue(turn, task, attempt)
    if task.cancel_requested_at is not None or is_late:
        return False
    # The one that gave it the task may have died before it could say that the task was taken.
    start(turn, task, attempt)
    daemon.seen_mono = daemon.heard_mono = turn.now.mono
    daemon.record.last_seen_at = turn.now.wall
    if daemon.heard_mono - daemon.noted_mono >= NOTED_MS:
        daemon.noted_mono = daemon.heard_mono
        came(turn, daemon.record)
    return True
