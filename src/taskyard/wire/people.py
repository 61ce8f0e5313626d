"""Bodies about users, keys, dead letters, daemons and the hub itself."""

from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from taskyard.vocabulary import DaemonStatus, Level, PriorityScale, Profile, Scope, SourceType, Verdict
from taskyard.wire.fields import FIELD_BYTES_MAX, Instant, Name
from taskyard.wire.plans import QueueStatusAnswer

REVIEWED_MAX: Final = 500

Bound = Annotated[int, Meta(ge=0, le=1_000_000)]
Minutes = Annotated[int, Meta(ge=1, le=1_000_000)]
Hours = Annotated[float, Meta(ge=0, le=1_000_000)]


class Overrides(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A user's own limits in place of the plan's; null removes one."""

    max_concurrent_agents: Bound | UnsetType | None = UNSET
    max_task_duration_minutes: Minutes | UnsetType | None = UNSET
    monthly_agent_hours: Hours | UnsetType | None = UNSET
    max_pending: Bound | UnsetType | None = UNSET


class NewUser(Struct, forbid_unknown_fields=True):
    name: Name
    plan: Name | None = None
    overrides: Overrides | None = None


class UserChange(Struct, forbid_unknown_fields=True):
    name: Name | UnsetType = UNSET
    plan: Name | UnsetType | None = UNSET
    overrides: Overrides | None = None


class UserAnswer(Struct, kw_only=True):
    id: str
    name: str
    plan: str | None
    overrides: dict[str, float]
    created_at: Instant
    usage: QueueStatusAnswer | None = None
    """In a list that was asked for with `usage`."""


class MeAnswer(Struct, kw_only=True):
    """Who is asking, and what this key may do."""

    id: str
    name: str
    plan: str | None
    scopes: list[Scope]
    profile: Profile
    """The hub's: whether its own user is limited."""


class ShownKey(Struct, forbid_unknown_fields=True):
    """What a browser signs in with."""

    key: Name


class SignInLink(Struct, kw_only=True):
    """A secret: whoever follows it first is signed in."""

    path: str
    """At the address under which the hub is reached."""
    expires_at: Instant


class NewKey(Struct, forbid_unknown_fields=True, kw_only=True):
    name: Name
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=4)]
    max_priority: Level | None = None
    priority_scale: PriorityScale | None = None
    """How numbers of priorities are meant: from 1 (critical) to 4 (low), instead of from 10 down to 1."""
    sources: Annotated[list[SourceType], Meta(min_length=1, max_length=5)] | None = None
    expires_at: Instant | None = None


class KeyAnswer(Struct, kw_only=True):
    """A key without its secret."""

    id: str
    name: str
    user_id: str
    scopes: list[Scope]
    max_priority: Level | None
    priority_scale: PriorityScale | None
    sources: list[SourceType] | None
    created_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None


class IssuedKey(Struct, kw_only=True):
    """The only answer that ever shows the key itself."""

    id: str
    key: str
    name: str
    scopes: list[Scope]
    max_priority: Level | None
    priority_scale: PriorityScale | None
    sources: list[SourceType] | None
    expires_at: Instant | None


Reason = Annotated[str, Meta(max_length=FIELD_BYTES_MAX, pattern=r"\S")]
"""Something must be said."""


class Review(Struct, forbid_unknown_fields=True, kw_only=True):
    verdict: Verdict
    reason: Reason
    until: Instant | None = None
    to: Name | None = None


class PatternReview(Review, forbid_unknown_fields=True, kw_only=True):
    """One verdict for every dead letter of a pattern, or for those that are named by id or ref."""

    fingerprint: Name | None = None
    ids: Annotated[list[Name], Meta(min_length=1, max_length=REVIEWED_MAX)] | None = None


class PatternAnswer(Struct, kw_only=True):
    """What some dead letters have in common."""

    fingerprint: str
    pattern: str
    """How their errors read, with what differs left out."""
    code: str | None
    """Of their errors; None: they have none."""
    type: str | None
    """Of all of them; None: they are of several."""
    count: int
    first_at: Instant
    last_at: Instant
    same_daemon: str | None
    sample_id: str
    """The newest."""
    sample_message: str | None


class PatternReviewAnswer(Struct):
    reviewed: list[str]
    rejected: list[str]


class AuditAnswer(Struct):
    at: Instant
    actor: str
    action: str
    subject: str
    old: Any
    new: Any
    by: str | None = None
    """The actor as people know them; told to admins."""
    until: Instant | None = None
    """Of the verdict `wait`."""
    to: str | None = None
    """Of the verdict `escalate`."""


class RunningAnswer(Struct):
    task: str
    attempt: int


class DaemonAnswer(Struct, kw_only=True):
    id: str
    name: str
    user_id: str
    shared: bool
    status: DaemonStatus
    capabilities: list[str]
    models: list[str]
    types: list[str]
    active_tasks: int
    max_concurrent_tasks: int
    current_load: float
    memory_free_mb: int | None
    last_heartbeat: Instant | None
    connected_at: Instant | None
    version: str
    running: list[RunningAnswer]
    idle_because: str | None = None


class HealthAnswer(Struct, omit_defaults=True):
    status: str
    damaged_records: int = 0
    """How many damaged records of the past this hub has met since its start; `taskyard doctor --deep` names them."""
