"""Commands about the yard and not about a task: its users and keys, queues, breakers, hooks, templates and settings."""

from msgspec import field

from taskyard.core.settings import Settings
from taskyard.core.told import KEEP, Keep, Told
from taskyard.vocabulary import HookProvider, Level, PriorityScale, Scope, SourceType


class CreateUser(Told):
    user_id: str
    name: str
    actor: str
    plan: str | None = None
    overrides: dict[str, int | float] = field(default_factory=dict)
    reply_to: int = 0


class ChangeUser(Told):
    user_id: str
    actor: str
    name: str | Keep = KEEP
    plan: str | Keep | None = KEEP
    overrides: dict[str, int | float | None] = field(default_factory=dict)
    reply_to: int = 0


class CreateKey(Told):
    key_id: str
    user_id: str
    name: str
    hash: str
    """Of the key itself, which never enters the core."""
    scopes: tuple[Scope, ...]
    actor: str
    max_priority: Level | None = None
    sources: tuple[SourceType, ...] | None = None
    expires_at: int | None = None
    priority_scale: PriorityScale | None = None
    is_first_only: bool = False
    """Refuse it if the yard has a live admin key: of several hubs that start at once, one makes the yard's."""
    reply_to: int = 0


class RevokeKey(Told):
    key_id: str
    actor: str
    reply_to: int = 0


class PutQueue(Told):
    name: str
    models: tuple[str, ...]
    max_concurrent: int | None
    """None: one at a time for a model source, no limit for the default queue."""
    actor: str
    reply_to: int = 0


class DeleteQueue(Told):
    """What the file says of it, if anything, holds again."""

    name: str
    actor: str
    reply_to: int = 0


class PauseQueue(Told):
    name: str
    actor: str
    reply_to: int = 0


class ResumeQueue(Told):
    name: str
    actor: str
    reply_to: int = 0


class ResetBreaker(Told):
    """A person's word: let this type of task run again."""

    user_id: str
    type: str
    actor: str
    reply_to: int = 0


class OpenBreaker(Told):
    """A person's word: hold this type of task back for its cool-down."""

    user_id: str
    type: str
    actor: str
    reply_to: int = 0


class CreateHook(Told):
    hook_id: str
    user_id: str
    name: str
    provider: HookProvider
    secret: str
    template: str
    actor: str
    max_priority: Level | None = None
    ceiling: Level | None = None
    """Of the key this was asked with; so for the others."""
    events: tuple[str, ...] = ()
    reply_to: int = 0


class ChangeHook(Told):
    hook_id: str
    user_id: str
    actor: str
    name: str | Keep = KEEP
    template: str | Keep = KEEP
    max_priority: Level | Keep | None = KEEP
    ceiling: Level | None = None
    events: tuple[str, ...] | Keep = KEEP
    reply_to: int = 0


class RotateHook(Told):
    hook_id: str
    user_id: str
    secret: str
    actor: str
    overlap_ms: int | None = None
    """None: as long as it is configured."""
    ceiling: Level | None = None
    reply_to: int = 0


class DeleteHook(Told):
    hook_id: str
    user_id: str
    actor: str
    reply_to: int = 0


class PutTemplate(Told):
    """One that is there is changed."""

    user_id: str
    name: str
    content: str
    actor: str
    is_new: bool = False
    """Refuse it if there is one of this name."""
    reply_to: int = 0


class DeleteTemplate(Told):
    user_id: str
    name: str
    actor: str
    reply_to: int = 0


class ChangeSettings(Told):
    """Other numbers hold from here on; `names` says which of them changed."""

    settings: Settings
    names: tuple[str, ...] = ()
    reply_to: int = 0


class RefuseSettings(Told):
    """They were to change, and what was written cannot be used: told to admins, and everything stays."""

    reason: str
    reply_to: int = 0


class NoteRewind(Told):
    """What a new era gave up, each as a sentence: for the audit."""

    lost: tuple[str, ...]
    reply_to: int = 0
