"""The task that a delivery makes: its hook's template, with what was delivered put in its places.

A place is `{{event}}`, `{{delivery}}` or `{{payload.a.0.b}}`: names of fields and numbers of items, one after another.
What is not there is empty; a text is put in as it is, anything else as JSON. That is all a template can do;
`places.py` does it.

However large the delivery, what comes out fits a task: what is too long ends where there is no more room.
"""

import re
from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from taskyard.gateway import places
from taskyard.gateway.deliveries import WORD_CHARS_MAX, Delivery
from taskyard.gateway.translate import cut
from taskyard.vocabulary import HookProvider, SourceType
from taskyard.wire.fields import FIELD_BYTES_MAX, NULL, OBJECT_BYTES_MAX
from taskyard.wire.hooks import HookTemplate
from taskyard.wire.problems import FieldError
from taskyard.wire.submission import Source, Submission

_PLACE: Final = re.compile(r"\{\{ *(event|delivery|payload(?:\.[^\s{}.]+)*) *\}\}")
_UNFILLED: Final = ("type", "model", "queue", "project_id")
_INDEX_DIGITS_MAX: Final = 9
_MISSING: Final = object()
_encode: Final = msgspec.json.Encoder().encode
_template: Final = msgspec.json.Decoder(HookTemplate)


def read_template(text: str) -> HookTemplate:
    """As it was kept."""
    return _template.decode(text)


def write_template(template: HookTemplate) -> str:
    return _encode(template).decode()


def misplaced(template: HookTemplate) -> list[FieldError]:
    """What looks like a place where none is filled. Where they are, it may be meant as it is written."""
    return [
        FieldError(name, f"is not filled from a delivery; only input, title, goal and context are: {value}")
        for name in _UNFILLED
        if "{{" in (value := getattr(template, name) or "")
    ]


def unfilled(template: HookTemplate) -> Submission:
    """The task as it is before anything is delivered, to see whether it could be one."""
    return Submission(
        type=template.type,
        title=template.title,
        input=template.input,
        goal=template.goal,
        context=template.context,
        priority=template.priority,
        model=template.model,
        queue=template.queue,
        project_id=template.project_id,
        requirements=template.requirements,
        execution=template.execution,
    )


def filled(
    template: HookTemplate, delivery: Delivery, *, hook_id: str, provider: HookProvider, input_bytes_max: int
) -> Submission:
    submission = unfilled(template)
    submission.input = fill(template.input, delivery, input_bytes_max)
    submission.title = None if template.title is None else fill(template.title, delivery, FIELD_BYTES_MAX)
    submission.goal = None if template.goal is None else fill(template.goal, delivery, FIELD_BYTES_MAX)
    submission.context = fill_object(template.context, delivery, OBJECT_BYTES_MAX)
    submission.source = Source(SourceType.WEBHOOK, hook_id, provider)
    told = {"hook": hook_id, "event": delivery.event, "delivery": delivery.id[:WORD_CHARS_MAX]}
    submission.metadata = Raw(_encode(told))
    return submission


def fill(text: str, delivery: Delivery, bytes_max: int) -> str:
    """The text with its places filled, as far as it fits."""
    return cut(places.filled(text, _PLACE, lambda path: _value(path, delivery), bytes_max), bytes_max)


def fill_object(raw: Raw | UnsetType, delivery: Delivery, bytes_max: int) -> Raw | UnsetType:
    """The same for every text inside a JSON object; its names stay."""
    if isinstance(raw, UnsetType) or bytes(raw) == NULL:
        return UNSET
    room = _Room(bytes_max - len(bytes(raw)))

    def change(text: str) -> str:
        return room.take(text, fill(text, delivery, max(room.left, 0) + len(text.encode())))

    return Raw(_encode(places.each_text(msgspec.json.decode(raw), change)))


class _Room:
    """How many bytes more than its template an object may take."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, old: str, new: str) -> str:
        before = len(_encode(old))
        fitting = _cut_as_json(new, before + self.left)
        self.left -= len(_encode(fitting)) - before
        return fitting


def _cut_as_json(text: str, bytes_max: int) -> str:
    """Shorter with every round, and by as much as it is too long: a few are enough."""
    while text and (size := len(_encode(text))) > bytes_max:
        text = text[: min(len(text) - 1, len(text) * max(bytes_max, 0) // size)]
    return text


def _value(path: str, delivery: Delivery) -> str:
    root, *names = path.split(".")
    if root != "payload":
        return delivery.event if root == "event" else delivery.id
    value = delivery.payload
    for name in names:
        value = _inside(value, name)
    if value is _MISSING or value is None:
        return ""
    return value if isinstance(value, str) else _encode(value).decode()


def _inside(value: object, name: str) -> object:
    if isinstance(value, dict):
        return value.get(name, _MISSING)
    if isinstance(value, list) and name.isascii() and name.isdecimal() and len(name) <= _INDEX_DIGITS_MAX:
        return value[int(name)] if int(name) < len(value) else _MISSING
    return _MISSING
