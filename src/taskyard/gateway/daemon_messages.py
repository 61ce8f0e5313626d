"""From a daemon's message to a command of the core. One function per message; the hot path of results."""

from collections.abc import Callable
from typing import Final

from msgspec import UNSET

from taskyard.core.commands import Command, CompleteTask, FailTask, ReportProgress, SaveCheckpoint
from taskyard.core.daemon_commands import (
    AcceptTask,
    Beat,
    ConfirmCancel,
    DrainDaemon,
    Held,
    JoinDaemon,
    RejectTask,
    StartTask,
)
from taskyard.core.settings import Sizes
from taskyard.gateway.daemon_positions import seen_of
from taskyard.gateway.translate import cut, failure_of, outcome_of, said_retry_after, usage_of
from taskyard.vocabulary import AttemptStatus
from taskyard.wire import frames
from taskyard.wire.depth import has_wild_number
from taskyard.wire.fields import CHECKPOINT_BYTES_MAX, NAME_CHARS_MAX

LIST_MAX: Final = 1000
INVENTORY_MAX: Final = 100_000
SLOTS_MAX: Final = 100_000
_SIZES: Final = Sizes()


class BadMessage(Exception):
    """Well-formed, and still not to be taken: the socket is closed with this said."""


def join_of(
    hello: frames.Hello,
    *,
    session: int,
    user_id: str,
    daemon_id: str,
    unseal: Callable[[str, str], str | None],
) -> JoinDaemon:
    """`unseal` is the yard's (`gateway/port.py`)."""
    _check_hello(hello)
    return JoinDaemon(
        session=session,
        user_id=user_id,
        daemon_id=daemon_id,
        boot_id=hello.boot_id,
        name=hello.name,
        shared=hello.shared,
        capabilities=tuple(hello.capabilities),
        models=tuple(hello.models),
        types=tuple(hello.types),
        slots=hello.max_concurrent_tasks,
        memory_mb=hello.memory_mb,
        version=hello.version,
        seen=None if hello.seen is None else seen_of(unseal, hello.seen),
        ephemeral=hello.ephemeral,
        inventory=tuple(Held(item.task_id, item.attempt, item.state) for item in hello.inventory),
    )


def _check_hello(hello: frames.Hello) -> None:
    names = (hello.name, hello.boot_id, hello.version, hello.daemon_id or "", *hello.capabilities)
    names += (*hello.models, *hello.types)
    if not hello.name or not hello.boot_id:
        raise BadMessage("hello: `name` and `boot_id` must not be empty")
    if any(len(name) > NAME_CHARS_MAX or not name.isprintable() for name in names):
        raise BadMessage(f"hello: names are printable and have at most {NAME_CHARS_MAX} characters")
    if max(len(hello.capabilities), len(hello.models), len(hello.types)) > LIST_MAX:
        raise BadMessage(f"hello: at most {LIST_MAX} capabilities, models and types each")
    if len(hello.inventory) > INVENTORY_MAX:
        raise BadMessage(f"hello: at most {INVENTORY_MAX} attempts in the inventory")
    slots = hello.max_concurrent_tasks
    if slots is not None and not 0 < slots <= SLOTS_MAX:
        raise BadMessage(f"hello: `max_concurrent_tasks` is 1 to {SLOTS_MAX}")
    if hello.memory_mb is not None and not 0 <= hello.memory_mb <= 2**40:
        raise BadMessage("hello: `memory_mb` is out of range")


class Translator:
    """The commands of one joined session."""

    __slots__ = ("_session", "daemon_id", "size")

    def __init__(self, *, session: int, daemon_id: str, size: Sizes = _SIZES) -> None:
        self._session = session
        self.daemon_id = daemon_id
        self.size = size
        """Those of the moment: whoever reads the socket keeps them new."""

    def command_of(self, message: frames.FromDaemon, now_ms: int) -> Command:
        session, daemon_id = self._session, self.daemon_id
        match message:
            case frames.TaskCompleted():
                return self._completed(message)
            case frames.TaskAccepted():
                return AcceptTask(session, daemon_id, message.task_id, message.attempt)
            case frames.TaskStarted():
                return StartTask(session, daemon_id, message.task_id, message.attempt)
            case frames.Heartbeat():
                return self._beat(message)
            case frames.TaskProgress():
                return self._progress(message)
            case frames.TaskFailed():
                return self._failed(message, now_ms)
            case frames.TaskCheckpoint():
                return self._checkpoint(message)
            case frames.TaskCancelled():
                return ConfirmCancel(daemon_id, message.task_id, message.attempt, session, cut(message.reason))
            case frames.TaskRejected():
                drained = message.reason == AttemptStatus.DRAINED
                reason = cut(message.reason)
                return RejectTask(session, daemon_id, message.task_id, message.attempt, reason, drained)
            case frames.Drain():
                return DrainDaemon(daemon_id, session)
            case frames.Hello():
                raise BadMessage("hello: said already")

    def _completed(self, message: frames.TaskCompleted) -> CompleteTask:
        if message.result is not UNSET and has_wild_number(bytes(message.result)):
            raise BadMessage("task.completed: a number is beyond what JSON readers can hold; send it as text")
        return CompleteTask(
            self.daemon_id,
            message.task_id,
            message.attempt,
            self._session,
            outcome_of(message.result, message.files_changed, message.decision_report, self.size.result),
            None if message.summary is None else cut(message.summary),
            message.result_status,
            message.decision_report is not None,
            usage_of(message.usage),
        )

    def _failed(self, message: frames.TaskFailed, now_ms: int) -> FailTask:
        return FailTask(
            daemon_id=self.daemon_id,
            task_id=message.task_id,
            attempt=message.attempt,
            error=failure_of(message.error),
            session=self._session,
            usage=usage_of(message.usage),
            retry_after_ms=said_retry_after(message.error, now_ms),
        )

    def _beat(self, message: frames.Heartbeat) -> Beat:
        running = tuple(Held(item.task_id, item.attempt, item.state) for item in message.running)
        return Beat(self._session, self.daemon_id, message.load, message.memory_free_mb, running)

    def _progress(self, message: frames.TaskProgress) -> ReportProgress:
        percent = message.percent
        return ReportProgress(
            daemon_id=self.daemon_id,
            task_id=message.task_id,
            attempt=message.attempt,
            session=self._session,
            percent=None if percent is None else min(max(percent, 0.0), 100.0),
            message=None if message.message is None else cut(message.message),
            log=message.log,
        )

    def _checkpoint(self, message: frames.TaskCheckpoint) -> SaveCheckpoint:
        data = bytes(message.data)
        if len(data) > CHECKPOINT_BYTES_MAX:
            raise BadMessage(f"task.checkpoint: `data` has {len(data):,} bytes, over {CHECKPOINT_BYTES_MAX:,}")
        return SaveCheckpoint(self.daemon_id, message.task_id, message.attempt, data, self._session)
