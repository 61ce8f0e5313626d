"""Templates of tasks: what is wrong with a new one, and the submission that comes out when one is filled.

A place is `{{key}}` in any text of the task. Every place needs a value: the one that the submission sets, or else the
template's default. What stands in the submission beside the template takes the place of the template's field as a
whole, is not looked at for places, and the template's own places there need nothing. What comes out is decoded and
checked as any submission is.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
from msgspec import Raw, Struct

from taskyard.gateway.call import RequestRefused, refuse_fields
from taskyard.gateway.duplicates import repeated, shape_of
from taskyard.gateway.places import each_text, filled
from taskyard.vocabulary import Refusal
from taskyard.wire.fields import PLACES_MAX, is_object
from taskyard.wire.invalid import faults_in
from taskyard.wire.problems import FieldError
from taskyard.wire.submission import NO_OBJECT, Submission, Value, faults_of
from taskyard.wire.templates import TEMPLATE_BYTES_MAX, TemplateChange

_PLACE: Final = re.compile(r"\{\{ *(\w[\w-]{0,63}) *\}\}")
NAMING: Final = ("template", "set")
"""Fields of a submission that name a template, and so stand in none."""
SAME: Final = ("input", "description")
"""Two names of one field."""
_SHAPE: Final = shape_of(Submission)
_FIELDS: Final = frozenset(field.encode_name for field in msgspec.structs.fields(Submission))
_encode: Final = msgspec.json.Encoder().encode
_submission: Final = msgspec.json.Decoder(Submission).decode


class Content(Struct):
    """What is kept of a template."""

    task: dict[str, Raw]
    defaults: dict[str, Value] = {}


class Template(Struct):
    """A template, with the places of each field of its task."""

    name: str
    content: Content
    places: dict[str, tuple[str, ...]]

    @property
    def keys(self) -> list[str]:
        """Of all its places, without repeats."""
        return list(dict.fromkeys(key for keys in self.places.values() for key in keys))


_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_content: Final = msgspec.json.Decoder(Content).decode


def read_template(name: str, content: str) -> Template:
    """As it was kept."""
    return _template(name, _content(content))


def _template(name: str, content: Content) -> Template:
    return Template(name, content, {field: tuple(_places_in(raw)) for field, raw in content.task.items()})


def write_template(template: Template) -> str:
    return _encode(template.content).decode()


class Room:
    """How many bytes may be made by filling, in one request: a few could ask for very many."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = self.left = bytes_max

    def refusal(self) -> RequestRefused | None:
        if self.left >= 0:
            return None
        message = f"makes more than the {self.bytes_max:,} bytes that are possible: set less, or send fewer at once"
        return refuse_fields([FieldError("template", message)], Refusal.TOO_LARGE)


# A new one.


def new_template(name: str, said: TemplateChange, room: Room) -> Template | RequestRefused:
    """The template, or what is wrong with it: what can be seen before its places are filled."""
    if not is_object(said.task):
        return refuse_fields([FieldError("task", NO_OBJECT)])
    twice = repeated(bytes(said.task), _SHAPE)
    if twice is not None:
        return refuse_fields([twice], below="task")
    template = _template(name, Content(_members(said.task), said.defaults))
    size = len(write_template(template).encode())
    if size > TEMPLATE_BYTES_MAX:
        message = f"is {size:,} bytes with its defaults; at most {TEMPLATE_BYTES_MAX:,} are possible"
        return refuse_fields([FieldError("task", message)], Refusal.TOO_LARGE)
    faults = (*_faults_of_keys(template), *_faults_of_fields(template)) or _faults_of_values(template, room)
    return refuse_fields(faults) if faults else room.refusal() or template


def _faults_of_keys(template: Template) -> Iterator[FieldError]:
    keys = template.keys
    if len(keys) > PLACES_MAX:
        yield FieldError("task", f"has {len(keys)} places; at most {PLACES_MAX} are possible")
    for key in template.content.defaults:
        if key not in keys:
            yield FieldError(f"defaults.{key}", f"is of no place: the task has no {{{{{key}}}}}")


def _faults_of_fields(template: Template) -> Iterator[FieldError]:
    for field in template.content.task:
        if field in NAMING:
            yield FieldError(f"task.{field}", "stands in no template: one names no other")
        elif field not in _FIELDS:
            yield FieldError(f"task.{field}", "is no field that is known here")


def _faults_of_values(template: Template, room: Room) -> tuple[FieldError, ...]:
    """Of the fields that nothing has to be set for; the others are looked at when a submission has filled them."""
    task, defaults = template.content.task, template.content.defaults
    made = {
        field: _fill(raw, defaults, room)
        for field, raw in task.items()
        if all(key in defaults for key in template.places[field])
    }
    if not made.keys() & {*SAME}:
        # It may have places, or stand in each submission.
        made["input"] = Raw(b'""')
    try:
        found = faults_of(_submission(_encode(made)))
    except msgspec.ValidationError as error:
        found = faults_in(str(error), Submission)
    return tuple(FieldError(f"task.{one.path}", one.message) for one in found)


# A submission that names one.


def submission_of(
    template: Template, values: Mapping[str, Value], beside: Mapping[str, Raw], room: Room
) -> bytes | RequestRefused:
    """The submission as JSON, or what keeps it from being one. `beside` is what stands in it already."""
    known, before = template.keys, room.left
    hidden = {*beside, *SAME} if beside.keys() & {*SAME} else beside.keys()
    task = {field: raw for field, raw in template.content.task.items() if field not in hidden}
    said = template.content.defaults | dict(values)
    missing = dict.fromkeys(key for field in task for key in template.places[field] if key not in said)
    faults = [FieldError(f"set.{key}", _no_such_place(template, known)) for key in values if key not in known]
    faults += [FieldError(f"set.{key}", f"is missing: template {template.name} has {{{{{key}}}}}") for key in missing]
    if faults:
        return refuse_fields(faults)
    made = {field: _fill(raw, said, room) for field, raw in task.items()}
    if room.left >= 0:
        submission = _encode({**made, **{field: raw for field, raw in beside.items() if field not in NAMING}})
        room.left = before - len(submission)
    return room.refusal() or submission


def _no_such_place(template: Template, known: list[str]) -> str:
    has = ", ".join(f"{{{{{one}}}}}" for one in known) or "no places"
    return f"is of no place: template {template.name} has {has}"


def _fill(raw: Raw, values: Mapping[str, Value], room: Room) -> Raw:
    """A field with its places filled; one without any is as it was written."""
    if not _may_have_places(raw):
        return raw

    def change(text: str) -> str:
        if room.left >= 0:
            text = filled(text, _PLACE, lambda key: _text_of(values[key]), room.left)
            room.left -= len(text)
        return text

    return Raw(_encode(each_text(msgspec.json.decode(raw), change)))


def _text_of(value: Value) -> str:
    return value if isinstance(value, str) else _encode(value).decode()


def _places_in(raw: Raw) -> dict[str, None]:
    found: dict[str, None] = {}

    def note(text: str) -> str:
        found.update(dict.fromkeys(place[1] for place in _PLACE.finditer(text)))
        return text

    if _may_have_places(raw):
        each_text(msgspec.json.decode(raw), note)
    return found


def _may_have_places(raw: Raw) -> bool:
    """What is written with escapes is looked at more closely."""
    text = bytes(raw)
    return b"{{" in text or b"\\u" in text
