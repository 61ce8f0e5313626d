"""What the core wants done once its changes are on disk.

Effects are released in the order of their commits, never before. `changes.py` holds the other half:
what a commit writes.
"""

from msgspec import Struct

from taskyard.core.daemon_commands import Held, Seen
from taskyard.core.eras import Lack
from taskyard.core.settings import Lease
from taskyard.vocabulary import CancelReason, InventoryVerdict, Pressure, PressureScope, Refusal


class Signal(Struct, frozen=True):
    """How long a line is, and what follows for those who add to it (`pressure.py`)."""

    level: Pressure
    scope: PressureScope
    depth: int
    wait_ms: int | None = None
    """Until a task that comes now is started; None: it is not known."""
    advice: tuple[str, ...] = ()


class Refused(Struct, frozen=True, tag=True, omit_defaults=True):
    """The hub says no; nothing changed."""

    code: Refusal
    detail: str
    field: str | None = None
    index: int | None = None
    """Of the task in its batch."""
    kept: bool = False
    """A stale attempt's result was kept all the same."""
    retry_after_ms: int | None = None
    """When the same would be taken, if that is known."""
    pressure: Signal | None = None
    """With a limit on what comes in: how it stands with the line."""


class Submitted(Struct, frozen=True, tag=True, omit_defaults=True):
    """Per draft, in order: the task's id, whether it was there already; and what was refused."""

    ids: tuple[str, ...]
    deduplicated: tuple[bool, ...]
    rejected: tuple[Refused, ...] = ()


class Done(Struct, frozen=True, tag=True, omit_defaults=True):
    """It is so. `task_id` names the task to show, if the caller is shown one."""

    task_id: str | None = None
    also: tuple[str, ...] = ()
    """Other tasks the same decision ended."""


class Imported(Struct, frozen=True, tag=True, omit_defaults=True):
    """Per arrival, in order: whether it was there already; and, of a look without taking, what would be refused."""

    there: tuple[bool, ...]
    refused: tuple[Refused, ...] = ()
    queues: tuple[str, ...] = ()
    """Those that are made along with it."""


Answer = Refused | Submitted | Imported | Done


class Reply(Struct, frozen=True):
    to: int
    answer: Answer


class Judged(Struct, frozen=True):
    held: Held
    verdict: InventoryVerdict


class Welcome(Struct, frozen=True):
    session: int
    daemon_id: str
    verdicts: tuple[Judged, ...]
    lease: Lease = Lease()
    """What it is promised, and judged by until it comes anew."""


class Execute(Struct, frozen=True):
    """Send this task to its daemon; the shell adds body, checkpoint and token."""

    session: int
    daemon_id: str
    task_id: str
    attempt: int
    timeout_ms: int


class CancelWork(Struct, frozen=True):
    session: int
    task_id: str
    attempt: int
    reason: CancelReason
    grace_ms: int


class Acknowledge(Struct, frozen=True):
    """The attempt's outcome is on disk; the daemon may forget it."""

    session: int
    task_id: str
    attempt: int


class AcknowledgeBeat(Struct, frozen=True):
    session: int


class SlowDown(Struct, frozen=True):
    """A provider refused what another daemon asked of it: leave it alone for so long."""

    session: int
    queue: str
    wait_ms: int


class CloseSession(Struct, frozen=True):
    """Say why in an `error` frame, then close the socket."""

    session: int
    code: str
    message: str


class Progressed(Struct, frozen=True):
    """Soft: to whoever watches, not kept."""

    task_id: str
    user_id: str
    number: int
    attempt: int
    percent: float | None
    message: str | None
    log: str | None


class SignalPressure(Struct, frozen=True):
    """Tell a daemon how it stands with the line."""

    session: int
    signal: Signal


class AskProbe(Struct, frozen=True):
    """Ask this address whether there is something to do; the answer comes back as a command."""

    schedule_id: str
    due_at: int
    url: str
    timeout_ms: int


class Contradicted(Struct, frozen=True):
    """A sealed position proves that this log lacks commits: the hub that leads by it must stop."""

    by: str
    seen: Seen
    lack: Lack


Effect = (
    Reply
    | Contradicted
    | AskProbe
    | Welcome
    | Execute
    | CancelWork
    | Acknowledge
    | AcknowledgeBeat
    | SlowDown
    | CloseSession
    | Progressed
    | SignalPressure
)
