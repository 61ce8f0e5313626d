"""The words of Taskyard, each in one place: states, levels, codes, event names.

Everything else imports its words from here, so that the enum, the SQL row, the HTTP answer, the CLI
table and the log line spell one thing one way. Words of one matter alone have a file of their own beside this one,
which imports nothing of ours. Nothing is decided here.
"""

from enum import StrEnum
from typing import Final


class Status(StrEnum):
    """Where a task stands. `core/lifecycle.py` says what leads to what."""

    PENDING = "pending"
    WAITING = "waiting"
    BLOCKED = "blocked"
    QUEUED = "queued"
    SCHEDULED = "scheduled"
    RUNNING = "running"
    FAILED = "failed"
    TIMEOUT = "timeout"
    PERMANENTLY_FAILED = "permanently_failed"
    SKIPPED = "skipped"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    STALE = "stale"


FINAL: Final = frozenset({Status.COMPLETED, Status.CANCELLED, Status.STALE})
# Left the hot table: nothing happens to these by itself. A person may still bring back the last two.
ENDED: Final = FINAL | {Status.SKIPPED, Status.PERMANENTLY_FAILED}
# A daemon holds these.
HELD: Final = frozenset({Status.SCHEDULED, Status.RUNNING})

STATUS_ALIASES: Final[dict[str, tuple[Status, ...]]] = {
    "claimed": (Status.SCHEDULED,),
    "in-progress": (Status.SCHEDULED, Status.RUNNING),
    "done": (Status.COMPLETED,),
    "failed": (Status.PERMANENTLY_FAILED,),
    "dead-letter": (Status.PERMANENTLY_FAILED,),
}


class AttemptStatus(StrEnum):
    """One try: `running` until it ends in one of the others."""

    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    TIMEOUT = "timeout"
    INCOMPLETE = "incomplete"
    LOST = "lost"
    PREEMPTED = "preempted"
    CANCELLED = "cancelled"
    RATE_LIMITED = "rate_limited"
    REJECTED = "rejected"
    DRAINED = "drained"


COUNTED: Final = frozenset({AttemptStatus.FAILED, AttemptStatus.TIMEOUT, AttemptStatus.INCOMPLETE})
"""The ends that count against `max_attempts`."""


class Level(StrEnum):
    CRITICAL = "critical"
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class PriorityScale(StrEnum):
    """How the numbers of a key's client are meant, if not from 10 (most urgent) down to 1."""

    URGENT_FIRST = "1-4"


RANK: Final[dict[Level, int]] = {Level.CRITICAL: 0, Level.HIGH: 1, Level.NORMAL: 2, Level.LOW: 3}
"""Smaller runs first."""


class Profile(StrEnum):
    """Whether the hub's own person is limited: on one's own machine not, in a service like everybody."""

    LOCAL = "local"
    SERVICE = "service"


class SourceType(StrEnum):
    USER = "user"
    PROACTIVE = "proactive"
    WEBHOOK = "webhook"
    SCHEDULE = "schedule"
    AGENT = "agent"


class HookProvider(StrEnum):
    """Whose way of signing an inbound webhook follows."""

    GITHUB = "github"
    STRIPE = "stripe"
    SLACK = "slack"
    GENERIC = "generic"
    """Standard Webhooks."""


class DependsPolicy(StrEnum):
    """What becomes of a task whose dependency ended badly."""

    BLOCK = "block"
    SKIP = "skip"
    CONTINUE = "continue"


class LostPolicy(StrEnum):
    REQUEUE = "requeue"
    FAIL = "fail"


class Backoff(StrEnum):
    LINEAR = "linear"
    EXPONENTIAL = "exponential"


class ResultStatus(StrEnum):
    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"


class Verdict(StrEnum):
    """What a person decides about a dead letter."""

    RETRY = "retry"
    WAIT = "wait"
    DISCARD = "discard"
    ESCALATE = "escalate"


class ChatCommand(StrEnum):
    """What a chat message can ask for besides new tasks."""

    CANCEL = "cancel"
    RETRY = "retry"
    SKIP = "skip"
    STATUS = "status"
    """Of one task, if one is named; else of all."""
    QUEUE = "queue"
    """How a queue stands, if one is named; else how all of them do."""


class Scope(StrEnum):
    TASKS = "tasks"
    DAEMON = "daemon"
    AGENT = "agent"
    ADMIN = "admin"


class DaemonStatus(StrEnum):
    ONLINE = "online"
    BUSY = "busy"
    DRAINING = "draining"
    OFFLINE = "offline"


class BreakerState(StrEnum):
    """What a breaker lets through: everything, nothing, one task."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class QueueState(StrEnum):
    OPEN = "open"
    PAUSED = "paused"
    COOLING = "cooling"


class InventoryState(StrEnum):
    """What a daemon says of an attempt it still knows."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    ENDED = "ended"


class InventoryVerdict(StrEnum):
    """What the hub answers to it."""

    CONTINUE = "continue"
    ABORT = "abort"
    SEND_RESULT = "send_result"
    FORGET = "forget"


class OnLoss(StrEnum):
    """What becomes of work when nobody hears of it: its hub is away longer than the lease, or its daemon died."""

    CONTINUE = "continue"
    KILL = "kill"


class CancelReason(StrEnum):
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    TIMEOUT = "timeout"
    WITHDRAWN = "withdrawn"


class ErrorCode(StrEnum):
    """Codes of a task's `error` that the hub itself gives or treats specially. Agents may send others."""

    EXECUTION_TIMEOUT = "EXECUTION_TIMEOUT"
    INVALID_INPUT = "INVALID_INPUT"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    RESOURCE_NOT_FOUND = "RESOURCE_NOT_FOUND"
    RATE_LIMITED = "RATE_LIMITED"
    CONNECTION_LOST = "CONNECTION_LOST"
    DAEMON_CRASHED = "DAEMON_CRASHED"
    DAEMON_UNRESPONSIVE = "DAEMON_UNRESPONSIVE"
    DAEMON_DISCONNECTED = "DAEMON_DISCONNECTED"
    DAEMON_NOT_FOUND = "DAEMON_NOT_FOUND"
    DECISION_REPORT_MISSING = "DECISION_REPORT_MISSING"
    AGENT_REPORTED_FAILURE = "AGENT_REPORTED_FAILURE"
    DEADLINE_PASSED = "DEADLINE_PASSED"
    NOT_STARTED = "NOT_STARTED"
    POISON_TASK = "POISON_TASK"
    DEPENDENCY_DAMAGED = "DEPENDENCY_DAMAGED"


class Category(StrEnum):
    """What kind of failure an error is; `core/retry.py` says what follows."""

    TRANSIENT = "transient"
    TIMEOUT = "timeout"
    PERMANENT = "permanent"
    RATE_LIMITED = "rate_limited"
    INCOMPLETE = "incomplete"


class Refusal(StrEnum):
    """Every code an HTTP caller can meet. `wire/problems.py` gives each its status and title."""

    TOO_MANY_PENDING = "TOO_MANY_PENDING"
    TASK_ALREADY_COMPLETED = "TASK_ALREADY_COMPLETED"
    TOO_MANY_NOTIFICATIONS = "TOO_MANY_NOTIFICATIONS"
    TOO_MANY_SCHEDULES = "TOO_MANY_SCHEDULES"
    TOO_MANY_HOOKS = "TOO_MANY_HOOKS"
    TOO_MANY_TEMPLATES = "TOO_MANY_TEMPLATES"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    BAD_SIGNATURE = "BAD_SIGNATURE"
    FORBIDDEN = "FORBIDDEN"
    MONTHLY_LIMIT_REACHED = "MONTHLY_LIMIT_REACHED"
    TASK_NOT_FOUND = "TASK_NOT_FOUND"
    DAEMON_NOT_FOUND = "DAEMON_NOT_FOUND"
    USER_NOT_FOUND = "USER_NOT_FOUND"
    KEY_NOT_FOUND = "KEY_NOT_FOUND"
    QUEUE_NOT_FOUND = "QUEUE_NOT_FOUND"
    SCHEDULE_NOT_FOUND = "SCHEDULE_NOT_FOUND"
    PLAN_NOT_FOUND = "PLAN_NOT_FOUND"
    NOTIFICATION_NOT_FOUND = "NOTIFICATION_NOT_FOUND"
    DELIVERY_NOT_FOUND = "DELIVERY_NOT_FOUND"
    HOOK_NOT_FOUND = "HOOK_NOT_FOUND"
    TEMPLATE_NOT_FOUND = "TEMPLATE_NOT_FOUND"
    NOT_FOUND = "NOT_FOUND"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    DAEMON_LEAVING = "DAEMON_LEAVING"
    DAEMON_IN_USE = "DAEMON_IN_USE"
    INVALID_TRANSITION = "INVALID_TRANSITION"
    STALE_ATTEMPT = "STALE_ATTEMPT"
    NAME_TAKEN = "NAME_TAKEN"
    QUEUE_IN_USE = "QUEUE_IN_USE"
    IDEMPOTENCY_KEY_TAKEN = "IDEMPOTENCY_KEY_TAKEN"
    BAD_REQUEST = "BAD_REQUEST"
    REQUEST_TIMEOUT = "REQUEST_TIMEOUT"
    URI_TOO_LONG = "URI_TOO_LONG"
    TOO_LARGE = "TOO_LARGE"
    INVALID_INPUT = "INVALID_INPUT"
    DEPENDENCY_NOT_FOUND = "DEPENDENCY_NOT_FOUND"
    DEPENDENCY_CYCLE = "DEPENDENCY_CYCLE"
    MODEL_NOT_ROUTED = "MODEL_NOT_ROUTED"
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED"
    RATE_LIMITED = "RATE_LIMITED"
    RECORD_DAMAGED = "RECORD_DAMAGED"
    BACKPRESSURE = "BACKPRESSURE"
    NO_LEADER = "NO_LEADER"
    HUB_REWOUND = "HUB_REWOUND"
    OVERLOADED = "OVERLOADED"
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"


class Keeps(StrEnum):
    """Kinds of small records the policies keep over a restart."""

    BREAKER = "breaker"
    BUCKET = "bucket"
    COOLING = "cooling"
    HOOK = "hook"
    HOOK_DELIVERIES = "hook_deliveries"
    NOTIFICATION = "notification"
    DELIVERY = "notification_delivery"
    """Behind what it is of, also where records are read in the order of their kinds."""
    PRESSURE = "pressure"
    QUEUE = "queue"
    SCHEDULE = "schedule"
    SCHEDULE_RUNS = "schedule_runs"
    TEMPLATE = "template"
    USAGE = "usage"


class Pressure(StrEnum):
    """How long the line is: as it should be, long enough to slow down, too long to take everything."""

    NORMAL = "normal"
    WARNING = "warning"
    CRITICAL = "critical"


class PressureScope(StrEnum):
    """Whose line is meant."""

    USER = "user"
    HUB = "hub"


class EventName(StrEnum):
    TASK_CREATED = "task.created"
    TASK_IMPORTED = "task.imported"
    TASK_PENDING = "task.pending"
    TASK_WAITING = "task.waiting"
    TASK_QUEUED = "task.queued"
    TASK_WAITING_FOR_DAEMON = "task.waiting_for_daemon"
    TASK_SCHEDULED = "task.scheduled"
    TASK_STARTED = "task.started"
    TASK_PROGRESS = "task.progress"
    TASK_LOG = "task.log"
    TASK_COMPLETED = "task.completed"
    TASK_FAILED = "task.failed"
    TASK_RETRYING = "task.retrying"
    TASK_PERMANENTLY_FAILED = "task.permanently_failed"
    TASK_CANCELLING = "task.cancelling"
    TASK_CANCELLED = "task.cancelled"
    TASK_STALE = "task.stale"
    TASK_BLOCKED = "task.blocked"
    TASK_SKIPPED = "task.skipped"
    TASK_PREEMPTED = "task.preempted"
    TASK_LOST = "task.lost"
    TASK_REJECTED = "task.rejected"
    TASK_ESCALATED = "task.escalated"
    TASK_CHANGED = "task.changed"
    TASK_REVIEWED = "task.reviewed"
    TASK_SLA_MISSED = "task.sla_missed"
    DAEMON_CONNECTED = "daemon.connected"
    DAEMON_DISCONNECTED = "daemon.disconnected"
    DAEMON_DRAINING = "daemon.draining"
    DAEMON_RESUMED = "daemon.resumed"
    DAEMON_FORGOTTEN = "daemon.forgotten"
    QUEUE_CHANGED = "queue.changed"
    QUEUE_PAUSED = "queue.paused"
    QUEUE_RESUMED = "queue.resumed"
    QUEUE_COOLING = "queue.cooling"
    BREAKER_OPENED = "breaker.opened"
    BREAKER_CLOSED = "breaker.closed"
    NOTIFICATION_DEAD = "notification.dead"
    BACKPRESSURE_WARNING = "backpressure.warning"
    BACKPRESSURE_CRITICAL = "backpressure.critical"
    BACKPRESSURE_NORMAL = "backpressure.normal"
    SCHEDULE_RAN = "schedule.ran"
    SCHEDULE_SKIPPED = "schedule.skipped"
    SETTINGS_CHANGED = "settings.changed"
    SETTINGS_REFUSED = "settings.refused"
    HUB_REWOUND = "hub.rewound"
    HUB_REWIND_ACCEPTED = "hub.rewind_accepted"
    RESYNC = "resync"


EVERYBODY: Final = "*"
"""In place of a user's name, where an admin asks for a list."""
MYSELF: Final = "me"
"""In place of a user's id, in an address: whoever asks."""
SESSIONS_PER_GATEWAY: Final = 1 << 56
# Sessions are numbered in the order in which sockets were opened, by each hub within numbers of its own; those of two
# hubs have no order.
EPOCHS_PER_ERA: Final = 1_000_000
# Epochs count a hub's starts; a yard that goes on from an older copy on purpose begins a new era, so that what its
# daemons saw before is not taken for the future.
REFS_PER_ERA: Final = 10_000
# By so much a new era raises every user's highest task number: more than a lossy failover or a night's backup loses.

DEFAULT_QUEUE: Final = "default"
LOCAL_USER: Final = "local"
TOKEN_PREFIX: Final = "tyt_"
"""Of a task's token, by which whoever holds it can tell it from a key."""
HOOK_KEY_PREFIX: Final = "hook:"
"""Of the idempotency key that a webhook's delivery makes. It stays its task's whatever becomes of that: what a person
has cancelled must not begin anew when the delivery is sent again."""
CONTENT_KEY_PREFIX: Final = "content:"
"""Of the idempotency key that `dedupe: "content"` makes of a digest."""
HUB_RATE: Final = "hub"
"""The rate of all users together, beside those of the sources."""


def ref_of(number: int) -> str:
    """A task's name among its user's: `T-001`, three digits at least, as the sources print it."""
    return f"T-{number:03d}"
