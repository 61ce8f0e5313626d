"""What the hub shows of its live state to whoever serves it (`gateway/port.py`): one struct for each kind of thing.

They are copies: nobody who holds one can change the hub, and they travel over the link as they are.
"""

from msgspec import Struct

from taskyard.core.notices import Delivery
from taskyard.core.schedule_records import Occurrence, Probe, Skip
from taskyard.vocabulary import BreakerState, DaemonStatus, HookProvider, Level, QueueState, Status
from taskyard.vocabulary.notices import NoticeName
from taskyard.vocabulary.schedules import CatchUp


class DaemonView(Struct):
    """A daemon as `GET /daemons` shows it."""

    id: str
    name: str
    user_id: str
    shared: bool
    status: DaemonStatus
    capabilities: tuple[str, ...]
    models: tuple[str, ...]
    types: tuple[str, ...]
    active_tasks: int
    max_concurrent_tasks: int
    current_load: float
    memory_free_mb: int | None
    last_heartbeat: int | None
    connected_at: int | None
    version: str
    running: list[tuple[str, int]]
    """(task id, attempt)."""


class QueueView(Struct):
    """A queue as `GET /queues` shows it to one user."""

    name: str
    models: tuple[str, ...]
    max_concurrent: int | None
    state: QueueState
    until: int | None
    """Of one that cools down: when the first of the user's tasks may try again; None while one does."""
    waiting: int
    running: int


class BreakerView(Struct):
    """A breaker as `GET /breakers` shows it."""

    type: str
    state: BreakerState
    failures: int
    last_failure_at: int | None
    opened_at: int | None
    half_open_at: int | None
    probe: str | None
    """The id of the task that tries."""
    failure_threshold: int
    cooldown: float
    user_id: str = ""
    """Whose; a hub of the version before does not say."""


class HookView(Struct):
    """An inbound webhook as its owner is shown it."""

    id: str
    user_id: str
    name: str
    provider: HookProvider
    template: str
    """As JSON."""
    max_priority: Level | None
    created_at: int
    previous_until: int | None
    """How long the secret before this one is good; None: there is none that is."""
    events: tuple[str, ...]
    """Those that become tasks; none: all do."""
    deliveries: int
    """Those that became tasks."""
    last_delivery_at: int | None


class Receiver(Struct):
    """An inbound webhook as a delivery meets it. Nobody is ever shown this."""

    id: str
    user_id: str
    provider: HookProvider
    secrets: tuple[str, ...]
    """Those that are good now."""
    template: str
    max_priority: Level | None
    events: tuple[str, ...]


class TemplateView(Struct):
    """A template of tasks, as its owner wrote it."""

    user_id: str
    name: str
    content: str
    """Its task and defaults, as JSON."""
    created_at: int
    changed_at: int


class ScheduleView(Struct):
    """A schedule as `GET /schedules` shows it, with what its next runs follow from."""

    id: str
    user_id: str
    name: str
    every: str | None
    every_ms: int | None
    cron: str | None
    timezone: str
    task: bytes
    """As its owner wrote it down."""
    enabled: bool
    catch_up: CatchUp
    max_lateness_ms: int | None
    probe: Probe | None
    created_at: int
    anchor: int
    through: int
    next_run_at: int | None
    last_run_at: int | None
    last_task_id: str | None
    last_outcome: Status | None
    runs: int
    skipped: int
    last_skip: Skip | None
    recent: list[Occurrence] = []
    """What became of the last due runs, oldest first; in lists of schedules it is left out."""


class UsageView(Struct):
    """What a user may have and has; None: as much as there is."""

    plan: str | None
    max_concurrent: int | None
    duration_ms: int | None
    limit_ms: int | None
    """Of agent time per month."""
    used_ms: int
    """With what runs now."""
    resets_at: int
    running: int
    pending: int
    max_pending: int | None
    max_priority: Level | None
    can_start: bool
    """One more task, as far as it is a matter of the plan."""


class NotificationView(Struct):
    """A notification as `GET /notifications` shows it: without its secret."""

    id: str
    url: str
    events: tuple[NoticeName, ...]
    hub: bool
    created_at: int
    pending: int
    dead: int
    dropped: int


class DeliveryView(Struct):
    """A delivery, and what only its sender knows of it."""

    delivery: Delivery
    is_under_way: bool = False
    host_rests_until: int | None = None
    """Its host failed several times in a row, and is left alone until then."""


class HubView(Struct):
    """A hub of this yard as `GET /hubs` shows it."""

    id: str
    address: str
    """Under which people and daemons reach it."""
    leader: bool
    epoch: int | None
    """Of whoever leads; None: nobody does."""
    since: int
    """When it began to lead, or to run."""
    lag_ms: int
    """How long ago it was last heard of."""


class ProgressView(Struct):
    percent: float | None
    message: str | None
