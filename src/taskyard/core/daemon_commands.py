"""What daemons say, and what is asked of them. How an attempt goes is in `commands.py`: others tell it too."""

from collections.abc import Sequence

from msgspec import Struct

from taskyard.core.told import NOTHING, Known, Told
from taskyard.vocabulary import InventoryState


class Held(Struct, frozen=True, gc=False):
    """One line of a daemon's inventory or heartbeat."""

    task_id: str
    attempt: int
    state: InventoryState = InventoryState.RUNNING


class Seen(Struct, frozen=True):
    """The newest position that a daemon has heard of."""

    cluster_id: str
    epoch: int
    seq: int
    takeover: str = ""
    batch_id: str = ""
    """Both ids are known only of a position that a hub of this yard has sealed: no one else can make them up."""


class JoinDaemon(Told):
    """`hello`: a daemon connected, with the list of what it still holds."""

    session: int
    user_id: str
    daemon_id: str
    """Its own from before, or one minted for it now."""
    boot_id: str
    name: str
    shared: bool = False
    capabilities: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    slots: int | None = None
    memory_mb: int | None = None
    version: str = ""
    seen: Seen | None = None
    inventory: Sequence[Held] = ()
    ephemeral: bool = False
    """It does not come back once it is gone."""
    pulls: bool = False
    """A claim: `daemon_id` is what its slots are called, and which one it gets is decided here (`claims.py`)."""
    known: Known = NOTHING


class LeaveDaemon(Told):
    """Its socket closed. Nothing ends by that: the lease decides."""

    session: int
    daemon_id: str


class Beat(Told):
    session: int
    daemon_id: str
    load: float = 0.0
    memory_free_mb: int | None = None
    running: Sequence[Held] = ()


class DrainDaemon(Told):
    """No new work for this daemon: asked by itself (`session` set) or by a person."""

    daemon_id: str
    session: int = 0
    user_id: str | None = None
    """The person's; None for an admin."""
    actor: str = ""
    reply_to: int = 0


class ResumeDaemon(Told):
    """Work for this daemon again: a person takes back that it was to drain."""

    daemon_id: str
    user_id: str | None = None
    """None for an admin."""
    actor: str = ""
    reply_to: int = 0


class ForgetDaemon(Told):
    """Forget a daemon that does not come back: a person asks for it."""

    daemon_id: str
    user_id: str | None = None
    """None for an admin."""
    actor: str = ""
    reply_to: int = 0


class ForgetUnseen(Told):
    """Forget daemons that were not heard of since then, as housekeeping."""

    seen_before: int
    reply_to: int = 0


class AcceptTask(Told):
    session: int
    daemon_id: str
    task_id: str
    attempt: int


class StartTask(Told):
    session: int
    daemon_id: str
    task_id: str
    attempt: int


class RejectTask(Told):
    session: int
    daemon_id: str
    task_id: str
    attempt: int
    reason: str = ""
    drained: bool = False
    """Handed back by a daemon that is leaving, after it had accepted."""


class ConfirmCancel(Told):
    """The daemon stopped the work it was told to stop."""

    daemon_id: str
    task_id: str
    attempt: int
    session: int = 0
    reason: str = ""
