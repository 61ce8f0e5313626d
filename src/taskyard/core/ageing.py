"""Low tasks that have waited very long: they are ordered as normal from then on, and still count as low.

Ageing within a level needs no clock: `lanes.py` sees it when it looks. Only this step crosses levels, so it has a
timer: one per user, for the oldest of that user's low tasks.
"""

from typing import Final

from taskyard.core.lanes import Lane
from taskyard.core.state import Turn, User
from taskyard.core.task import Task, Trouble, ms_of
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import Level, Status

LOW: Final = Level.LOW
TASKS_PER_TURN_MAX: Final = 1000
# About as many rows as a commit should have; the rest follow at once.


def watch_age(turn: Turn, task: Task) -> None:
    """A low task became ready: the oldest of its user's has a timer."""
    if task.level is not LOW:
        return
    due = _aged_at(turn, task.queued_at or turn.now.wall)
    planned = turn.state.timers.due_at(Clock.WALL, Due.AGEING, task.user_id)
    if planned is None or due < planned:
        turn.state.timers.set(Clock.WALL, Due.AGEING, task.user_id, due)


def watch_all(turn: Turn) -> None:
    """The time to wait has changed: everybody's timer is set anew."""
    for user_id in turn.state.users:
        _watch_oldest(turn, user_id, _waiting(turn.state.users[user_id]))


def forget_age(task: Task) -> None:
    """It was taken up: if it comes back, it waits anew."""
    if task.trouble is not None:
        task.trouble.aged = False


def grow_old(turn: Turn, user_id: str) -> None:
    """The timer of `watch_age`: who has waited long enough changes lanes, and the next one is watched."""
    user, left = turn.state.users[user_id], TASKS_PER_TURN_MAX
    waiting = _waiting(user)
    for lane in waiting:
        left = _promote(turn, user, lane, left)
    _watch_oldest(turn, user_id, waiting)


def _waiting(user: User) -> list[Lane]:
    return [lane for lane in user.lanes.values() if lane.level is LOW and not lane.special.aged]


def _watch_oldest(turn: Turn, user_id: str, waiting: list[Lane]) -> None:
    oldest = [lane.longest().queued_at or 0 for lane in waiting if lane.size]
    if oldest:
        turn.state.timers.set(Clock.WALL, Due.AGEING, user_id, _aged_at(turn, min(oldest)))


def _promote(turn: Turn, user: User, lane: Lane, left: int) -> int:
    """Move up to so many of a lane's tasks; how many may still be moved."""
    before = turn.now.wall - ms_of(turn.state.settings.ageing.low_s)
    old = lane.since(before, left)
    for task in old:
        turn.state.ledger.touch(task)
        turn.state.yard.leave(user, task)
        trouble = task.trouble = task.trouble or Trouble()
        trouble.aged = True
        assert task.status is Status.QUEUED, "I5: only ready tasks are in lanes"
        turn.state.yard.enter(user, task)
    return left - len(old)


def _aged_at(turn: Turn, queued_at: int) -> int:
    return queued_at + ms_of(turn.state.settings.ageing.low_s)
