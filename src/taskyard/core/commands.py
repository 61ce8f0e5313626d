"""What can be asked of the core. Each command is a value; `hub.py` routes it to the file that decides.

Here are those about tasks and of time, and the list of all; `daemon_commands.py` has what daemons say and are asked,
`yard_commands.py` what is about the yard.

Identifiers and tokens are minted outside and arrive inside the command. So does what the core no
longer holds: `Known` carries ended tasks that the shell looked up in the store, with the sequence
number it read at (see `lookups.py`). Commands are tagged, because a hub that does not lead hands them on.
"""

from msgspec import Struct, field

from taskyard.core.changes import BreakerRecord
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
from taskyard.core.settings import Queue
from taskyard.core.task import Attempt, Failure, Kind, Terms, Usage
from taskyard.core.told import KEEP, Keep, Told
from taskyard.core.told import NOTHING as NOTHING  # noqa: PLC0414 - exported: it belongs to commands
from taskyard.core.told import Known as Known  # noqa: PLC0414 - the same
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
from taskyard.vocabulary import Level, ResultStatus, SourceType, Status, Verdict


class Draft(Struct):
    """A task as submitted: checked for shape, not yet for rules."""

    id: str
    kind: Kind
    terms: Terms
    body: bytes
    """The content as JSON, for the store; the core passes it on unread."""
    name: str | None = None
    queue: str | None = None
    """The queue that was named, if any; routing fills `kind.queue`."""
    channel: str | None = None
    level: Level | None = None
    value: int | None = None
    event_type: str | None = None
    deadline: int | None = None
    sla: int | None = None
    scheduled_for: int | None = None
    depends_on: tuple[str, ...] = ()
    parent_id: str | None = None
    key: str | None = None
    digest: str | None = None
    correlation_id: str | None = None
    traceparent: str | None = None
    tracestate: str | None = None
    schedule_id: str | None = None
    """The schedule that makes it; never of a submission from outside."""


class SubmitTasks(Told):
    user_id: str
    drafts: list[Draft]
    partial: bool = False
    ceiling: Level | None = None
    sources: tuple[SourceType, ...] | None = None
    """What the key may submit as; None is anything."""
    under: str | None = None
    """With a task's token: the running task whose sub-tasks these must be."""
    known: Known = NOTHING
    reply_to: int = 0
    hook_id: str | None = None
    """The webhook they were delivered to."""


class Arrival(Struct):
    """A task as it stood elsewhere. What was open there takes its place here; what had ended is history."""

    draft: Draft
    status: Status
    created_at: int
    queued_at: int | None = None
    scheduled_at: int | None = None
    started_at: int | None = None
    completed_at: int | None = None
    attempts: list[Attempt] = field(default_factory=list)
    """All of them ended."""
    error: Failure | None = None
    summary: str | None = None
    result_status: ResultStatus | None = None
    outcome: bytes | None = None
    skipped_reason: str | None = None
    cancel_reason: str | None = None
    archived: bool = False


class ImportTasks(Told):
    """A piece of an import: tasks, and what they need around them where it is not there yet."""

    user_id: str
    origin: str
    arrivals: list[Arrival]
    actor: str
    queues: dict[str, Queue] = field(default_factory=dict)
    breakers: list[BreakerRecord] = field(default_factory=list)
    elsewhere: tuple[str, ...] = ()
    """Ids that other pieces of the same import bring."""
    open_left: int = 0
    """How many open tasks this piece and those after it bring: there is room for all of them or for none."""
    dry_run: bool = False
    is_admin: bool = False
    ceiling: Level | None = None
    sources: tuple[SourceType, ...] | None = None
    known: Known = NOTHING
    reply_to: int = 0


class CancelTask(Told):
    user_id: str
    task_id: str
    reason: str | None = None
    actor: str = ""
    known: Known = NOTHING
    reply_to: int = 0


class RetryTask(Told):
    user_id: str
    task_id: str
    actor: str = ""
    known: Known = NOTHING
    reply_to: int = 0


class SkipTask(Told):
    user_id: str
    task_id: str
    reason: str | None = None
    actor: str = ""
    known: Known = NOTHING
    reply_to: int = 0


class ChangeTask(Told):
    """PATCH of a task that has not started."""

    user_id: str
    task_id: str
    level: Level | Keep = KEEP
    value: int | None = None
    deadline: int | Keep | None = KEEP
    scheduled_for: int | Keep | None = KEEP
    ceiling: Level | None = None
    actor: str = ""
    known: Known = NOTHING
    reply_to: int = 0


class ReviewTask(Told):
    """A person's verdict on a dead letter."""

    user_id: str
    task_id: str
    verdict: Verdict
    reason: str
    actor: str
    until: int | None = None
    to: str | None = None
    known: Known = NOTHING
    reply_to: int = 0


class ReportProgress(Told):
    """Soft news of a running attempt: shown and logged, never decided upon."""

    daemon_id: str | None
    """None: a task token or key vouches for the attempt, not a socket."""
    task_id: str
    attempt: int
    session: int = 0
    percent: float | None = None
    message: str | None = None
    log: str | None = None
    reply_to: int = 0


class SaveCheckpoint(Told):
    daemon_id: str | None
    task_id: str
    attempt: int
    data: bytes
    session: int = 0
    reply_to: int = 0


class BeatTask(Told):
    """An attempt's own heartbeat, by token: renews nothing but its claim to be alive."""

    task_id: str
    attempt: int
    reply_to: int = 0


class CompleteTask(Told):
    daemon_id: str | None
    task_id: str
    attempt: int
    session: int = 0
    outcome: bytes | None = None
    """`{"result": …, "files_changed": …, "decision_report": …}` as JSON, for the store."""
    summary: str | None = None
    result_status: ResultStatus = ResultStatus.SUCCESS
    has_report: bool = False
    usage: Usage | None = None
    known: Known = NOTHING
    reply_to: int = 0


class FailTask(Told):
    daemon_id: str | None
    task_id: str
    attempt: int
    error: Failure
    session: int = 0
    usage: Usage | None = None
    retry_after_ms: int | None = None
    """What the provider said about when to come back, already parsed."""
    known: Known = NOTHING
    reply_to: int = 0


class BeginWait(Told):
    """A running task waits for one of its own sub-tasks, by its token."""

    task_id: str
    """The one that waits."""
    attempt: int
    wait: str
    """A name of its own, since a task may wait for several."""


class EndWait(Told):
    """It waits no longer: it was answered, its time is up, or its connection ended."""

    task_id: str
    wait: str


class Archive(Told):
    """Move ended tasks older than this out of the way, and drop old events; a chunk at a time."""

    ended_before: int
    events_before: int
    reply_to: int = 0


class Tick(Told):
    """Time went on: let due timers act. `lag_ms`: how long the hub itself was away before this."""

    lag_ms: int = 0


class HearEnded(Told):
    """After a start: what became of tasks that open ones still wait for."""

    known: Known = NOTHING


Command = (
    SubmitTasks
    | ImportTasks
    | CancelTask
    | RetryTask
    | SkipTask
    | ChangeTask
    | ReviewTask
    | JoinDaemon
    | LeaveDaemon
    | Beat
    | DrainDaemon
    | ResumeDaemon
    | ForgetDaemon
    | ForgetUnseen
    | AcceptTask
    | StartTask
    | RejectTask
    | ReportProgress
    | SaveCheckpoint
    | BeatTask
    | CompleteTask
    | FailTask
    | ConfirmCancel
    | BeginWait
    | EndWait
    | CreateUser
    | ChangeUser
    | CreateKey
    | RevokeKey
    | ResetBreaker
    | OpenBreaker
    | PutQueue
    | DeleteQueue
    | PauseQueue
    | ResumeQueue
    | CreateNotification
    | ChangeNotification
    | DeleteNotification
    | ResendDelivery
    | ReportDelivery
    | CreateHook
    | ChangeHook
    | RotateHook
    | DeleteHook
    | PutTemplate
    | DeleteTemplate
    | CreateSchedule
    | ChangeSchedule
    | DeleteSchedule
    | RunSchedule
    | AnswerProbe
    | Archive
    | Tick
    | HearEnded
    | ChangeSettings
    | RefuseSettings
    | NoteRewind
)
