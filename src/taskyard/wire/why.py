"""The answers to "why is my task not running?" and "what holds my tasks back?"."""

from msgspec import Struct

from taskyard.vocabulary import Level, Profile, Status
from taskyard.vocabulary.reasons import Lack, Reason
from taskyard.wire.fields import Instant


class ReasonAnswer(Struct, kw_only=True):
    """One thing that holds a task."""

    code: Reason
    message: str
    used: float | int | None
    limit: float | int | None
    until: Instant | None
    """When it ends by itself, if that is known."""
    would_help: str | None


class LackAnswer(Struct, kw_only=True):
    code: Lack
    message: str


class ConsideredAnswer(Struct, kw_only=True):
    """A daemon of one's own or a shared one, and what speaks against it now."""

    id: str
    name: str
    eligible: bool
    lacks: list[LackAnswer]


class WhyAnswer(Struct, kw_only=True):
    task: str
    status: Status
    summary: str
    position: int | None
    estimated_start: Instant | None
    reasons: list[ReasonAnswer]
    """All of them, the most important first."""
    daemons: list[ConsideredAnswer]
    """Those that lack least first."""


class ShareAnswer(Struct, kw_only=True):
    queue: str
    priority: Level
    running: int
    waiting: int


class HeldAnswer(Struct, kw_only=True):
    """Tasks that the same thing holds back."""

    code: Reason
    message: str
    would_help: str | None
    tasks: int
    example: str


class HeldOfUserAnswer(HeldAnswer, kw_only=True):
    """The same, and whose they are; `message` speaks to them."""

    user_id: str


class OverviewAnswer(Struct, kw_only=True):
    profile: Profile
    running: int
    waiting: int
    queues: list[ShareAnswer]
    held_by: list[HeldAnswer]
    """What holds the most tasks first."""
