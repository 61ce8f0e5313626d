"""The one door of the core: a command goes to the file that decides it. No rule lives here.

`handle` is deterministic: the same commands at the same instants with the same dice give the same effects and the same
batches. It performs nothing; the shell commits what `cut` returns and only then releases the effects.
"""

from collections.abc import Callable
from typing import Final, cast

from taskyard.core import (
    ageing,
    cancel,
    cooling,
    daemons,
    due_runs,
    forgetting,
    hooks,
    imports,
    in_place,
    intake,
    notifications,
    outcomes,
    people,
    preemption,
    pressure,
    priority,
    queues,
    readiness,
    revival,
    rewinds,
    schedules,
    suspects,
    templates,
)
from taskyard.core.breakers import open_breaker, reset_breaker
from taskyard.core.changes import Batch
from taskyard.core.commands import (
    Archive,
    BeatTask,
    BeginWait,
    CancelTask,
    ChangeTask,
    Command,
    CompleteTask,
    EndWait,
    FailTask,
    HearEnded,
    ImportTasks,
    ReportProgress,
    RetryTask,
    ReviewTask,
    SaveCheckpoint,
    SkipTask,
    SubmitTasks,
    Tick,
)
from taskyard.core.counts import reserve_changed
from taskyard.core.daemon_commands import (
    AcceptTask,
    Beat,
    ConfirmCancel,
    DrainDaemon,
    ForgetDaemon,
    ForgetUnseen,
    JoinDaemon,
    LeaveDaemon,
    RejectTask,
    ResumeDaemon,
    StartTask,
)
from taskyard.core.dependencies import hear_ended, spread
from taskyard.core.effects import Done, Effect, Reply
from taskyard.core.notification_commands import (
    ChangeNotification,
    CreateNotification,
    DeleteNotification,
    ReportDelivery,
    ResendDelivery,
)
from taskyard.core.schedule_commands import (
    AnswerProbe,
    ChangeSchedule,
    CreateSchedule,
    DeleteSchedule,
    RunSchedule,
)
from taskyard.core.scheduler import dispatch, needs_dispatch
from taskyard.core.state import Dice, Now, State, Turn
from taskyard.core.state import cut as cut_batch
from taskyard.core.state import forget as forget_ended
from taskyard.core.task import Task
from taskyard.core.timers import Clock, Due
from taskyard.core.yard_commands import (
    ChangeHook,
    ChangeSettings,
    ChangeUser,
    CreateHook,
    CreateKey,
    CreateUser,
    DeleteHook,
    DeleteQueue,
    DeleteTemplate,
    NoteRewind,
    OpenBreaker,
    PauseQueue,
    PutQueue,
    PutTemplate,
    RefuseSettings,
    ResetBreaker,
    ResumeQueue,
    RevokeKey,
    RotateHook,
)
from taskyard.vocabulary import EventName

TIMERS_PER_TICK_MAX: Final = 1000
# Timers one tick lets act, about 20 ms of decisions; the next tick follows at once.


def _tick(turn: Turn, command: Tick) -> None:
    if command.lag_ms:
        daemons.allow_for_lag(turn, command.lag_ms)
    timers, left = turn.state.timers, TIMERS_PER_TICK_MAX
    for clock, now in ((Clock.MONO, turn.now.mono), (Clock.WALL, turn.now.wall)):
        while left and (name := timers.take_due(clock, now)) is not None:
            left -= 1
            due, whose = name
            if isinstance(whose, tuple):
                turn.state.yard.wake(whose)
            elif due in ON_TASK_TIMER:
                ON_TASK_TIMER[due](turn, turn.state.tasks[whose])
            else:
                ON_TIMER[due](turn, whose)


def _archive(turn: Turn, command: Archive) -> None:
    turn.state.ledger.archive = (command.ended_before, command.events_before)
    turn.effects.append(Reply(command.reply_to, Done()))


def _change_settings(turn: Turn, command: ChangeSettings) -> None:
    """Whatever waits is looked at anew. What was promised under the old numbers, a lease or a delay, stays promised."""
    turn.state.settings = command.settings
    reserve_changed(turn.state)
    turn.state.yard.wake_all()
    ageing.watch_all(turn)
    pressure.heed_all(turn)
    turn.announce(EventName.SETTINGS_CHANGED, None, {"names": list(command.names)})
    turn.effects.append(Reply(command.reply_to, Done()))


def _refuse_settings(turn: Turn, command: RefuseSettings) -> None:
    turn.announce(EventName.SETTINGS_REFUSED, None, {"reason": command.reason})
    turn.effects.append(Reply(command.reply_to, Done()))


ON_TIMER: Final[dict[Due, Callable[[Turn, str], None]]] = {
    Due.LEASE: daemons.judge_lease,
    Due.AGEING: ageing.grow_old,
    Due.PREEMPTION: preemption.look_again,
    Due.DELIVERY: notifications.give_up,
    Due.SCHEDULE: due_runs.come_due,
    Due.SCHEDULE_PROBE: due_runs.give_up_probe,
    Due.SCHEDULE_ASK: due_runs.ask_again,
}
"""Timers of something with a name of its own."""
ON_TASK_TIMER: Final[dict[Due, Callable[[Turn, Task], None]]] = {
    Due.ATTEMPT: daemons.judge_attempt,
    Due.BEGIN: readiness.come_due,
    Due.DEADLINE: readiness.pass_deadline,
    Due.ESCALATION: priority.escalate,
    Due.SLA: priority.tell_sla_missed,
    Due.CRITICAL_WAIT: priority.tell_critical_waits,
    Due.AVOIDANCE: suspects.end_avoidance,
    Due.SUSPECT: suspects.hold_daemon,
    Due.PROBE: cooling.judge_probe,
}

# Each function takes its own command; the pairing is by type, which a dict's type cannot say.
_Decision = Callable[[Turn, Command], None]
_ON_COMMAND: Final[dict[type, object]] = {
    SubmitTasks: intake.submit,
    ImportTasks: imports.take_in,
    CancelTask: cancel.cancel,
    SkipTask: cancel.skip,
    RetryTask: revival.retry,
    ReviewTask: revival.review,
    ChangeTask: revival.change,
    JoinDaemon: daemons.join,
    LeaveDaemon: daemons.leave,
    Beat: daemons.beat,
    DrainDaemon: daemons.drain,
    ResumeDaemon: daemons.resume,
    ForgetDaemon: forgetting.forget,
    ForgetUnseen: forgetting.forget_unseen,
    AcceptTask: outcomes.accept,
    StartTask: outcomes.start,
    RejectTask: outcomes.reject,
    ReportProgress: outcomes.progress,
    SaveCheckpoint: outcomes.checkpoint,
    BeatTask: outcomes.beat_task,
    CompleteTask: outcomes.complete,
    FailTask: outcomes.fail_task,
    ConfirmCancel: outcomes.confirm_cancel,
    BeginWait: in_place.begin_wait,
    EndWait: in_place.end_wait,
    CreateUser: people.create_user,
    ChangeUser: people.change_user,
    CreateKey: people.create_key,
    RevokeKey: people.revoke_key,
    PutQueue: queues.put,
    DeleteQueue: queues.delete,
    PauseQueue: queues.pause,
    ResumeQueue: queues.resume,
    CreateNotification: notifications.create,
    ChangeNotification: notifications.change,
    DeleteNotification: notifications.delete,
    ResendDelivery: notifications.resend,
    ReportDelivery: notifications.report,
    ResetBreaker: reset_breaker,
    OpenBreaker: open_breaker,
    CreateHook: hooks.create,
    ChangeHook: hooks.change,
    RotateHook: hooks.rotate,
    DeleteHook: hooks.delete,
    PutTemplate: templates.put,
    DeleteTemplate: templates.delete,
    CreateSchedule: schedules.create,
    ChangeSchedule: schedules.change,
    DeleteSchedule: schedules.delete,
    RunSchedule: schedules.run_now,
    AnswerProbe: due_runs.answer_probe,
    Archive: _archive,
    HearEnded: hear_ended,
    ChangeSettings: _change_settings,
    RefuseSettings: _refuse_settings,
    NoteRewind: rewinds.note,
    Tick: _tick,
}
ON_COMMAND: Final = cast("dict[type, _Decision]", _ON_COMMAND)


class Core:
    """The state and the door to it."""

    __slots__ = ("_dice", "state")

    def __init__(self, state: State, dice: Dice) -> None:
        self.state = state
        self._dice = dice

    def turn(self, now: Now) -> Turn:
        """A turn at this instant: commands to `decide` in, effects out."""
        return Turn(self.state, now, self._dice)

    def decide(self, turn: Turn, command: Command) -> None:
        """Decide one command. What became ready starts with `dispatch`."""
        ON_COMMAND[type(command)](turn, command)

    def dispatch(self, turn: Turn) -> None:
        """After the commands at hand: let others hear of ends, start what may start, say how many still wait."""
        if self.state.probed:
            due_runs.hear_probes(turn)
        if self.state.echoes:
            spread(turn)
        if needs_dispatch(self.state):
            dispatch(turn)
        if self.state.yard.stirred:
            pressure.heed(turn)

    def handle(self, command: Command, now: Now) -> list[Effect]:
        """One command in a turn of its own, without starting anything."""
        turn = self.turn(now)
        self.decide(turn, command)
        return turn.effects

    def next_due_ms(self, now: Now) -> int | None:
        """How long nothing is to be done; 0 when something is left over, None when nothing is planned."""
        if self.state.echoes or self.state.probed:
            return 0
        mono, wall = self.state.timers.next_due(Clock.MONO), self.state.timers.next_due(Clock.WALL)
        waits = [due - at for due, at in ((mono, now.mono), (wall, now.wall)) if due is not None]
        return max(min(waits), 0) if waits else None

    def cut(self, *, batch_id: str, now: Now) -> Batch:
        """Everything decided since the last cut, as one transaction."""
        if self.state.watched:
            notifications.gather(self.state, now.wall)
        return cut_batch(self.state, batch_id=batch_id, at=now.wall)

    def forget(self, *, through_seq: int) -> None:
        """Commits up to this one are on disk and no look-up under way is older."""
        forget_ended(self.state, through_seq=through_seq)
