"""Every number the core reads, with the default the specification gives it.

The hub fills these from `taskyard.toml` and swaps the whole object when the file changes; the core
never keeps a copy of a number, so a change holds from the next decision on.
"""

from math import floor
from typing import Final

from msgspec import Struct, field

from taskyard.vocabulary import DEFAULT_QUEUE, HUB_RATE, Level, Profile, SourceType

KIB: Final = 1024


class Lease(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    heartbeat_s: float = 5.0
    lease_s: float = 30.0
    spare: float = 0.2
    accept_s: float = 5.0
    start_s: float = 30.0
    cancel_grace_s: float = 10.0

    @property
    def judged_ms(self) -> int:
        """The lease with what it has to spare when the hub judges it."""
        return round(self.lease_s * 1000 * (1 + self.spare))


class Retry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first three are for tasks that do not say."""

    timeout_s: float = 300.0
    max_attempts: int = 3
    delay_s: float = 30.0
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
    """The line for one model source."""

    models: tuple[str, ...] = ()
    max_concurrent: int | None = None
    """None: one at a time for a model source, no limit for the default queue."""


class Depth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many tasks may wait before it is said aloud, and before some are refused."""

    warning: int
    critical: int


class Rate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tasks taken in; `burst` is how many may come at once, `per_minute` unless it is given."""

    per_minute: int
    per_hour: int
    burst: int | None = None


def _rates() -> dict[str, Rate]:
    return {
        SourceType.PROACTIVE: Rate(per_minute=50, per_hour=500, burst=100),
        SourceType.USER: Rate(per_minute=60, per_hour=1000),
        SourceType.WEBHOOK: Rate(per_minute=100, per_hour=2000),
        SourceType.AGENT: Rate(per_minute=60, per_hour=1000),
        SourceType.SCHEDULE: Rate(per_minute=60, per_hour=1000),
        HUB_RATE: Rate(per_minute=500, per_hour=10_000),
    }


def _running_per_source() -> dict[str, int]:
    return {
        SourceType.PROACTIVE: 10,
        SourceType.USER: 15,
        SourceType.WEBHOOK: 5,
        SourceType.AGENT: 10,
        SourceType.SCHEDULE: 10,
    }


class Sizes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much is taken in, in bytes but for `batch`. The other sizes are constants, beside the types they bound."""

    input: int = 256 * KIB
    result: int = 1024 * KIB
    request: int = 16 * 1024 * KIB
    frame: int = 4 * 1024 * KIB
    log: int = 5 * 1024 * KIB
    """Of one attempt."""
    batch: int = 1000
    """Tasks in one request."""


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    running_total: int = 1000
    running_per_user: int = 20
    """For a user without a plan."""
    pending_per_user_max: int = 100
    """Whatever a plan says; but for the plan enterprise, whose users have the next one."""
    pending_per_enterprise_user_max: int = 10_000
    daemon_slots: int = 5
    load_step: float = 0.2
    """Of two daemons the less loaded is chosen first; within one step they are alike."""
    running_per_source: dict[str, int] = field(default_factory=_running_per_source)
    rate: dict[str, Rate] = field(default_factory=_rates)
    queue_depth: Depth = Depth(warning=50_000, critical=100_000)
    user_queue_depth: Depth = Depth(warning=500, critical=1000)
    size: Sizes = Sizes()


class Shares(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The critical reserve is a fraction of a pool's slots; the others are fractions of what remains."""

    critical_reserve: float = 0.2
    high: float = 0.4
    normal: float = 0.35
    low: float = 0.15
    low_max: int = 5
    """Low tasks of one user that run at a time, whatever is free."""
    strict: bool = False

    def reserve_of(self, slots: int) -> int:
        """How many of a pool's slots only critical tasks may use."""
        return floor(self.critical_reserve * slots)


class Ageing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long a task should wait at most; past it, it goes ahead of its user's younger ones of that level."""

    critical_s: float = 30.0
    high_s: float = 300.0
    normal_s: float = 3600.0
    low_s: float = 14_400.0
    """A low task that waited this long is ordered as normal."""


class Notifications(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is told to addresses that users name. A delivery that waits or is shown takes about a kilobyte of memory."""

    allow: tuple[str, ...] = ()
    """Hosts and networks that may be told although they are not public, and in any way."""
    ports: tuple[int, ...] = (443, 8443)
    """Those of public addresses."""
    timeout_s: float = 15.0
    parallel_max: int = 4
    """Requests of one user's to one address at a time."""
    total_max: int = 64
    """Of everybody's."""
    retry_first_s: float = 5.0
    retry_max_s: float = 3600.0
    give_up_s: float = 86_400.0
    per_user_max: int = 10
    pending_max: int = 10_000
    """Deliveries of one notification that wait; beyond it the oldest is given up."""
    dead_max: int = 1000
    """Those of them that were given up and can still be sent again."""
    delivered_max: int = 100
    """Those that were taken and are still shown."""


class Preemption(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    min_run_s: float = 10.0
    times_max: int = 3


class Backpressure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    resume_below: float = 0.8
    """A level ends when the depth is below this fraction of its threshold."""
    retry_after_s: float = 30.0
    """When those refused may come again, as long as nobody knows how fast the line gets shorter."""


class Plan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a user may have; None: as much as there is."""

    max_concurrent_agents: int | None = None
    max_task_duration_minutes: float | None = None
    monthly_agent_hours: float | None = None
    max_pending: int | None = 50
    max_priority: Level | None = None


def _plans() -> dict[str, Plan]:
    return {
        "free": Plan(max_concurrent_agents=1, max_task_duration_minutes=30, monthly_agent_hours=10, max_pending=50),
        "pro": Plan(max_concurrent_agents=3, max_task_duration_minutes=120, monthly_agent_hours=100, max_pending=50),
        "team": Plan(max_concurrent_agents=10, max_task_duration_minutes=240, max_pending=100),
        "enterprise": Plan(max_concurrent_agents=50, max_task_duration_minutes=480, max_pending=10_000),
    }


class Breaker(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For one type; what is None is as for all types."""

    failure_threshold: int | None = None
    half_open_after: float | None = None
    cooldown: float | None = None


class Breakers(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    failure_threshold: int = 5
    half_open_after: float = 60.0
    cooldown: float = 300.0
    overrides: dict[str, Breaker] = {}


class Cooling(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    probe_s: float = 60.0
    """A probe that has run this long without a rate limit has passed."""
    aside_s: float = 1.0
    """A task refused more than once waits this much longer than its queue, so that another is asked first."""


class Hooks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Inbound webhooks."""

    per_user_max: int = 100
    old_s_max: float = 300.0
    """How long ago a delivery may have been signed, where the time is signed too."""
    ahead_s_max: float = 60.0
    """How far ahead the sender's clock may be. Less than behind: both together are how long one can be repeated."""
    overlap_s: float = 86_400.0
    """How long the secret before a rotation is good, unless it is said then."""


class Schedules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    per_user_max: int = 100
    interval_min_s: float = 1.0
    """Of heartbeats."""
    catch_up_max: int = 100
    """Missed runs that `catch_up: all` makes up."""
    late_after_s: float = 60.0
    """A run that comes later than this was missed: `catch_up: none` does not make it up."""
    probe_s: float = 60.0
    """How long a run waits for its probe, if that does not say."""
    probe_max_s: float = 600.0


class TypeRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For tasks of one type; what is None is as for all types."""

    require_decision_report: bool | None = None


class ExecutionRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For tasks of all types."""

    require_decision_report: bool = False
    """Whether a task is incomplete without one, also if it does not ask for it."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    lease: Lease = Lease()
    retry: Retry = Retry()
    suspects: Suspects = Suspects()
    priorities: Priorities = Priorities()
    limits: Limits = Limits()
    shares: Shares = Shares()
    ageing: Ageing = Ageing()
    preemption: Preemption = Preemption()
    backpressure: Backpressure = Backpressure()
    notifications: Notifications = Notifications()
    breakers: Breakers = Breakers()
    cooling: Cooling = Cooling()
    hooks: Hooks = Hooks()
    schedules: Schedules = Schedules()
    execution: ExecutionRules = ExecutionRules()
    types: dict[str, TypeRules] = {}
    plans: dict[str, Plan] = field(default_factory=_plans)
    queues: dict[str, Queue] = {}
    default_queue: str = DEFAULT_QUEUE
    profile: Profile = Profile.LOCAL
    cascade_rows_max: int = 500
    subtask_depth_max: int = 5

    def requires_report(self, type: str) -> bool:
        """Whether every task of this type has to say how it decided."""
        own = self.types[type].require_decision_report if type in self.types else None
        return self.execution.require_decision_report if own is None else own
