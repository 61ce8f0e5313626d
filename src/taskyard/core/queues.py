"""Model-source queues: which there are, what they serve, how many they run, and whether they are paused.

A queue is set in the file or through the API, which wins until it is removed there. The default queue is always there.
What an admin says holds from the next decision on: whoever waits for a queue sleeps under its name and is woken here.
"""

from typing import Final

from msgspec import Struct
from msgspec.json import Decoder

from taskyard.core.changes import QueueRecord
from taskyard.core.effects import Done, Refused, Reply
from taskyard.core.settings import Queue, Settings
from taskyard.core.state import State, Turn
from taskyard.core.yard_commands import DeleteQueue, PauseQueue, PutQueue, ResumeQueue
from taskyard.vocabulary import ENDED, EventName, Keeps, Refusal

NOTHING_SET: Final = Queue()
_record: Final = Decoder(QueueRecord)


class Routes(Struct, frozen=True):
    """Which queue serves which model, worked out under these settings."""

    under: Settings
    queues: dict[str, str]
    """Model to queue. Of two that list a model, the first."""


def remember(state: State, name: str, record: bytes) -> None:
    """What was kept of a queue."""
    state.queues[name] = _record.decode(record)


def queue_of(state: State, name: str) -> Queue | None:
    """What holds for a queue; None: there is none of this name."""
    record = state.queues.get(name)
    if record is not None and record.config is not None:
        return record.config
    return _unset(state, name)


def _unset(state: State, name: str) -> Queue | None:
    """What holds where the API has set nothing."""
    found = state.settings.queues.get(name)
    return NOTHING_SET if found is None and name == state.settings.default_queue else found


def queue_names(state: State) -> list[str]:
    """In the order in which a model is looked for: the file's, then the API's by name, then the default."""
    configured = sorted(name for name, record in state.queues.items() if record.config is not None)
    return list(dict.fromkeys((*state.settings.queues, *configured, state.settings.default_queue)))


def limit_of(state: State, name: str) -> int | None:
    """How many of a queue's tasks may run at a time in each pool; None: as many as there is room for."""
    queue = queue_of(state, name)
    if queue is None or (queue.max_concurrent is None and name == state.settings.default_queue):
        return None
    return 1 if queue.max_concurrent is None else queue.max_concurrent


def is_paused(state: State, name: str) -> bool:
    record = state.queues.get(name)
    return record is not None and record.paused


# Routing.


def models_of(state: State) -> dict[str, str]:
    """Every model that a queue lists, to the queue that serves it."""
    routes = state.routes
    if routes is None or routes.under is not state.settings:
        queues: dict[str, str] = {}
        for name in queue_names(state):
            queue = queue_of(state, name)
            for model in queue.models if queue is not None else ():
                queues.setdefault(model, name)
        routes = state.routes = Routes(state.settings, queues)
    return routes.queues


def route(state: State, *, queue: str | None, model: str | None) -> str:
    """The queue that was named, else the one that serves the model, else the default."""
    if queue is not None:
        return queue
    default = state.settings.default_queue
    return default if model is None else models_of(state).get(model, default)


def unroutable(state: State, *, queue: str | None, model: str | None) -> Refused | None:
    """Why no queue takes it. Where queues list models, a model is one of them; a yard without such queues takes any."""
    if queue is not None:
        if queue_of(state, queue) is not None:
            return None
        return Refused(Refusal.INVALID_INPUT, f"There is no queue {queue}.", field="queue")
    models = None if model is None else models_of(state)
    if not models or model in models:
        return None
    return Refused(Refusal.MODEL_NOT_ROUTED, f"No queue serves {model}; known are: {', '.join(models)}.", field="model")


# What an admin says.


def put(turn: Turn, command: PutQueue) -> None:
    """Set what a queue serves and how many it runs; there may be none of this name yet."""
    queue = Queue(models=command.models, max_concurrent=command.max_concurrent)
    set_queue(turn, command.name, queue, actor=command.actor)
    turn.effects.append(Reply(command.reply_to, Done()))


def set_queue(turn: Turn, name: str, new: Queue, *, actor: str) -> None:
    state, old = turn.state, queue_of(turn.state, name)
    _keep(turn, QueueRecord(name, new, is_paused(state, name)))
    _changed(turn, name)
    turn.audit(
        actor=actor,
        action="queue.set",
        subject=name,
        old=None if old is None else _in_words(old),
        new=_in_words(new),
    )


def delete(turn: Turn, command: DeleteQueue) -> None:
    """Remove what the API set: the file holds again. A queue that is not in the file is gone, unless it is needed."""
    state, name = turn.state, command.name
    refusal = _undeletable(state, name)
    if refusal is not None:
        turn.effects.append(Reply(command.reply_to, refusal))
        return
    record = state.queues.get(name)
    if record is not None and record.config is not None:
        left = _unset(state, name)
        _keep(turn, QueueRecord(name, None, record.paused and left is not None))
        _changed(turn, name)
        turn.audit(
            actor=command.actor,
            action="queue.delete",
            subject=name,
            old=_in_words(record.config),
            new=None if left is None else _in_words(left),
        )
    turn.effects.append(Reply(command.reply_to, Done()))


def _undeletable(state: State, name: str) -> Refused | None:
    if _unset(state, name) is not None:
        return None
    if queue_of(state, name) is None:
        return _unknown(name)
    # An admin's rare question, so that no task needs counting for it.
    needing = sum(task.kind.queue == name and task.status not in ENDED for task in state.tasks.values())
    if not needing:
        return None
    tasks = "1 open task is" if needing == 1 else f"{needing} open tasks are"
    return Refused(Refusal.QUEUE_IN_USE, f"{tasks} in the queue {name}; let it run empty first, or cancel them.")


def pause(turn: Turn, command: PauseQueue) -> None:
    """Nothing more of this queue starts; what runs goes on."""
    _set_paused(turn, command, is_paused=True)


def resume(turn: Turn, command: ResumeQueue) -> None:
    _set_paused(turn, command, is_paused=False)


def _set_paused(turn: Turn, command: PauseQueue | ResumeQueue, *, is_paused: bool) -> None:
    """Saying it twice changes nothing. One that left the file while it was paused can still be resumed."""
    state, name = turn.state, command.name
    record = state.queues.get(name) or QueueRecord(name)
    if name not in state.queues and queue_of(state, name) is None:
        turn.effects.append(Reply(command.reply_to, _unknown(name)))
        return
    if record.paused is not is_paused:
        _keep(turn, QueueRecord(name, record.config, is_paused))
        state.yard.wake(("paused", name))
        event = EventName.QUEUE_PAUSED if is_paused else EventName.QUEUE_RESUMED
        turn.announce(event, None, {"queue": name})
        turn.audit(actor=command.actor, action="queue.pause" if is_paused else "queue.resume", subject=name)
    turn.effects.append(Reply(command.reply_to, Done()))


def _keep(turn: Turn, record: QueueRecord) -> None:
    """A record that says nothing is not kept."""
    state = turn.state
    says_nothing = record.config is None and not record.paused
    if says_nothing:
        state.queues.pop(record.name, None)
    else:
        state.queues[record.name] = record
    state.ledger.kept[Keeps.QUEUE, record.name] = None if says_nothing else record


def _changed(turn: Turn, name: str) -> None:
    """It serves other models, or has another limit, in every pool."""
    state = turn.state
    state.routes = None
    for blocker in (*(("queue", name, pool) for pool in state.yard.pools), ("paused", name)):
        state.yard.wake(blocker)
    queue = queue_of(state, name)
    models = [] if queue is None else list(queue.models)
    turn.announce(
        EventName.QUEUE_CHANGED, None, {"queue": name, "models": models, "max_concurrent": limit_of(state, name)}
    )


def _unknown(name: str) -> Refused:
    return Refused(Refusal.QUEUE_NOT_FOUND, f"There is no queue {name}.")


def _in_words(queue: Queue) -> str:
    models = ", ".join(queue.models) or "no models"
    return models if queue.max_concurrent is None else f"{models}; {queue.max_concurrent} at a time"
