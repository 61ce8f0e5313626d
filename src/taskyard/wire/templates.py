"""Templates: what their owners say of them, and how they are shown."""

from typing import Annotated, Final

from msgspec import Meta, Raw, Struct

from taskyard.wire.fields import KIB, Instant, Name
from taskyard.wire.submission import Values

TEMPLATE_BYTES_MAX: Final = 64 * KIB
"""Of a template's task and defaults as JSON."""
TemplateTask = Annotated[
    Raw,
    Meta(
        description=f"a submission with {{{{key}}}} in its texts; at most {TEMPLATE_BYTES_MAX:,} bytes",
        extra_json_schema={"type": "object"},
    ),
]


class TemplateChange(Struct, forbid_unknown_fields=True, kw_only=True):
    """A template as a whole. Each `{{key}}` in a text of the task is a place that a submission fills.

    `defaults` are put in the places for which a submission sets nothing.
    """

    task: TemplateTask
    defaults: Values = {}


class NewTemplate(TemplateChange, forbid_unknown_fields=True, kw_only=True):
    name: Name


class TemplateAnswer(Struct, kw_only=True):
    """A template. `places` are the keys that can be set, in the order in which they stand in the task."""

    name: str
    user_id: str
    task: TemplateTask
    defaults: Values
    places: list[str]
    created_at: Instant
    changed_at: Instant
