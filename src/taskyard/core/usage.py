"""Agent time: how long a user's attempts have run in the current month, exactly, in milliseconds.

Every attempt that started is charged when it ends, however it ends, in the commit that ends it; a lost one up to its
daemon's last heartbeat. It is the monotonic clock that measures, so that a calendar that jumps charges nobody. What
waits is free, and so is a stall of the hub itself, which `daemons.allow_for_lag` takes out of every clock.

A month begins at the instant of the user's creation, on that day of each month or, where a month has none, on its last.
An attempt that spans the reset is split: only what ran since then counts in the new month. Past months are not kept.

An attempt that was called lost can turn out to be alive and go on (`inventory.py`); it then ends a second time. What it
was charged the first time is kept on it (`Attempt.charged_ms`), so that nothing is charged twice.
"""

from calendar import monthrange
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec.json import Decoder

from taskyard.core.changes import UsageRecord
from taskyard.core.effects import Refused
from taskyard.core.plans import HOUR_S, allowance_of
from taskyard.core.state import Daemon, Now, State, Turn, User
from taskyard.core.task import Attempt, Task
from taskyard.vocabulary import AttemptStatus, Keeps, Refusal

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
HOUR_MS: Final = HOUR_S * 1000
LOST, REJECTED = AttemptStatus.LOST, AttemptStatus.REJECTED
USAGE = Keeps.USAGE
# The two ends after which an attempt can go on (`daemons.ADOPTABLE`).
_record: Final = Decoder(UsageRecord)


def cycle_of(anchor_ms: int, now_ms: int) -> tuple[int, int]:
    """The month around an instant, from the user's own date: its beginning, and where the next one begins."""
    anchor, now = _date(anchor_ms), _date(now_ms)
    months = (now.year - anchor.year) * 12 + now.month - anchor.month
    if _months_after(anchor, months) > now:
        months -= 1
    return _ms(_months_after(anchor, months)), _ms(_months_after(anchor, months + 1))


def _months_after(anchor: datetime, months: int) -> datetime:
    """Counted from the anchor, not from the month before: 31 January, 28 February, 31 March."""
    year, month = divmod(anchor.year * 12 + anchor.month - 1 + months, 12)
    days = monthrange(year, month + 1)[1]
    return anchor.replace(year=year, month=month + 1, day=min(anchor.day, days))


def _date(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)


def _ms(date: datetime) -> int:
    return (date - EPOCH) // timedelta(milliseconds=1)


def usage_at(user: User, wall: int) -> UsageRecord:
    """What ended attempts have used in the month around this instant; a new month begins with nothing used."""
    usage = user.usage
    if usage is not None and usage.since <= wall < usage.until:
        return usage
    return UsageRecord(*cycle_of(user.record.created_at, wall))


def used_ms(state: State, user: User, now: Now) -> int:
    """Used this month, with what runs now."""
    usage = usage_at(user, now.wall)
    used = usage.used_ms
    for task in user.live.values():
        attempt = task.newest
        assert attempt is not None, "I2: a held task has an attempt"
        if attempt.started_at is not None:
            ran_ms = now.mono - state.begun[task.id] - attempt.charged_ms
            used += _within(usage, now.wall, ran_ms)
    return used


def _within(usage: UsageRecord, ended_at: int, ran_ms: int) -> int:
    """How much of a stretch that ended then lies in this month."""
    return max(min(ran_ms, ended_at - usage.since), 0)


def charge(turn: Turn, task: Task, attempt: Attempt, daemon: Daemon) -> None:
    """An attempt ended: its user has used what it ran."""
    if attempt.started_at is None:
        return
    now, begun = turn.now, turn.state.begun[task.id]
    ended = max(daemon.heard_mono, begun) if attempt.status is LOST else now.mono
    user = turn.state.users[task.user_id]
    usage = user.usage = usage_at(user, now.wall)
    usage.used_ms += _within(usage, now.wall - (now.mono - ended), ended - begun - attempt.charged_ms)
    turn.state.ledger.kept[USAGE, user.id] = usage
    if attempt.status in (LOST, REJECTED):
        attempt.charged_ms = max(ended - begun, attempt.charged_ms)
        # It counted up to this instant while it was thought to run: there may be time left after all.
        turn.state.yard.wake(("hours", user.id))


def objection(turn: Turn, user: User) -> Refused | None:
    """A user whose month is used up submits nothing new until the next one."""
    limit = allowance_of(turn.state, user).hours_ms
    if limit is None or used_ms(turn.state, user, turn.now) < limit:
        return None
    resets = _date(usage_at(user, turn.now.wall).until)
    return Refused(
        Refusal.MONTHLY_LIMIT_REACHED,
        f"This month's agent hours ({limit / HOUR_MS:g}) are used up; the next month begins on"
        f" {resets:%Y-%m-%d} at {resets:%H:%M} UTC.",
    )


def remember(state: State, name: str, record: bytes) -> None:
    """What was kept of a user's month."""
    state.users[name].usage = _record.decode(record)
