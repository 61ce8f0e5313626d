"""Why a task is not running: everything that holds it, in words, with what would change it and when.

The rules are those that dispatch asks (`holds.py`), the words those of one table (`sentences.py`), the numbers those
of this moment. A rule that is added to its tuple shows up here by itself. Nothing here changes anything, and the cost
does not grow with the number of tasks that wait.

A change is promised to start the task ("it would start now with …") only where exactly one thing is in the way and
nobody else waits for the same.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from taskyard.core.attempts import time_allowed_ms
from taskyard.core.cancel import objection_to
from taskyard.core.chains import Names, failed_roots, named, ref_in, rescue, unnamed
from taskyard.core.considered import DAEMONS_MAX, Considered, considered, misfits, qualifying, servers, wanted
from taskyard.core.estimates import remaining_ms
from taskyard.core.forecast import ahead_of, holders_of, starts_at
from taskyard.core.holds import Held, holds_of, lines_of
from taskyard.core.lanes import Lane, key_of
from taskyard.core.limits import Hold, ages_of
from taskyard.core.lines import Line
from taskyard.core.placement import SHARED
from taskyard.core.preemption import victim_of
from taskyard.core.priority import lower_of
from taskyard.core.revival import objection_to_change, objection_to_retry
from taskyard.core.sentences import SENTENCES, a_next, alone, clock, counted, filled, in_units, inside, listed, span
from taskyard.core.state import Turn
from taskyard.core.story import last_failure, story_of
from taskyard.core.task import Attempt, Task, ms_of
from taskyard.vocabulary import HELD, AttemptStatus, Level, Status
from taskyard.vocabulary.reasons import Reason

ABOUT_DAEMONS: Final = (Reason.NO_ELIGIBLE_DAEMON, Reason.NO_FREE_SLOT)
"""What is said of these depends on what a task asks of a daemon."""
UNSTARTED: Final = (Status.PENDING, Status.BLOCKED, Status.QUEUED)
"""What waits for something else than for tasks that go on by themselves."""
ENDS: Final = (("skipping", Status.SKIPPED), ("cancelling", Status.CANCELLED))
"""What a person may do to a task that is not to run."""

SILENT_BEATS: Final = 2
# A daemon that is connected may miss one heartbeat without a word about it.


class Cause(Struct, frozen=True):
    code: Reason
    message: str
    used: float | int | None = None
    limit: float | int | None = None
    until: int | None = None
    would_help: str | None = None


class Why(Struct, frozen=True):
    """The answer."""

    task: str
    status: Status
    summary: str
    position: int | None = None
    estimated_start: int | None = None
    reasons: tuple[Cause, ...] = ()
    daemons: tuple[Considered, ...] = ()
    unnamed: tuple[str, ...] = ()
    """Ids that stand in it because their refs were not given."""


Blanks = dict[str, object]


def why(turn: Turn, task: Task, names: Names | None = None) -> Why:
    """What is held no more has a ref only if `names` says it: ask again with those of `unnamed`."""
    known = names or {}
    if task.status in _ON_STATUS:
        found = _ON_STATUS[task.status](turn, task, known)
        return replace(found, unnamed=unnamed(turn, task, known)) if task.depends else found
    return Why(task.ref, task.status, story_of(task, turn.now.wall))


def cause_of(turn: Turn, hold: Hold, more: Blanks, *, is_sure: bool = False) -> Cause:
    """A hold in words; `more` fills what its numbers do not."""
    sentence, now = SENTENCES[hold.reason], turn.now.wall
    used, limit = in_units(hold.used, sentence.unit), in_units(hold.limit, sentence.unit)
    blanks: Blanks = {
        "used": used,
        "limit": limit,
        "name": hold.name,
        "a_next": a_next(hold.used or 0),
        "until": "" if hold.until is None else clock(hold.until, now),
        "plan": "" if hold.name is None else f" of plan {hold.name}",
        **more,
    }
    helps = filled(sentence.helps, blanks)
    says = sentence.uncounted if sentence.uncounted and hold.used is None else sentence.says
    return Cause(
        hold.reason,
        alone(filled(says, blanks)),
        used,
        limit,
        hold.until,
        (f"It would start now with {helps}" if is_sure else helps) or None,
    )


def _told(turn: Turn, task: Task, causes: list[Cause], *, at: int | None = None) -> Why:
    return Why(task.ref, task.status, summary_of(causes), None, at, tuple(causes))


def summary_of(causes: list[Cause]) -> str:
    """The first in one sentence; that there are others."""
    first, others = causes[0], len(causes) - 1
    lead, message = SENTENCES[first.code].lead, first.message
    more = f"; {counted(others, 'more thing')} {'holds' if others == 1 else 'hold'} it" if others else ""
    return f"{lead}: {inside(message)}{more}."


# Before it is ready.


def _pending(turn: Turn, task: Task, names: Names) -> Why:
    hold = Hold(Reason.NOT_BEFORE, (), until=task.not_before)
    first = cause_of(turn, hold, {"before": last_failure(task), "sooner": _sooner(task)})
    causes = [first, *_held_then(turn, task)]
    is_sure = all(SENTENCES[cause.code].passes for cause in causes)
    at = max((cause.until for cause in causes if cause.until is not None), default=None)
    return _told(turn, task, causes, at=at if is_sure else None)


def _sooner(task: Task) -> str:
    """What lets it begin before its time. What a provider refused has no such thing: its queue rests as long."""
    attempt = task.newest
    if attempt is None:
        return "an earlier `scheduled_for`" if objection_to_change(task) is None else ""
    if attempt.status is AttemptStatus.RATE_LIMITED or objection_to_retry(task) is not None:
        return ""
    return f"trying it at once (`taskyard retry {task.ref}`)"


def _held_then(turn: Turn, task: Task) -> list[Cause]:
    """What would hold it when its time comes: what no waiting changes, and what lasts longer."""
    lane = Lane(turn.state.users[task.user_id], key_of(task), 0)
    lines = lines_of(turn, lane)
    lasting = [held for held in holds_of(turn, lane, lines) if _lasts(held.hold, task.not_before or 0)]
    scene = Scene(turn, lane, task, lines, considered(turn, lane, lines))
    return [cause_of(turn, held.hold, scene.blanks(held)) for held in lasting]


def _lasts(hold: Hold, until: int) -> bool:
    return not SENTENCES[hold.reason].passes or (hold.until is not None and hold.until > until)


def _waiting(turn: Turn, task: Task, names: Names) -> Why:
    depends = task.depends or []
    unfinished = [each.id for each in depends if each.outcome is None]
    known = [turn.state.tasks[task_id] for task_id in unfinished if task_id in turn.state.tasks]
    hold = Hold(Reason.DEPENDENCY_UNFINISHED, (), len(depends) - len(unfinished), len(depends))
    tasks = listed([_with_status(turn, task_id, names) for task_id in unfinished])
    cause = cause_of(turn, hold, {"tasks": tasks, "finish": _what_they_wait_for(turn, unfinished, known, names)})
    is_sure = len(known) == len(unfinished) and all(each.status in HELD for each in known)
    at = turn.now.wall + max(remaining_ms(turn, each) for each in known) if is_sure else None
    return _told(turn, task, [cause], at=at)


def _what_they_wait_for(turn: Turn, ids: list[str], known: list[Task], names: Names) -> str:
    """Of those that run, when they end; of the first that does not run, why."""
    for each in known:
        if each.status in UNSTARTED:
            cause = why(turn, each, names).reasons[0]
            return f"{each.ref} finishing, which does not run yet: {inside(cause.message)}"
    ends = [f"{each.ref} finishing ({_ending(turn, each)})" for each in known if each.status in HELD]
    return listed(ends) if ends else f"{listed([ref_in(turn, each, names) for each in ids])} completing"


def _ending(turn: Turn, task: Task) -> str:
    attempt = task.newest
    assert attempt is not None, "I2: a held task has an attempt"
    return _silence(turn, attempt) or f"about {span(remaining_ms(turn, task))}"


def _blocked(turn: Turn, task: Task, names: Names) -> Why:
    roots = failed_roots(turn.state, task)
    hold = Hold(Reason.DEPENDENCY_FAILED, (), len(roots), len(task.depends or ()))
    own = " or ".join(word for word, goal in ENDS if objection_to(task, goal) is None)
    ways = [rescue(turn, roots, names), f"{own} this task" if own else ""]
    blanks: Blanks = {"tasks": named(turn, roots, names), "ways": "; or ".join(way for way in ways if way)}
    return _told(turn, task, [cause_of(turn, hold, blanks)])


def _with_status(turn: Turn, task_id: str, names: Names) -> str:
    task = turn.state.tasks.get(task_id)
    return ref_in(turn, task_id, names) + ("" if task is None else f" ({task.status})")


# Ready.


def _queued(turn: Turn, task: Task, names: Names) -> Why:
    lane = turn.state.users[task.user_id].lanes[key_of(task)]
    lines = lines_of(turn, lane)
    holds, ahead = holds_of(turn, lane, lines), ahead_of(turn, lane, task)
    scene = Scene(turn, lane, task, lines, considered(turn, lane, lines))
    causes = [*_preempting(turn, task), *scene.causes(holds)]
    alike = lane.before(task, ages_of(turn)[lane.rank])
    if not causes:
        causes.append(_behind(scene, ahead.tasks, is_alone=True))
    elif alike:
        # Whatever lifts the other reasons lets these start.
        causes.append(_behind(scene, alike, is_alone=False))
    return Why(
        task.ref,
        task.status,
        summary_of(causes),
        ahead.tasks + 1,
        starts_at(turn, lane, holds, ahead),
        tuple(causes),
        tuple(scene.daemons[:DAEMONS_MAX]),
    )


def _preempting(turn: Turn, task: Task) -> list[Cause]:
    victim = victim_of(turn.state, task)
    return [] if victim is None else [cause_of(turn, Hold(Reason.PREEMPTING, (), name=victim.ref), {})]


def _behind(scene: "Scene", ahead: int, *, is_alone: bool) -> Cause:
    held = Held(Hold(Reason.BEHIND_OTHERS, (), ahead))
    goes = "one of your tasks of its queue goes" if ahead == 1 else f"{ahead or 'none'} of your tasks of its queue go"
    more: Blanks = {"ahead": goes, "alone": "nothing else holds it, and " if is_alone else ""}
    return cause_of(scene.turn, held.hold, {**scene.blanks(held), **more})


def causes_of_lane(turn: Turn, lane: Lane) -> list[Cause]:
    """What holds the head of a lane; never nothing."""
    task, lines = lane.head(ages_of(turn)[lane.rank]), lines_of(turn, lane)
    scene = Scene(turn, lane, task, lines, considered(turn, lane, lines))
    return scene.causes(holds_of(turn, lane, lines)) or [
        _behind(scene, ahead_of(turn, lane, task).tasks, is_alone=True)
    ]


class Scene(Struct, frozen=True):
    """A ready task with what is around it: all that a sentence may need besides a hold's own numbers."""

    turn: Turn
    lane: Lane
    task: Task
    lines: list[Line]
    daemons: list[Considered]

    def causes(self, holds: list[Held]) -> list[Cause]:
        turn = self.turn
        is_sure = len(holds) == 1 and _waits_by_itself(turn, self.lane, self.task, holds[0])
        return [cause_of(turn, held.hold, self.blanks(held), is_sure=is_sure) for held in holds]

    def blanks(self, held: Held) -> Blanks:
        own = [each for each in holders_of(self.turn, self.lane, held) if each.user_id == self.lane.user.id]
        finish = self._finish(own)
        blanks: Blanks = {
            "finish": finish or "what is in the way ending",
            "or_finish": f", or {finish}" if finish else "",
            "where": self._where(held.line),
            "tasks": listed([each.ref for each in own]) if own else "another task",
            "higher": "a higher priority" if self._may_rise else "",
            "or_higher": "a higher priority, or " if self._may_rise else "",
            "or_critical": "priority `critical`, "
            if lower_of(Level.CRITICAL, self.task.ceiling) is Level.CRITICAL
            else "",
        }
        if held.hold.reason in ABOUT_DAEMONS:
            blanks |= self._of_daemons(finish)
        if held.hold.reason is Reason.WAITS_ALONE:
            blanks["used"] = 0 if self.task.trouble is None else self.task.trouble.deaths
        return blanks

    @property
    def _may_rise(self) -> bool:
        """Whether a person can give it a higher level than it has."""
        return lower_of(Level.CRITICAL, self.task.ceiling) is not self.task.level

    def _finish(self, own: list[Task]) -> str:
        """Which of one's own ends next. Of others' tasks nothing is told."""
        if not own:
            return ""
        first = min(own, key=lambda each: (remaining_ms(self.turn, each), each.ref))
        return f"{first.ref} finishing ({_ending(self.turn, first)})"

    def _where(self, line: Line | None) -> str:
        if line is None or len(self.lines) == 1:
            return ""
        return " among the shared daemons" if line.pool.id == SHARED else " among your own daemons"

    def _of_daemons(self, finish: str) -> Blanks:
        near = qualifying(self.daemons)
        fleet = [daemon for line in self.lines for daemon in line.pool.daemons.values()]
        is_served = any(line.servers for line in self.lines)
        return {
            "misfits": "" if is_served else misfits(self.lane, self.daemons, fleet),
            "servers": servers(self.daemons, self.lines) if is_served else "",
            "qualify": near or wanted(self.lane),
            "rescue": "; ".join(part for part in (finish, near) if part) or "a daemon with a free slot",
        }


def _waits_by_itself(turn: Turn, lane: Lane, task: Task, held: Held) -> bool:
    """Whether what would lift this hold is sure to let this very task start: nobody else waits for the same."""
    if not SENTENCES[held.hold.reason].is_cure or lane.head(ages_of(turn)[lane.rank]) is not task:
        return False
    yard = turn.state.yard
    if held.line is None:
        return all(other is lane for other in yard.sleepers(held.hold.blocker))
    queue = held.line.queue
    alike = [line for line in yard.lines.values() if line.queue == queue and line.is_waiting()]
    return all(_is_only(line, lane) for line in alike)


def _is_only(line: Line, lane: Lane) -> bool:
    parties = [party for ordered in line.parties for party in list(ordered)[:2]]
    return all(party.user is lane.user and party.lanes() == [lane] for party in parties)


# With a daemon.


def _scheduled(turn: Turn, task: Task, names: Names) -> Why:
    attempt = task.newest
    assert attempt is not None, "I2: a held task has an attempt"
    if task.cancel_requested_at is not None:
        return _cancelling(turn, task, attempt.daemon_name)
    silence = _silence(turn, attempt)
    if silence is not None:
        return Why(task.ref, task.status, f"It was given to {attempt.daemon_name}, but {silence}.")
    until = turn.now.wall + turn.state.begun[task.id] + time_allowed_ms(turn, attempt) - turn.now.mono
    reason = Reason.AWAITING_START if attempt.accepted else Reason.AWAITING_ACCEPT
    hold = Hold(reason, (), until=until, name=attempt.daemon_name)
    return _told(turn, task, [cause_of(turn, hold, {})])


def _running(turn: Turn, task: Task, names: Names) -> Why:
    attempt = task.newest
    assert attempt is not None, "I2: a held task has an attempt"
    if task.cancel_requested_at is not None:
        return _cancelling(turn, task, attempt.daemon_name)
    since = clock(attempt.started_at or attempt.assigned_at, turn.now.wall)
    silence = _silence(turn, attempt)
    if silence is not None:
        begun = f"It began on {attempt.daemon_name} at {since}, attempt {attempt.number}"
        return Why(task.ref, task.status, f"{begun}, but {silence}.")
    left = span(remaining_ms(turn, task))
    where = f"on {attempt.daemon_name} since {since}, attempt {attempt.number}"
    return Why(task.ref, task.status, f"It runs {where}; about {left} to go.")


def _silence(turn: Turn, attempt: Attempt) -> str | None:
    """Of a daemon that is away, or was not heard of for longer than it may: since when, and what follows.

    An agent that pulls is never connected while it works; it renews its lease by what it says of its task.
    """
    daemon, now = turn.state.daemons[attempt.daemon_id], turn.now
    silent_ms = max(now.wall - (daemon.record.last_seen_at or daemon.record.connected_at), 0)
    is_away = not daemon.session and not daemon.record.pulls
    if not is_away and silent_ms <= SILENT_BEATS * ms_of(turn.state.settings.lease.heartbeat_s):
        return None
    lost_at = now.wall + max(daemon.seen_mono + daemon.judged_ms - now.mono, 0)
    return f"its daemon has been silent for {span(silent_ms)}; it is taken for lost at {clock(lost_at, now.wall)}"


def _cancelling(turn: Turn, task: Task, daemon: str) -> Why:
    reason = None if task.trouble is None else task.trouble.cancel_reason
    because = f" ({reason.rstrip('.')})" if reason else ""
    return _told(turn, task, [cause_of(turn, Hold(Reason.CANCELLING, (), name=daemon), {"because": because})])


_ON_STATUS: Final[dict[Status, Callable[[Turn, Task, Names], Why]]] = {
    Status.PENDING: _pending,
    Status.WAITING: _waiting,
    Status.BLOCKED: _blocked,
    Status.QUEUED: _queued,
    Status.SCHEDULED: _scheduled,
    Status.RUNNING: _running,
}
