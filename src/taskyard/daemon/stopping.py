"""Who is told to stop, and how its stop will be told: the order for whoever runs it, and the ending for the hub."""

from collections.abc import Mapping

from taskyard.daemon.attempt import Attempt, Ending
from taskyard.daemon.departure import STOP_GRACE_MS
from taskyard.daemon.orders import Key, Stop
from taskyard.wire.frames import CancelTask


def cancel(attempt: Attempt, message: CancelTask) -> Stop:
    attempt.ending, attempt.cancel_reason = Ending.CANCELLED, message.reason
    return Stop(attempt.key, message.reason, int(message.grace_s * 1000))


def abort(attempt: Attempt) -> Stop:
    """The hub has given it up."""
    attempt.ending = Ending.ABORTED
    return Stop(attempt.key, Ending.ABORTED, STOP_GRACE_MS)


def abort_older(live: Mapping[Key, Attempt], key: Key) -> list[Stop]:
    """Earlier attempts at the same task: that there is a later one says that the hub has given them up."""
    task_id, number = key
    return [abort(held) for held in live.values() if held.key[0] == task_id and held.key[1] < number]


def end(attempt: Attempt, ending: Ending) -> list[Stop]:
    """For a reason of ours; what the hub asked for before stays the reason."""
    if attempt.ending is not None:
        return []
    attempt.ending = ending
    return [Stop(attempt.key, ending, STOP_GRACE_MS)]


def to_fence(live: Mapping[Key, Attempt], *, kills_on_loss: bool) -> list[Attempt]:
    """Work that must not outlive the lease: also what is stopping, whose grace may be longer than that."""
    return [held for held in live.values() if (held.exclusive or kills_on_loss) and not held.fenced]


def fence(attempt: Attempt, grace_ms: int) -> Stop:
    attempt.fenced = True
    attempt.ending = attempt.ending or Ending.FENCED
    return Stop(attempt.key, Ending.FENCED, grace_ms)
