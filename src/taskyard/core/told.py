"""What commands are made of, whatever they are about."""

from msgspec import Struct, field

from taskyard.core.task import Task


class Told(Struct, tag=True, tag_field="command", omit_defaults=True):
    """What every command is."""


class Keep(Struct, frozen=True):
    """In a change: leave this field as it is (None means: remove it)."""


KEEP = Keep()


class Known(Struct, frozen=True):
    """What the shell read in the store for this command, as of `read_seq`."""

    read_seq: int = 0
    tasks: dict[str, Task] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    """Idempotency key to task id; that task is in `tasks`."""
    asked: dict[str, None] = field(default_factory=dict)
    """Everything that was looked up, found or not."""
    batches: dict[int, str] = field(default_factory=dict)
    """Commit number to batch id, of those that the log still keeps."""


NOTHING = Known()
