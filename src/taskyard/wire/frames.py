"""The daemon protocol, version 1: every message between hub and daemon.

A WebSocket text frame is one message or an array of messages. Unknown fields are ignored by both
sides, so that either may be newer; an unknown `type` is answered with an `error` and changes nothing.
Bodies that only pass through (`result`, `data`, the task itself) stay encoded: `Raw`.
"""

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from taskyard.vocabulary import CancelReason, InventoryState, InventoryVerdict, Pressure, PressureScope, ResultStatus

PROTOCOL: Final = 1
FRAME_BYTES_MAX: Final = 4 * 1024 * 1024
FRAME_MESSAGES_MAX: Final = 4096

# How the hub closes a daemon's socket; the reason travels in an `error` message before it. The first two codes are
# RFC 6455's: for a frame that is no UTF-8, and for more control frames and fragments than are taken.
CLOSE_NOT_UTF8: Final = 1007
CLOSE_FLOODING: Final = 1008
CLOSE_UNAUTHENTICATED: Final = 4401
CLOSE_PROTOCOL: Final = 4400
CLOSE_SUPERSEDED: Final = 4409
CLOSE_NOT_READING: Final = 4408
CLOSE_RESTARTING: Final = 4503
CLOSE_REWOUND: Final = 4410


class Item(Struct, omit_defaults=True, gc=False):
    """One attempt in a daemon's inventory."""

    task_id: str
    attempt: int
    state: InventoryState = InventoryState.RUNNING


class Position(Struct, omit_defaults=True):
    cluster_id: str
    epoch: int
    seq: int
    sealed: str | None = None
    """The same, with ids, as the hub sealed it. Only with this does a position stop a hub that lacks it."""


class WireError(Struct, omit_defaults=True):
    code: str = "UNKNOWN"
    message: str = ""
    retryable: bool | None = None
    details: dict[str, object] | None = None


class WireUsage(Struct, omit_defaults=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class DecisionReport(Struct, omit_defaults=True):
    decision: str
    reasoning: str
    alternatives: list[object] = []
    risks: list[object] = []
    verification: object = None


# Daemon to hub.


class Hello(Struct, tag="hello", omit_defaults=True, kw_only=True):
    protocol: int
    boot_id: str
    name: str
    daemon_id: str | None = None
    shared: bool = False
    capabilities: list[str] = []
    models: list[str] = []
    types: list[str] = []
    max_concurrent_tasks: int | None = None
    memory_mb: int | None = None
    version: str = ""
    seen: Position | None = None
    ephemeral: bool = False
    """It does not come back once it is gone: the hub is to forget it then."""
    inventory: list[Item] = []


class Heartbeat(Struct, tag="heartbeat", omit_defaults=True):
    load: float = 0.0
    memory_free_mb: int | None = None
    running: list[Item] = []


class TaskAccepted(Struct, tag="task.accepted"):
    task_id: str
    attempt: int


class TaskStarted(Struct, tag="task.started"):
    task_id: str
    attempt: int


class TaskProgress(Struct, tag="task.progress", omit_defaults=True):
    task_id: str
    attempt: int
    percent: float | None = None
    message: str | None = None
    log: str | None = None


class TaskCheckpoint(Struct, tag="task.checkpoint"):
    task_id: str
    attempt: int
    data: Raw


class TaskCompleted(Struct, tag="task.completed", omit_defaults=True):
    task_id: str
    attempt: int
    # Not `Raw | None`: msgspec decodes that as null or nothing, and would refuse every result.
    result: Raw | UnsetType = UNSET
    summary: str | None = None
    result_status: ResultStatus = ResultStatus.SUCCESS
    files_changed: list[str] | None = None
    decision_report: DecisionReport | None = None
    usage: WireUsage | None = None


class TaskFailed(Struct, tag="task.failed", omit_defaults=True):
    task_id: str
    attempt: int
    error: WireError
    usage: WireUsage | None = None


class TaskCancelled(Struct, tag="task.cancelled", omit_defaults=True):
    task_id: str
    attempt: int
    reason: str = ""


class TaskRejected(Struct, tag="task.rejected", omit_defaults=True):
    task_id: str
    attempt: int
    reason: str = ""


class Drain(Struct, tag="drain"):
    pass


FromDaemon = (
    Hello
    | Heartbeat
    | TaskAccepted
    | TaskStarted
    | TaskProgress
    | TaskCheckpoint
    | TaskCompleted
    | TaskFailed
    | TaskCancelled
    | TaskRejected
    | Drain
)


# Hub to daemon.


class Judgement(Struct):
    task_id: str
    attempt: int
    verdict: InventoryVerdict


class Welcome(Struct, tag="welcome", omit_defaults=True):
    protocol: int
    daemon_id: str
    heartbeat_s: float
    lease_s: float
    inventory: list[Judgement]
    cluster_id: str
    epoch: int
    seq: int
    sealed: str | None = None


class Rejoin(Struct, tag="rejoin"):
    """Another hub leads now: say `hello` again, on this connection."""


class TaskExecute(Struct, tag="task.execute"):
    task: Raw
    """The task's object: `id`, `ref`, `type`, `input` and the rest of its content."""
    attempt: int
    timeout: float
    token: str
    context_input: Raw
    checkpoint: Raw
    previous_attempts: Raw


class CancelTask(Struct, tag="cancel_task"):
    task_id: str
    attempt: int
    reason: CancelReason
    grace_s: float


class Ack(Struct, tag="ack", omit_defaults=True):
    task_id: str
    attempt: int
    cluster_id: str
    epoch: int
    seq: int
    sealed: str | None = None


class HeartbeatAck(Struct, tag="heartbeat.ack", omit_defaults=True):
    cluster_id: str
    epoch: int
    seq: int
    sealed: str | None = None


class SlowDown(Struct, tag="slowdown"):
    queue: str
    wait: float


class Backpressure(Struct, tag="backpressure"):
    """How it stands with the line. The same object is the answer of `GET /backpressure` and in a refusal's body."""

    level: Pressure
    scope: PressureScope
    queue_depth: int
    estimated_wait_time: float | None = None
    recommendations: list[str] = []


class Error(Struct, tag="error"):
    code: str
    message: str


ToDaemon = Welcome | Rejoin | TaskExecute | CancelTask | Ack | HeartbeatAck | SlowDown | Backpressure | Error


_from_daemon = msgspec.json.Decoder(FromDaemon | list[FromDaemon])
_to_daemon = msgspec.json.Decoder(ToDaemon | list[ToDaemon])
encode: Final[Callable[[FromDaemon | ToDaemon], bytes]] = msgspec.json.Encoder().encode


def decode_from_daemon(frame: bytes | str) -> list[FromDaemon]:
    """The messages of one frame; `msgspec.DecodeError` says what is wrong with it."""
    decoded = _from_daemon.decode(frame)
    return decoded if isinstance(decoded, list) else [decoded]


def decode_to_daemon(frame: bytes | str) -> list[ToDaemon]:
    decoded = _to_daemon.decode(frame)
    return decoded if isinstance(decoded, list) else [decoded]


def join(messages: list[bytes]) -> bytes:
    """Encoded messages as one frame."""
    return messages[0] if len(messages) == 1 else b"[" + b",".join(messages) + b"]"
