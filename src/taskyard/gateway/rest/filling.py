"""Bodies that name a template become those that it makes, before anything else is asked of them."""

from collections.abc import Iterable
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Raw, UnsetType

from taskyard.core.priority import level_of
from taskyard.core.templates import not_found
from taskyard.gateway.call import Call, RequestRefused, refuse_fields
from taskyard.gateway.sizes import bytes_max
from taskyard.gateway.task_templates import Room, Template, read_template, submission_of
from taskyard.vocabulary import PriorityScale
from taskyard.wire.invalid import faults_in
from taskyard.wire.problems import FieldError
from taskyard.wire.submission import Values

_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode


class Naming(Protocol):
    """A body that may name a template."""

    @property
    def template(self) -> str | None: ...

    @property
    def set(self) -> Values | UnsetType: ...


class Made(Protocol):
    priority: Any


M = TypeVar("M", bound=Made)
Q = TypeVar("Q")


class Filler:
    """The templates that a request names, and how much it may still make of them."""

    def __init__(self, templates: dict[str, Template], room: Room, scale: PriorityScale | None) -> None:
        self._templates = templates
        self._room = room
        self._scale = scale

    def fill(self, body: Naming, raw: bytes, kind: type[M], at: str) -> M | RequestRefused:
        """What its template makes of it, or why nothing. `raw` is the body as it came, `at` its path in the request."""
        assert body.template is not None, "a body that names none is not filled"
        template = self._templates.get(body.template)
        if template is None:
            refused = not_found(body.template)
            fault = FieldError(f"{at}.template".lstrip("."), refused.detail)
            return RequestRefused(refused.code, refused.detail, errors=(fault,))
        values = {} if isinstance(body.set, UnsetType) else body.set
        beside = _members(raw)
        text = submission_of(template, values, beside, self._room)
        if isinstance(text, RequestRefused):
            return refuse_fields(text.errors, text.code, below=at)
        try:
            made = msgspec.json.decode(text, type=kind)
        except msgspec.ValidationError as error:
            return refuse_fields(faults_in(str(error), kind), below=at)
        if self._scale is not None and "priority" not in beside and isinstance(made.priority, int):
            # The template's number counts from 1 to 10; the key's scale is for what the key's client wrote itself.
            made.priority = level_of(made.priority)
        return made


async def filler_for(call: Call[Q], user_id: str, bodies: Iterable[Naming], *, is_batch: bool = False) -> Filler | None:
    """None: no template is named."""
    names = list(dict.fromkeys(body.template for body in bodies if body.template is not None))
    if not names:
        return None
    views = await call.hub.templates(user_id, names)
    templates = {view.name: read_template(view.name, view.content) for view in views}
    return Filler(templates, Room(bytes_max(call.door.size, is_batch=is_batch)), call.principal.priority_scale)


async def filled(call: Call[Q], user_id: str, body: Naming, kind: type[M], *, at: str = "") -> M | None:
    """What a template makes of one body, or None if it names none; `at` is its path in the request."""
    # Most name none, and are not kept waiting.
    filler = None if body.template is None else await filler_for(call, user_id, [body])
    if filler is None:
        return None
    made = filler.fill(body, part_of(call.raw, at), kind, at)
    if isinstance(made, RequestRefused):
        raise made
    return made


def part_of(raw: bytes, at: str) -> bytes:
    """The object at a path of names, of a body that was decoded."""
    for name in at.split(".") if at else ():
        raw = bytes(_members(raw)[name])
    return raw
