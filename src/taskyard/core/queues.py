"""Model-source queues: which there are, what they serve, how many they run, and whether they are paused.

A queue is set in the file or through the API, which wins until it is removed there. The default queue is always there.
"""

from typing import Final

from msgspec.json import Decoder

from taskyard.core.changes import QueueRecord
from taskyard.core.settings import Queue
from taskyard.core.state import State

NOTHING_SET: Final = Queue()
_record: Final = Decoder(QueueRecord)


def remember(state: State, name: str, record: bytes) -> None:
    """What was kept of a queue."""
    state.queues[name] = _record.decode(record)


def queue_of(state: State, name: str) -> Queue | None:
    """What holds for a queue; None: there is none of this name."""
    record = state.queues.get(name)
    if record is not None and record.config is not None:
        return record.config
    found = state.settings.queues.get(name)
    return NOTHING_SET if found is None and name == state.settings.default_queue else found


def queue_names(state: State) -> list[str]:
    """In the order in which a model is looked for: the file's, then the API's, then the default."""
    configured = [name for name, record in state.queues.items() if record.config is not None]
    return list(dict.fromkeys((*state.settings.queues, *configured, state.settings.default_queue)))


def limit_of(state: State, name: str) -> int | None:
    """How many of a queue's tasks may run at a time in each pool; None: as many as there is room for."""
    queue = queue_of(state, name)
    if queue is None or (queue.max_concurrent is None and name == state.settings.default_queue):
        return None
    return 1 if queue.max_concurrent is None else queue.max_concurrent
