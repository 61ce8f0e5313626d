"""Bodies about model-source queues."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from taskyard.vocabulary import QueueState
from taskyard.wire.fields import Instant, Name

MODELS_MAX: Final = 1000
CONCURRENT_MAX: Final = 1_000_000


class QueueChange(Struct, forbid_unknown_fields=True, kw_only=True):
    """What a queue serves, and how many of its tasks run at a time in each pool.

    `max_concurrent` null: one for a model source, no limit for the default queue.
    """

    models: Annotated[list[Name], Meta(max_length=MODELS_MAX)] = []
    max_concurrent: Annotated[int, Meta(ge=1, le=CONCURRENT_MAX)] | None = None


class QueueAnswer(Struct, kw_only=True):
    """A queue as its caller meets it: `waiting` and `running` count their own tasks, `waiting` those that are ready.

    It is `cooling` after its provider refused it, wherever the caller's tasks could run. `until` says when one of them
    may try again, also of one that is paused; it is null while one does.
    """

    name: str
    models: list[str]
    max_concurrent: int | None
    state: QueueState
    until: Instant | None
    waiting: int
    running: int
