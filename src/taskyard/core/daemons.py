"""Daemons: who is connected, what they hold, and what their lists and their silence mean.

A daemon holds its attempts by a lease that every heartbeat renews. Disconnecting ends nothing: on its return the daemon
lists what it still has, and the list decides, not the clock (`inventory.py`). What it does not list is lost at once.
Only a lease that ran out, judged with a fifth to spare, speaks for a daemon that does not come back.
"""

from msgspec.structs import replace

from taskyard.core import claims
from taskyard.core.attempts import (
    current,
    is_overdue,
    time_out,
    watch_attempt,
    withdraw,
)
from taskyard.core.changes import DaemonRecord
from taskyard.core.counts import fleet_changed, pool_changed
from taskyard.core.daemon_commands import Beat, DrainDaemon, JoinDaemon, LeaveDaemon, ResumeDaemon
from taskyard.core.effects import (
    AcknowledgeBeat,
    CancelWork,
    CloseSession,
    Contradicted,
    Done,
    Judged,
    Refused,
    Reply,
    Welcome,
)
from taskyard.core.forgetting import NO_DAEMON, has_gone
from taskyard.core.inventory import hold_on, judge
from taskyard.core.losses import lose, not_taken_up
from taskyard.core.outcomes import NOT_STARTED
from taskyard.core.preemption import came_back
from taskyard.core.pressure import greet
from taskyard.core.priority import tell_unplaceable
from taskyard.core.readiness import tell_target_away
from taskyard.core.rewinds import audit_lost, lack_seen_by
from taskyard.core.state import Daemon, Turn
from taskyard.core.suspects import reconsider
from taskyard.core.task import Attempt, Task, ms_of
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import (
    SESSIONS_PER_GATEWAY,
    CancelReason,
    ErrorCode,
    EventName,
    InventoryState,
    Refusal,
)

LOAD_MAX = 100.0
# More than this is not a load but a mistake.
TOOK_OVER = "A newer connection of this daemon took over."
NOT_ACCEPTED = "The daemon did not accept it in time."
SUPERSEDED_MAX = 3
SUPERSEDED_WITHIN_MS = 60_000
# Two processes with one identity push each other out; a reconnecting daemon does so once.
NOTED_MS = 60_000
# Often enough to charge by, seldom enough that heartbeats cost no commits.
IDLE_NOTED_MS = 24 * 3_600_000
# Of one that holds nothing: how long ago it was seen decides in days whether it is forgotten.


def join(turn: Turn, command: JoinDaemon) -> None:
    """`hello`: take the daemon in, compare lists, welcome it. A claim is one that gets whatever slot is free."""
    if command.pulls:
        slot = claims.free_slot(turn.state, command)
        if slot is None:
            said = "So many agents of this name claim already that no more are taken; use another name."
            turn.effects.append(CloseSession(command.session, claims.TOO_MANY_CLAIMS, said))
            return
        command = replace(command, daemon_id=slot)
    refusal = _objection(turn, command)
    if refusal is not None:
        turn.effects.append(CloseSession(command.session, *refusal))
        return
    daemon = _enrol(turn, command)
    audit_lost(turn, command)
    _lose_unlisted(turn, daemon, command)
    daemon.heard_mono = turn.now.mono
    # What runs comes before what has ended: it needs its slot more.
    running_first = sorted(command.inventory, key=lambda held: held.state is InventoryState.ENDED)
    judged = {(held.task_id, held.attempt): judge(turn, daemon, held) for held in running_first}
    verdicts = tuple(Judged(held, judged[held.task_id, held.attempt]) for held in command.inventory)
    turn.effects.append(Welcome(command.session, daemon.id, verdicts, turn.state.settings.lease))
    greet(turn, daemon)
    _tell_victims(turn, daemon)
    came_back(turn, daemon)
    # Whoever waits for a sub-task may have waited for this daemon.
    turn.state.yard.places.update(dict.fromkeys(turn.state.waits))
    turn.state.yard.wake_daemon(daemon)


def _tell_victims(turn: Turn, daemon: Daemon) -> None:
    """Who was to make room is told once more: it may not have heard."""
    for task, attempt in _held(daemon):
        if attempt.yields_to is not None:
            withdraw(turn, task, attempt, CancelReason.PREEMPTED)


def _objection(turn: Turn, command: JoinDaemon) -> tuple[str, str] | None:
    state, seen = turn.state, command.seen
    lack = lack_seen_by(state, command)
    if seen is not None and lack is not None:
        if seen.takeover:
            turn.effects.append(Contradicted(f"daemon {command.name} ({command.daemon_id})", seen, lack))
        return (
            "HUB_REWOUND",
            f"This hub's log does not have commit {seen.seq} of epoch {seen.epoch}, which this daemon has seen: its "
            "database is an older copy. Restore the newer one, or start the hub with --accept-rewind.",
        )
    daemon = state.daemons.get(command.daemon_id)
    if daemon is None:
        return None
    if daemon.record.user_id != command.user_id:
        return (
            "DAEMON_NOT_FOUND",
            "This daemon id is not yours; remove its data directory to register anew.",
        )
    if command.session < daemon.joined and _are_of_one_gateway(command.session, daemon.joined):
        # The last words of a dead process, overtaken by the first ones of its successor.
        return "SUPERSEDED", TOOK_OVER
    if daemon.session and daemon.record.boot_id != command.boot_id:
        recent = [at for at in daemon.superseded if at > turn.now.mono - SUPERSEDED_WITHIN_MS]
        daemon.superseded = [*recent, turn.now.mono]
        if len(recent) >= SUPERSEDED_MAX:
            return (
                "CLONED_IDENTITY",
                "Two processes use this daemon id; give one of them a data directory of its own.",
            )
    return None


def _are_of_one_gateway(session: int, other: int) -> bool:
    return session // SESSIONS_PER_GATEWAY == other // SESSIONS_PER_GATEWAY


def _enrol(turn: Turn, command: JoinDaemon) -> Daemon:
    """Know the daemon as it now says it is; an older connection of it is superseded."""
    state = turn.state
    daemon = state.daemons.get(command.daemon_id)
    record = _record_of(turn, command, None if daemon is None else daemon.record)
    if daemon is None:
        daemon = state.daemons[record.id] = Daemon(record, turn.now.mono)
    elif daemon.session not in (0, command.session):
        turn.effects.append(CloseSession(daemon.session, "SUPERSEDED", TOOK_OVER))
    was_shared = daemon.record.shared
    daemon.record, daemon.session, daemon.seen_mono = record, command.session, turn.now.mono
    daemon.joined, daemon.judged_ms = command.session, state.settings.lease.judged_ms
    state.yard.enlist(daemon, state.users.values())
    fleet_changed(state, daemon)
    if was_shared is not record.shared:
        pool_changed(state, daemon)
    reconsider(turn, daemon)
    _watch_lease(turn, daemon)
    if record.pulls:
        claims.came(turn, record)
    else:
        turn.tell_of_daemon(EventName.DAEMON_CONNECTED, daemon, capabilities=list(record.capabilities))
    return daemon


def _record_of(turn: Turn, command: JoinDaemon, before: DaemonRecord | None) -> DaemonRecord:
    """What it says of itself; that it drains holds for as long as its process is the same."""
    same = before if before is not None and before.boot_id == command.boot_id else None
    return DaemonRecord(
        id=command.daemon_id,
        user_id=command.user_id,
        name=command.name,
        boot_id=command.boot_id,
        connected_at=turn.now.wall,
        shared=command.shared,
        capabilities=command.capabilities,
        models=command.models,
        types=command.types,
        slots=command.slots or turn.state.settings.limits.daemon_slots,
        memory_mb=command.memory_mb,
        version=command.version,
        ephemeral=command.ephemeral,
        draining=same is not None and same.draining,
        leaving=same is not None and same.leaving,
        last_seen_at=turn.now.wall,
        pulls=command.pulls,
    )


def _lose_unlisted(turn: Turn, daemon: Daemon, command: JoinDaemon) -> None:
    """What the hub thinks it holds and it does not list, it does not hold."""
    listed = {(held.task_id, held.attempt): None for held in command.inventory}
    for task, attempt in _held(daemon):
        if (task.id, attempt.number) in listed:
            hold_on(turn, task, attempt, command.boot_id)
        elif task.terms.exclusive is not None and not attempt.accepted and is_overdue(turn, task, attempt):
            # It was kept for this daemon after its time only because it might have been at work on it.
            not_taken_up(turn, task, attempt, NOT_ACCEPTED, tell_daemon=False)
        elif attempt.boot_id != command.boot_id:
            lose(
                turn,
                task,
                attempt,
                ErrorCode.DAEMON_CRASHED,
                "Its daemon's process died and a new one came back.",
            )
        else:
            lose(turn, task, attempt, ErrorCode.DAEMON_DISCONNECTED, "Its daemon came back without it.")
    daemon.lingering = {name: None for name in daemon.lingering if name in listed}


def leave(turn: Turn, command: LeaveDaemon) -> None:
    """Its socket closed; what it holds goes on until its lease ends."""
    daemon = turn.state.daemons.get(command.daemon_id)
    if daemon is None:
        claimed = claims.slot_of(turn.state, command.daemon_id, command.session)
        if claimed is not None:
            claims.go(turn, claimed)
    elif daemon.session == command.session:
        _go_offline(turn, daemon)
        if daemon.record.leaving:
            has_gone(turn, daemon)


def _go_offline(turn: Turn, daemon: Daemon) -> None:
    daemon.session = 0
    daemon.record.last_seen_at = turn.now.wall
    fleet_changed(turn.state, daemon)
    reconsider(turn, daemon)
    turn.tell_of_daemon(EventName.DAEMON_DISCONNECTED, daemon, affected_tasks=len(daemon.holding))
    _tell_unserved(turn, daemon)


def _tell_unserved(turn: Turn, daemon: Daemon) -> None:
    """Where it was the last one: who waits first for its return, or for any daemon, hears of it."""
    for line in daemon.lines:
        if line.is_served():
            continue
        for task in [task for lane in line.lanes() for task in lane.heads()[:1]]:
            tell_unplaceable(turn, task)
            if line.needs.target is not None and not daemon.session:
                tell_target_away(turn, task, line.needs.target)


def beat(turn: Turn, command: Beat) -> None:
    """A heartbeat renews the lease, and its list is believed."""
    daemon = turn.state.daemons.get(command.daemon_id)
    if daemon is None or daemon.session != command.session:
        return
    daemon.seen_mono, daemon.record.last_seen_at = turn.now.mono, turn.now.wall
    daemon.load = min(max(command.load, 0.0), LOAD_MAX)
    daemon.load_step = int(daemon.load * (1 / turn.state.settings.limits.load_step))
    daemon.memory_free_mb = daemon.record.memory_mb if command.memory_free_mb is None else command.memory_free_mb
    listed = {(held.task_id, held.attempt): None for held in command.running}
    for task, attempt in _held(daemon):
        # Before it accepted, a heartbeat may have passed the offer on its way.
        if attempt.accepted and (task.id, attempt.number) not in listed:
            lose(turn, task, attempt, ErrorCode.DAEMON_DISCONNECTED, "Its daemon no longer has it.")
    _note_heard(turn, daemon)
    daemon.lingering = {name: None for name in daemon.lingering if name in listed}
    for task_id, number in listed:
        if current(turn, task_id, number, daemon.id) is None and (task_id, number) not in daemon.lingering:
            daemon.lingering[task_id, number] = None
            grace_ms = ms_of(turn.state.settings.lease.cancel_grace_s)
            turn.effects.append(CancelWork(daemon.session, task_id, number, CancelReason.WITHDRAWN, grace_ms))
    turn.effects.append(AcknowledgeBeat(command.session))
    turn.state.yard.wake_daemon(daemon)


def _note_heard(turn: Turn, daemon: Daemon) -> None:
    """What it holds has run until now. Written down now and then: work that a restart of the hub finds lost is charged
    up to there."""
    daemon.heard_mono = turn.now.mono
    if daemon.heard_mono - daemon.noted_mono >= (NOTED_MS if daemon.holding else IDLE_NOTED_MS):
        daemon.noted_mono = daemon.heard_mono
        turn.state.ledger.daemons[daemon.id] = daemon.record


def drain(turn: Turn, command: DrainDaemon) -> None:
    """Nothing new for this daemon until its process is a new one."""
    daemon = turn.state.daemons.get(command.daemon_id)
    is_its = daemon is not None and command.session in (0, daemon.session)
    if daemon is None or not is_its or command.user_id not in (None, daemon.record.user_id):
        if command.reply_to:
            turn.effects.append(Reply(command.reply_to, NO_DAEMON))
        return
    daemon.record.draining = True
    daemon.record.leaving = daemon.record.leaving or command.session != 0
    fleet_changed(turn.state, daemon)
    reconsider(turn, daemon)
    turn.tell_of_daemon(EventName.DAEMON_DRAINING, daemon)
    _tell_unserved(turn, daemon)
    if command.reply_to:
        turn.audit(actor=command.actor, action="daemon.drain", subject=daemon.id)
        turn.effects.append(Reply(command.reply_to, Done()))


def resume(turn: Turn, command: ResumeDaemon) -> None:
    """A person takes a drain back. Not that of a daemon which is about to end: it would take nothing."""
    daemon = turn.state.daemons.get(command.daemon_id)
    if daemon is None or command.user_id not in (None, daemon.record.user_id):
        turn.effects.append(Reply(command.reply_to, NO_DAEMON))
        return
    if daemon.record.leaving:
        detail = f"{daemon.record.name} drains of its own accord, to end. Start it again, and it gets work."
        turn.effects.append(Reply(command.reply_to, Refused(Refusal.DAEMON_LEAVING, detail)))
        return
    if daemon.record.draining:
        daemon.record.draining = False
        fleet_changed(turn.state, daemon)
        reconsider(turn, daemon)
        turn.state.yard.wake_daemon(daemon)
        turn.tell_of_daemon(EventName.DAEMON_RESUMED, daemon)
        turn.audit(actor=command.actor, action="daemon.resume", subject=daemon.id)
    turn.effects.append(Reply(command.reply_to, Done()))


def _watch_lease(turn: Turn, daemon: Daemon) -> None:
    turn.state.timers.set(Clock.MONO, Due.LEASE, daemon.id, daemon.seen_mono + daemon.judged_ms)


def judge_lease(turn: Turn, daemon_id: str) -> None:
    """The lease's timer: heartbeats since it was set push it on; silence ends everything held."""
    daemon = turn.state.daemons[daemon_id]
    if turn.now.mono < daemon.seen_mono + daemon.judged_ms:
        _watch_lease(turn, daemon)
        return
    for task, attempt in _held(daemon):
        lose(
            turn,
            task,
            attempt,
            ErrorCode.DAEMON_UNRESPONSIVE,
            "Its daemon was silent for longer than its lease.",
        )
    daemon.lingering = {}
    if daemon.session:
        turn.effects.append(CloseSession(daemon.session, "LEASE_EXPIRED", "No heartbeat within the lease."))
        _go_offline(turn, daemon)
    has_gone(turn, daemon)


def allow_for_lag(turn: Turn, lag_ms: int) -> None:
    """The hub itself was away: no daemon could have been heard meanwhile, whatever it had to say."""
    begun, now = turn.state.begun, turn.now.mono
    for daemon in turn.state.daemons.values():
        daemon.seen_mono = min(daemon.seen_mono + lag_ms, now)
    for task_id in begun:
        begun[task_id] = min(begun[task_id] + lag_ms, now)
        # It has used less of its user's month than it seemed.
        turn.state.yard.wake(("hours", turn.state.tasks[task_id].user_id))


def judge_attempt(turn: Turn, task: Task) -> None:
    """A held task's timer: it runs on what was due first, so look what is due now."""
    attempt = task.newest
    assert attempt is not None, "I2: a held task has an attempt"
    daemon, has_started = turn.state.daemons[attempt.daemon_id], attempt.started_at is not None
    is_exclusive = task.terms.exclusive is not None
    if not is_overdue(turn, task, attempt):
        watch_attempt(turn, task)
    elif not daemon.session and not (has_started and daemon.record.pulls):
        # Nobody can say whether it was begun, or died with its daemon: the list will, or the lease ends it. Of what is
        # pulled there is no list.
        return
    elif not has_started and not attempt.accepted:
        _give_up_on_session(turn, daemon)
        if task.cancel_requested_at is None and not is_exclusive:
            not_taken_up(turn, task, attempt, NOT_ACCEPTED, tell_daemon=False)
    elif task.cancel_requested_at is not None:
        # It was told to stop; until it says so, or its lease ends, work may be alive.
        return
    elif is_exclusive:
        # Its key stays taken until nothing of it is alive: as its daemon says, or as its lease ends.
        withdraw(turn, task, attempt, CancelReason.TIMEOUT if has_started else CancelReason.WITHDRAWN)
        again = turn.now.mono + ms_of(turn.state.settings.lease.cancel_grace_s)
        turn.state.timers.set(Clock.MONO, Due.ATTEMPT, task.id, again)
    elif has_started:
        time_out(turn, task, attempt)
    else:
        not_taken_up(turn, task, attempt, NOT_STARTED, tell_daemon=True)


def _give_up_on_session(turn: Turn, daemon: Daemon) -> None:
    """A daemon that heartbeats but does not take offers is deaf: make it come back with its list."""
    turn.effects.append(CloseSession(daemon.session, "NOT_ACCEPTED", "An offer was not answered in time."))
    _go_offline(turn, daemon)


def _held(daemon: Daemon) -> list[tuple[Task, Attempt]]:
    held = [(task, task.newest) for task in daemon.holding.values()]
    return [(task, attempt) for task, attempt in held if attempt is not None]
