"""Inbound webhooks: what their owners say of them, and what is answered to a delivery."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from taskyard.vocabulary import HookProvider, Level
from taskyard.wire.fields import SECONDS_MAX, Instant, JsonObject, Name, Names, Text
from taskyard.wire.submission import Execution, Priority, Requirements, Values

HookInput = Annotated[str, Meta(min_length=1)]
Overlap = Annotated[float, Meta(ge=0, le=SECONDS_MAX)]


class HookFields(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What a hook may say of its tasks besides their input."""

    type: Name = "general"
    title: Text | None = None
    goal: Text | None = None
    context: JsonObject | UnsetType = UNSET
    priority: Priority | None = None
    model: Name | None = None
    queue: Name | None = None
    project_id: Name | None = None
    requirements: Requirements | None = None
    execution: Execution | None = None


class HookTemplate(HookFields, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The task that a delivery makes, as it is kept."""

    input: HookInput


class HookTask(HookFields, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The task that a delivery makes, as its owner writes it down.

    In `input`, `title`, `goal` and the texts of `context` stands `{{payload.a.0.b}}`, `{{event}}` or `{{delivery}}` for
    what was delivered. All else is as it is written: no delivery decides what type of task it makes, or how urgent.
    `template` names a template of a task, which is filled at once, with what stands in `set`.
    """

    input: HookInput | UnsetType = UNSET
    template: Name | None = None
    set: Values | UnsetType = UNSET


class NewHook(Struct, forbid_unknown_fields=True, kw_only=True):
    name: Name
    provider: HookProvider
    template: HookTask
    secret: Name | None = None
    """The provider's, where it makes them (Slack, Stripe); else one is made."""
    max_priority: Level | None = None
    events: Names = []
    """Those that become tasks, as `push` or, with an action, `pull_request.opened`; none: all do."""


class HookChange(Struct, forbid_unknown_fields=True, kw_only=True):
    """What is absent stays; a `max_priority` of null removes it."""

    name: Name | UnsetType = UNSET
    template: HookTask | UnsetType = UNSET
    max_priority: Level | UnsetType | None = UNSET
    events: Names | UnsetType = UNSET


class HookRotation(Struct, forbid_unknown_fields=True, kw_only=True):
    secret: Name | None = None
    overlap: Overlap | None = None
    """Seconds for which the secret until now is good as well; 0: it ends at once."""


class HookAnswer(Struct, kw_only=True):
    """A hook without its secrets."""

    id: str
    url: str
    """Where deliveries go."""
    name: str
    user_id: str
    provider: HookProvider
    template: JsonObject
    max_priority: Level | None
    events: list[str]
    created_at: Instant
    previous_secret_until: Instant | None
    """After a rotation: how long the secret before is good as well."""
    deliveries: int
    """Those that became tasks."""
    last_delivery_at: Instant | None


class IssuedHook(HookAnswer, kw_only=True):
    """The only answers that ever show a secret: to whoever made it or rotated it."""

    secret: str


class HookDeliveryAnswer(Struct):
    """What became of a delivery; or, where Slack asks who is there, what it asked to be given back."""

    task_id: str | UnsetType | None = UNSET
    """None: it makes no task, being a greeting or none of the events that the hook takes."""
    deduplicated: bool | UnsetType = UNSET
    challenge: str | UnsetType = UNSET
