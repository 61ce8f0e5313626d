"""Every number the core reads, with the default the specification gives it.

The hub fills these from `taskyard.toml` and swaps the whole object when the file changes; the core
never keeps a copy of a number, so a change holds from the next decision on.
"""

from msgspec import Struct

from taskyard.vocabulary import DEFAULT_QUEUE, Level


class Lease(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    heartbeat_s: float = 5.0
    lease_s: float = 30.0
    accept_s: float = 5.0
    start_s: float = 30.0
    cancel_grace_s: float = 10.0

    @property
    def judged_ms(self) -> int:
        """The lease with the 20 % to spare by which the hub judges it."""
        return round(self.lease_s * 1200)


class Retry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    delay_max_s: float = 600.0
    jitter: float = 0.2
    timeout_factor: float = 1.5
    rate_limit_s: float = 60.0
    rate_limit_max_s: float = 3600.0
    rate_limit_said_max_s: float = 86_400.0
    rate_limit_jitter: float = 0.1


class Suspects(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tasks that daemons do not survive, and offers nobody takes up."""

    deaths_max: int = 3
    hold_after_s: float = 60.0
    avoid_lost_s: float = 60.0
    avoid_first_s: float = 1.0
    avoid_max_s: float = 600.0
    unstarted_max: int = 10


class Priorities(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    assign_critical_factor: float = 1.5
    assign_high_factor: float = 3.0
    escalate_factor: float = 2.0
    estimated_s: float = 300.0
    critical_wait_s: float = 30.0
    agent_max: Level = Level.HIGH


class Queue(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    models: tuple[str, ...] = ()


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    lease: Lease = Lease()
    retry: Retry = Retry()
    suspects: Suspects = Suspects()
    priorities: Priorities = Priorities()
    queues: dict[str, Queue] = {}
    default_queue: str = DEFAULT_QUEUE
    daemon_slots: int = 5
    log_bytes_max: int = 5 * 1024 * 1024
    cascade_rows_max: int = 500
    subtask_depth_max: int = 5
