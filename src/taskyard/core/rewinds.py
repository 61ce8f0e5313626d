"""What is judged, and written down, of commits that this log lacks: they were seen before it was put back or promoted.

Whether a position belongs to the log is decided in `eras.py`; a look-up has asked the store which batch lies there.
"""

from typing import Final

from taskyard.core.daemon_commands import JoinDaemon, Seen
from taskyard.core.effects import Done, Reply
from taskyard.core.eras import Lack, lost_with_era, objection_of
from taskyard.core.state import State, Turn
from taskyard.core.yard_commands import NoteRewind
from taskyard.vocabulary import EventName

LISTED_MAX: Final = 50
"""Attempts of one daemon that the audit names; the others are counted."""


def end_of(state: State) -> Seen:
    """Where this log ends, the commit being gathered left out."""
    takeover = state.takeovers[-1].id if state.takeovers else ""
    return Seen(state.cluster_id, state.epoch, state.ledger.seq - 1, takeover)


def lack_seen_by(state: State, command: JoinDaemon) -> Lack | None:
    """What this log lacks of what the daemon has seen, if that stands in its way."""
    seen = command.seen
    if seen is None:
        return None
    return objection_of(end_of(state), state.takeovers, seen, held=command.known.batches.get(seen.seq))


def audit_lost(turn: Turn, command: JoinDaemon) -> None:
    """Write down what a daemon brings back of the time that a new era gave up.

    Only sealed positions count: inventing others must not fill the audit.
    """
    state, seen = turn.state, command.seen
    if seen is None:
        return
    lack = lost_with_era(end_of(state), state.takeovers, seen, held=command.known.batches.get(seen.seq))
    if lack is None:
        return
    held = command.inventory
    listed = [f"{each.task_id} attempt {each.attempt} {each.state}" for each in held[:LISTED_MAX]]
    if len(held) > LISTED_MAX:
        listed.append(f"and {len(held) - LISTED_MAX} more")
    turn.audit(
        actor=command.daemon_id,
        action="rewind.daemon",
        subject=command.daemon_id,
        old=f"saw commit {seen.seq} of epoch {seen.epoch}",
        new="; ".join(listed) or "lists nothing",
    )


def note(turn: Turn, command: NoteRewind) -> None:
    """A new era began: write down which commits were given up, and who saw them."""
    state = turn.state
    end = end_of(state)
    for lost in command.lost:
        turn.audit(actor="hub", action="rewind.accepted", subject=state.cluster_id, old=lost, new=f"epoch {end.epoch}")
    turn.announce(EventName.HUB_REWIND_ACCEPTED, None, {"lost": list(command.lost), "epoch": end.epoch})
    turn.effects.append(Reply(command.reply_to, Done()))
