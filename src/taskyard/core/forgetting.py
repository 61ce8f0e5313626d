"""When a daemon is forgotten: its record goes, and with it all that is known of it.

A person asks for it, or nothing was heard of the daemon for as long as the settings say, or it announced itself as
ephemeral and is gone. A daemon that is connected, holds or may hold work, is kept free for a suspect or is named by an
open task is never forgotten.

A daemon that comes back by its id is a new one. A result that it still owes is taken if its attempt is the newest and
the task is open, and kept as late otherwise, as with any daemon.
"""

from typing import Final

from taskyard.core import claims
from taskyard.core.daemon_commands import ForgetDaemon, ForgetUnseen
from taskyard.core.effects import Done, Refused, Reply
from taskyard.core.state import Daemon, State, Turn
from taskyard.core.targets import tasks_naming
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import EventName, Refusal

NO_DAEMON: Final = Refused(Refusal.DAEMON_NOT_FOUND, "There is no such daemon.")
# Records that one round of housekeeping deletes, in one commit; the next round goes on.
FORGOTTEN_MAX: Final = 500


def forget(turn: Turn, command: ForgetDaemon) -> None:
    """Forget a daemon because a person asked for it."""
    daemon = turn.state.daemons.get(command.daemon_id)
    if daemon is None or command.user_id not in (None, daemon.record.user_id):
        turn.effects.append(Reply(command.reply_to, NO_DAEMON))
        return
    reason = in_use_because(turn.state, daemon)
    if reason is not None:
        turn.effects.append(Reply(command.reply_to, Refused(Refusal.DAEMON_IN_USE, reason)))
        return
    turn.audit(actor=command.actor, action="daemon.forget", subject=daemon.id, old=daemon.record.name)
    _drop(turn, daemon, because="asked")
    turn.effects.append(Reply(command.reply_to, Done()))


def forget_unseen(turn: Turn, command: ForgetUnseen) -> None:
    """Forget daemons that were not heard of since then, and ephemeral ones that were kept when they left."""
    left = FORGOTTEN_MAX
    # The newest first: of an agent that claims, the last slot goes before the one below it.
    for daemon in reversed(list(turn.state.daemons.values())):
        record = daemon.record
        is_old = max(record.last_seen_at, record.connected_at) < command.seen_before
        if left and (is_old or record.ephemeral) and _is_away(turn.state, daemon):
            left -= 1
            _drop(turn, daemon, because="unseen" if is_old else "ephemeral")
    turn.effects.append(Reply(command.reply_to, Done()))


def has_gone(turn: Turn, daemon: Daemon) -> None:
    """Forget an ephemeral daemon that left in good order, or whose lease ended."""
    if daemon.record.ephemeral and in_use_because(turn.state, daemon) is None:
        _drop(turn, daemon, because="ephemeral")


def in_use_because(state: State, daemon: Daemon) -> str | None:
    """Reason why a daemon cannot be forgotten now, in sentences that say what to do; None if it can."""
    name, held = daemon.record.name, len(daemon.holding)
    if daemon.session:
        return f"{name} is connected. Stop it first; `taskyard drain` lets it finish what it runs."
    if held or daemon.lingering:
        what = f"holds {held} {'task' if held == 1 else 'tasks'}" if held else "may still run what was taken from it"
        return f"{name} is away and {what}, until it comes back or its lease ends. Try again then."
    if daemon.alone is not None:
        return f"{name} is kept free for a task that has to run alone. Try again when that has ended."
    if claims.has_later_slot(state, daemon):
        return f"Agents of the name {name} claim tasks by more slots than this. Try again when they have left."
    named = len(tasks_naming(state, daemon))
    if named:
        those = "1 open task names it" if named == 1 else f"{named} open tasks name it"
        return f"{those} as the target: {name}. Cancel what is not to wait for it, then try again."
    return None


def _is_away(state: State, daemon: Daemon) -> bool:
    """Whether its lease is over and it may be forgotten. A restart of the hub gives each daemon a full lease."""
    is_leased = state.timers.is_set(Clock.MONO, Due.LEASE, daemon.id)
    return not is_leased and in_use_because(state, daemon) is None


def _drop(turn: Turn, daemon: Daemon, *, because: str) -> None:
    state = turn.state
    if not daemon.record.pulls:
        turn.tell_of_daemon(EventName.DAEMON_FORGOTTEN, daemon, because=because)
    state.ledger.daemons[daemon.id] = None
    state.timers.cancel(Clock.MONO, Due.LEASE, daemon.id)
    state.yard.forget(daemon, state.users.values())
    del state.daemons[daemon.id]
