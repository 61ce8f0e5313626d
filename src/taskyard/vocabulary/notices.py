"""What users are told of, and what became of telling them."""

from enum import StrEnum
from typing import Final

from taskyard.vocabulary import EventName


class DeliveryStatus(StrEnum):
    """What became of telling a receiver: it is to be sent, was taken, or was given up."""

    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"


class NoticeName(StrEnum):
    """What a notification can tell of, in the words of the specification."""

    TASK_CREATED = "task_created"
    TASK_QUEUED = "task_queued"
    TASK_SCHEDULED = "task_scheduled"
    TASK_STARTED = "task_started"
    TASK_COMPLETED = "task_completed"
    TASK_FAILED = "task_failed"
    TASK_RETRYING = "task_retrying"
    TASK_PERMANENTLY_FAILED = "task_permanently_failed"
    TASK_CANCELLED = "task_cancelled"
    TASK_STALE = "task_stale"
    TASK_BLOCKED = "task_blocked"
    TASK_SKIPPED = "task_skipped"
    TASK_PREEMPTED = "task_preempted"
    TASK_LOST = "task_lost"
    TASK_ESCALATED = "task_escalated"
    TASK_SLA_MISSED = "task_sla_missed"
    SCHEDULE_RAN = "schedule_ran"
    SCHEDULE_SKIPPED = "schedule_skipped"
    DAEMON_CONNECTED = "daemon_connected"
    DAEMON_DISCONNECTED = "daemon_disconnected"
    DAEMON_DRAINING = "daemon_draining"
    QUEUE_PAUSED = "queue_paused"
    QUEUE_RESUMED = "queue_resumed"
    QUEUE_COOLING = "queue_cooling"
    BREAKER_OPEN = "breaker_open"
    BREAKER_CLOSED = "breaker_closed"
    BACKPRESSURE = "backpressure"


_OTHERWISE_NAMED: Final = {
    EventName.TASK_WAITING_FOR_DAEMON: NoticeName.TASK_QUEUED,
    EventName.BREAKER_OPENED: NoticeName.BREAKER_OPEN,
    EventName.BACKPRESSURE_WARNING: NoticeName.BACKPRESSURE,
    EventName.BACKPRESSURE_CRITICAL: NoticeName.BACKPRESSURE,
    EventName.BACKPRESSURE_NORMAL: NoticeName.BACKPRESSURE,
}
NOTICES: Final[dict[EventName, NoticeName]] = {
    **{event: notice for event in EventName for notice in NoticeName if notice == event.replace(".", "_")},
    **_OTHERWISE_NAMED,
}
"""By which of them each event is told."""
del NOTICES[EventName.TASK_QUEUED]  # every task is queued; what is worth telling is that one waits for its daemon
CALLED: Final = {**NOTICES, EventName.TASK_QUEUED: NoticeName.TASK_QUEUED}
"""What a delivery is called: also one that an earlier version wrote, which told of every queueing."""
