"""Parents and children: while a running task waits for its sub-tasks, one of them at a time may run in its place.

The parent holds its slot and does nothing with it. So a sub-task that finds no room of its own may use the parent's:
it counts under no limit, and the parent's daemon runs it beyond its slots. Thereby nobody who may run one task at a
time waits for ever for what cannot start because they wait. What is not about room (a breaker, a paused or cooling
queue, an exclusive key, the month's hours) holds it like any other, unless it is its own parent that holds it: what
runs in a probe's place is part of what is tried.

That a task waits is told by whoever answers its question (`GET /tasks/{id}?wait_s=` with its token) and is forgotten
at a restart: it asks again. When it waits no longer, who runs in its place goes on there, but nobody follows. When
the parent itself ends, they take over its room (`counts.leave_place`).
"""

from taskyard.core.attempts import current
from taskyard.core.commands import BeginWait, EndWait
from taskyard.core.lanes import Lane, key_of
from taskyard.core.limits import LANE_RULES, LINE_RULES, ROOM, Hold, watch
from taskyard.core.lines import Line
from taskyard.core.placement import choose, has_memory
from taskyard.core.state import Daemon, State, Turn
from taskyard.core.task import Attempt, Task
from taskyard.vocabulary import RANK, Status
from taskyard.vocabulary.reasons import Reason


def begin_wait(turn: Turn, command: BeginWait) -> None:
    """A running task waits for one of its sub-tasks from now on; it may wait for several at once."""
    if current(turn, command.task_id, command.attempt, None) is not None:
        turn.state.waits.setdefault(command.task_id, {})[command.wait] = None
        turn.state.yard.places[command.task_id] = None


def end_wait(turn: Turn, command: EndWait) -> None:
    waits = turn.state.waits.get(command.task_id, {})
    waits.pop(command.wait, None)
    if not waits:
        turn.state.waits.pop(command.task_id, None)


def keep_place(state: State, task: Task, attempt: Attempt) -> None:
    """An attempt that was given up is taken back: its place may be gone, or taken. Then it has room of its own."""
    parent = state.tasks.get(attempt.in_place or "")
    above = None if parent is None or parent.id in state.standing else live_attempt(state, parent)
    if above is None:
        attempt.in_place, attempt.beyond = None, False
    else:
        attempt.beyond = attempt.beyond and above.daemon_id == attempt.daemon_id


def live_attempt(state: State, task: Task) -> Attempt | None:
    return task.newest if task.id in state.begun else None


def next_in_place(turn: Turn, parent_id: str) -> tuple[Lane, Task, Daemon, bool] | None:
    """The sub-task that may now run in the parent's place, where, and whether beyond that daemon's slots."""
    state = turn.state
    if parent_id not in state.waits or parent_id in state.standing:
        return None
    parent = state.tasks[parent_id]
    above = live_attempt(state, parent)
    assert above is not None, "I3: only held tasks wait"
    if parent.cancel_requested_at is not None or above.yields_to is not None:
        return None
    lanes = state.users[parent.user_id].lanes
    refused: dict[int, None] = {}
    for child in _ready_children(state, parent_id):
        lane = lanes[key_of(child)]
        if lane.number in refused:
            continue
        found = _find_daemon(turn, parent, above, lane)
        if found is not None:
            return lane, child, *found
        refused[lane.number] = None
    return None


def _ready_children(state: State, parent_id: str) -> list[Task]:
    """By level, number, age."""
    tasks = [state.tasks[child_id] for child_id in state.children.get(parent_id, ())]
    ready = [task for task in tasks if task.status is Status.QUEUED]
    return sorted(ready, key=lambda task: (RANK[task.level], -task.value, task.id))


def _find_daemon(turn: Turn, parent: Task, above: Attempt, lane: Lane) -> tuple[Daemon, bool] | None:
    """The parent's daemon, which needs no slot for it; else another that has one."""
    lines = [line for line in turn.state.yard.lines_for(lane.user, lane.key) if not _is_held(turn, parent, lane, line)]
    host = turn.state.daemons[above.daemon_id]
    if any(host in line.servers for line in lines) and _takes_in(host, parent, lane):
        return host, True
    for line in lines:
        daemon = choose(lane, line)
        if daemon is not None:
            return daemon, False
        turn.state.yard.await_daemon(parent.id, line)
    return None


def _is_held(turn: Turn, parent: Task, lane: Lane, line: Line) -> bool:
    """Whether a rule that is not about room says no; the place is looked at again when that is over."""
    hold = _first_hold(turn, parent, lane, line)
    if hold is None:
        return False
    turn.state.yard.sleep_place(parent.id, hold.blocker)
    watch(turn, hold)
    return True


def _first_hold(turn: Turn, parent: Task, lane: Lane, line: Line) -> Hold | None:
    rules = (*(rule(turn, line) for rule in LINE_RULES), *(rule(turn, lane) for rule in LANE_RULES))
    holds = (hold for hold in rules if hold is not None and hold.reason not in ROOM)
    return next((hold for hold in holds if not _is_tried_with(turn.state, parent, hold)), None)


def _is_tried_with(state: State, parent: Task, hold: Hold) -> bool:
    """Whether it is held only because its parent, or in whose place that runs itself, is the probe of its breaker or
    queue: the probe would wait for it until its time is over, and all others for the probe."""
    probe = _probe_of(state, parent.user_id, hold)
    above: str | None = None if probe is None else parent.id
    while above is not None and above != probe:
        attempt = live_attempt(state, state.tasks[above])
        above = None if attempt is None else attempt.in_place
    return above is not None


def _probe_of(state: State, user_id: str, hold: Hold) -> str | None:
    """The task that is tried now, if this hold waits for what it finds."""
    if hold.reason is Reason.BREAKER_PROBING:
        return state.users[user_id].breakers[hold.name or ""].probe
    if hold.reason is Reason.QUEUE_PROBING:
        _, queue, pool = hold.blocker
        return state.cooling[queue, pool].probe
    return None


def _takes_in(host: Daemon, parent: Task, lane: Lane) -> bool:
    """Everything that is asked of a daemon but a free slot. A suspect runs alone, also from its parent's side; while
    the daemon is only emptied for one, the sub-task brings nearer the end of what runs there."""
    is_alone = host.alone in host.holding and host.alone != parent.id
    is_free = not is_alone and lane.special.suspect is None
    return host.is_open and is_free and has_memory(lane, host) is None
