"""What the daemon's state machine wants done: records only, no rules.

`Protocol.take()` hands them out. The shell carries them out in the order of the fields of `Orders`; no frame
waits for the disk.
"""

from typing import TypeAlias

from msgspec import Raw, Struct

from taskyard.daemon.task import Task
from taskyard.wire.frames import Position, TaskExecute

Key: TypeAlias = tuple[str, int]
"""Task id and attempt number."""


class Batch(Struct, omit_defaults=True, kw_only=True):
    """One line of the journal: written whole or not at all, in this order of its fields."""

    ended: list[tuple[str, int, Raw]] = []
    """With the message that tells it, encoded."""
    forgotten: list[Key] = []
    """The hub has these outcomes, or wants none."""
    daemon_id: str | None = None
    seen: Position | None = None


class Memory(Struct, kw_only=True):
    """What a journal remembers of earlier processes."""

    daemon_id: str | None = None
    seen: Position | None = None
    ended: dict[Key, bytes] = {}
    """Outcomes the hub has not acknowledged, oldest first, each as its encoded message."""


class Whole(Struct):
    """A result too large for the wire, to be kept as a file."""

    name: str
    content: bytes


class Start(Struct):
    key: Key
    execute: TaskExecute
    task: Task | None = None
    """What `execute` holds, if the machine could read all of it: it had to look inside anyway."""


class Stop(Struct):
    """Stop this work: ask, and after the grace, force."""

    key: Key
    reason: str
    grace_ms: int


class Orders(Struct):
    keep: list[Whole] = []
    """Before the batch that mentions them; there is one whenever there are any."""
    batch: Batch | None = None
    """Batches are written in the order they were taken."""
    start: list[Start] = []
    stop: list[Stop] = []
    begin: list[Key] = []
    """The hub has heard that these start: whoever waited for that begins. What is told to stop is not among them."""
    settled: list[Key] = []
    """The hub has their outcomes, or they have none: whatever is kept of them can go."""
    lease_until: int | None = None
    """Work that must not outlive the lease has to be gone by then, whether or not this process sees to it."""
    send: list[bytes] = []
    """Encoded messages, in order, for the connection that is open now; several may share a frame."""
    hang_up: bool = False
    """Close the connection and call `disconnected`."""
    connect_in_ms: int | None = None
    """Not connected: dial after this long."""
    leave: str | None = None
    """The daemon is done, and why. Empty: it was asked to go and owes nothing."""
