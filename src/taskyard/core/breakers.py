"""Circuit breakers: a user's tasks of one type that keep failing are held back, then tried one at a time.

Closed, it counts failed attempts in a row. Enough of them open it, and nothing of that type starts. After a while it is
half-open, which is not a change but the time on the clock: the next task that is granted is the probe, and the only
one. Its success closes the breaker, its failure opens it for twice as long; every other end of it (cancelled,
preempted, rejected, drained, rate limited, lost, an input that was wrong) says nothing about the type, and the next
ready task is the probe. What was granted before the breaker opened is not listened to until it is closed: the news
it brings is old.

A probe is one only while its task is held, so that none can be waited for in vain. Sub-tasks that it waits for run in
its place (`in_place.py`) and are no probes themselves. A breaker that is closed and has nothing to count is not kept.
"""

from typing import Final

from msgspec import Struct
from msgspec.json import Decoder

from taskyard.core.changes import BreakerRecord, Data
from taskyard.core.effects import Done, Refused, Reply
from taskyard.core.lanes import Blocker
from taskyard.core.retry import classify
from taskyard.core.settings import Breaker, Settings
from taskyard.core.state import Daemon, State, Turn, User
from taskyard.core.task import Attempt, Failure, Task, ms_of
from taskyard.core.yard_commands import OpenBreaker, ResetBreaker
from taskyard.vocabulary import COUNTED, AttemptStatus, BreakerState, Category, EventName, Keeps, Refusal

BREAKERS_MAX: Final = 1000
# Of one user. A type is any text, so there is no end of them; beyond this the least telling breaker is forgotten.
SUCCESS: Final = AttemptStatus.SUCCESS
AS_FOR_ALL: Final = Breaker()
NO_USER: Final = Refused(Refusal.USER_NOT_FOUND, "There is no such user.")
_record: Final = Decoder(BreakerRecord)


class Numbers(Struct, frozen=True):
    """What holds for one type of task."""

    failure_threshold: int
    half_open_after: float
    cooldown: float


def numbers_of(settings: Settings, type: str) -> Numbers:
    every = settings.breakers
    own = every.overrides.get(type, AS_FOR_ALL)
    return Numbers(
        every.failure_threshold if own.failure_threshold is None else own.failure_threshold,
        every.half_open_after if own.half_open_after is None else own.half_open_after,
        every.cooldown if own.cooldown is None else own.cooldown,
    )


def breaker_of(user: User, type: str) -> BreakerRecord:
    """The user's breaker of this type; one that is not kept is closed."""
    return user.breakers.get(type) or BreakerRecord(user.id, type)


def probe_of(user: User, breaker: BreakerRecord) -> str | None:
    """The task that tries, while it is held by a daemon."""
    return breaker.probe if breaker.probe in user.live else None


def state_of(breaker: BreakerRecord, now_ms: int) -> BreakerState:
    if breaker.opened_at is None:
        return BreakerState.CLOSED
    is_open = now_ms < breaker.half_open_at and breaker.probe is None
    return BreakerState.OPEN if is_open else BreakerState.HALF_OPEN


def blocker_of(breaker: BreakerRecord) -> Blocker:
    """What lanes sleep on that it does not let through."""
    return "breaker", breaker.user_id, breaker.type


# What it learns from attempts.


def become_probe(turn: Turn, task: Task, attempt: Attempt, _daemon: Daemon) -> None:
    """A task was granted: if its breaker is half-open, it is the one, unless it runs in the place of the one."""
    user = turn.state.users[task.user_id]
    breaker = user.breakers.get(task.kind.needs.type)
    if breaker is None or breaker.opened_at is None:
        return
    if attempt.in_place is not None and probe_of(user, breaker) is not None:
        return
    is_free = turn.now.wall >= breaker.half_open_at and probe_of(user, breaker) is None
    assert is_free, "I3: nothing but one probe passes a breaker"
    breaker.probe = task.id
    _keep(turn, breaker)


def learn(turn: Turn, task: Task, attempt: Attempt, _daemon: Daemon) -> None:
    """An attempt ended."""
    user = turn.state.users[task.user_id]
    if attempt.status is SUCCESS and not user.breakers:
        return
    breaker = user.breakers.get(task.kind.needs.type)
    if breaker is not None and breaker.opened_at is not None:
        if breaker.probe == task.id:
            _end_probe(turn, user, breaker, task, attempt)
        return
    speaks = speaks_for_its_type(attempt)
    if speaks is False:
        _count(turn, breaker or _add(turn, user, task.kind.needs.type), task, attempt.error)
    elif speaks and breaker is not None:
        _forget(turn, user, breaker)


def speaks_for_its_type(attempt: Attempt) -> bool | None:
    """Whether this end shows that such tasks can succeed, or that they fail; None: it shows neither."""
    if attempt.status is SUCCESS:
        return True
    if attempt.status not in COUNTED:
        return None
    is_inputs_fault = attempt.error is not None and classify(attempt.error) is Category.PERMANENT
    return None if is_inputs_fault else False


def _count(turn: Turn, breaker: BreakerRecord, task: Task, error: Failure | None) -> None:
    """One more failure in a row, while it is closed."""
    breaker.failures += 1
    breaker.last_failure_at = turn.now.wall
    _keep(turn, breaker)
    numbers = numbers_of(turn.state.settings, breaker.type)
    if breaker.failures >= numbers.failure_threshold:
        _open(turn, breaker, ms_of(numbers.half_open_after), _failure("failures", task, error))


def _end_probe(turn: Turn, user: User, breaker: BreakerRecord, task: Task, attempt: Attempt) -> None:
    speaks = speaks_for_its_type(attempt)
    if speaks:
        _close(turn, user, breaker, {"because": "probe_succeeded", "task": task.ref})
    elif speaks is None:
        breaker.probe = None
        _keep(turn, breaker)
        turn.state.yard.wake(blocker_of(breaker))
    else:
        breaker.failures += 1
        breaker.last_failure_at = turn.now.wall
        _open(turn, breaker, 2 * breaker.open_for_ms, _failure("probe_failed", task, attempt.error))


def _failure(because: str, task: Task, error: Failure | None) -> Data:
    """Which failure was the last straw. Of an error the code is told; its message may quote anything."""
    return {"because": because, "task": task.ref, "code": None if error is None else error.code}


# What a person says.


def reset_breaker(turn: Turn, command: ResetBreaker) -> None:
    """Closed from now on. One that is closed already stays so, which is no error."""
    user = turn.state.users.get(command.user_id)
    if user is None:
        turn.effects.append(Reply(command.reply_to, NO_USER))
        return
    breaker = user.breakers.get(command.type)
    if breaker is not None:
        was = state_of(breaker, turn.now.wall)
        if was is BreakerState.CLOSED:
            _forget(turn, user, breaker)
        else:
            _close(turn, user, breaker, {"because": "reset", "by": command.actor})
        turn.audit(
            actor=command.actor, action="breaker.reset", subject=_name(breaker), old=was, new=BreakerState.CLOSED
        )
    turn.effects.append(Reply(command.reply_to, Done()))


def open_breaker(turn: Turn, command: OpenBreaker) -> None:
    """Open for its cool-down from now on, whatever it was; a probe under way counts no more."""
    user = turn.state.users.get(command.user_id)
    if user is None:
        turn.effects.append(Reply(command.reply_to, NO_USER))
        return
    breaker = user.breakers.get(command.type) or _add(turn, user, command.type)
    was = state_of(breaker, turn.now.wall)
    cooldown_ms = ms_of(numbers_of(turn.state.settings, command.type).cooldown)
    breaker.forced = True
    _open(turn, breaker, cooldown_ms, {"because": "forced", "by": command.actor})
    turn.audit(actor=command.actor, action="breaker.open", subject=_name(breaker), old=was, new=BreakerState.OPEN)
    turn.effects.append(Reply(command.reply_to, Done()))


# What it was elsewhere.


def take_up(turn: Turn, user: User, found: BreakerRecord) -> bool:
    """A breaker as it stood elsewhere, unless there is one of its type; whether it was taken."""
    if found.type in user.breakers or (found.opened_at is None and not found.failures):
        return False
    breaker = _add(turn, user, found.type)
    breaker.failures, breaker.last_failure_at = found.failures, found.last_failure_at
    _keep(turn, breaker)
    if found.opened_at is not None:
        wait_ms = found.half_open_at - turn.now.wall
        _open(turn, breaker, max(wait_ms, 0), {"because": "imported"})
        breaker.opened_at = min(found.opened_at, turn.now.wall)
    return True


# Its changes, each kept in the commit that decided it.


def _open(turn: Turn, breaker: BreakerRecord, wait_ms: int, because: Data) -> None:
    """For so long, and never longer than its cool-down."""
    numbers = numbers_of(turn.state.settings, breaker.type)
    breaker.opened_at = turn.now.wall
    breaker.open_for_ms = min(wait_ms, ms_of(numbers.cooldown))
    breaker.half_open_at = turn.now.wall + breaker.open_for_ms
    breaker.probe = None
    _keep(turn, breaker)
    # Whoever sleeps on it is to have the new time.
    turn.state.yard.wake(blocker_of(breaker))
    said: Data = {
        "type": breaker.type,
        "failures": breaker.failures,
        "failure_threshold": numbers.failure_threshold,
        "until": breaker.half_open_at,
    }
    turn.announce(EventName.BREAKER_OPENED, breaker.user_id, {**said, **because})


def _close(turn: Turn, user: User, breaker: BreakerRecord, because: Data) -> None:
    """From open or half-open; its failures are forgotten with it."""
    _forget(turn, user, breaker)
    turn.state.yard.wake(blocker_of(breaker))
    said: Data = {"type": breaker.type, "failures": breaker.failures}
    turn.announce(EventName.BREAKER_CLOSED, breaker.user_id, {**said, **because})


def _add(turn: Turn, user: User, type: str) -> BreakerRecord:
    if len(user.breakers) >= BREAKERS_MAX:
        _make_room(turn, user)
    breaker = user.breakers[type] = BreakerRecord(user.id, type)
    return breaker


def _make_room(turn: Turn, user: User) -> None:
    """Forget the closed one that failed longest ago; if all are open, the one that was to be tried first."""
    least = min(user.breakers.values(), key=lambda b: (b.opened_at is not None, b.half_open_at, b.last_failure_at or 0))
    if least.opened_at is None:
        _forget(turn, user, least)
    else:
        _close(turn, user, least, {"because": "forgotten"})


def _forget(turn: Turn, user: User, breaker: BreakerRecord) -> None:
    del user.breakers[breaker.type]
    turn.state.ledger.kept[Keeps.BREAKER, _name(breaker)] = None


def _keep(turn: Turn, breaker: BreakerRecord) -> None:
    turn.state.ledger.kept[Keeps.BREAKER, _name(breaker)] = breaker


def _name(breaker: BreakerRecord) -> str:
    return f"{breaker.user_id}/{breaker.type}"


def remember(state: State, _name: str, record: bytes) -> None:
    """What was kept of a breaker."""
    breaker = _record.decode(record)
    state.users[breaker.user_id].breakers[breaker.type] = breaker
