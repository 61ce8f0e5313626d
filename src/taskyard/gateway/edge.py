"""The numbers at the edge as they are configured: what a body may hold, and what it means to say nothing.

The bodies' types carry the built-in bounds, so that the decoder enforces them and the OpenAPI document shows them.
Where another number is configured, a type is derived that differs in its bounds alone; with the built-in numbers every
type is itself, and nothing costs more than it did.
"""

from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Struct
from msgspec.structs import FieldInfo, asdict

from taskyard.core.settings import Limits, Settings, Sizes
from taskyard.wire.fields import BOUND, DEFAULT
from taskyard.wire.submission import Execution

T = TypeVar("T")

BUILT_IN: Final = Sizes()
_BOUNDLESS: Final = Sizes(**dict.fromkeys(Sizes.__struct_fields__, 2**31))


class Edge:
    """Made anew when the settings are: what was derived is kept for as long as they hold."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.size = size = settings.limits.size
        self.field_sizes = {
            "input": size.input,
            "description": size.input,
            "context": size.context,
            "payload": size.payload,
            "metadata": size.field,
            "title": size.field,
            "goal": size.field,
            "constraints": size.field,
        }
        self.smallest_field = min(self.field_sizes.values())
        self._types: dict[Any, Any] = {}
        self._decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
        self._execution: type[Execution] = self.type_of(Execution)

    def type_of(self, kind: type[T]) -> type[T]:
        """A struct with the bounds and defaults that are configured."""
        found = self._types.get(kind)
        if found is None:
            found = self._types[kind] = self._derived(kind)
        return found  # type: ignore[no-any-return]

    def decoder(self, kind: type[T]) -> msgspec.json.Decoder[T]:
        found = self._decoders.get(kind)
        if found is None:
            found = self._decoders[kind] = msgspec.json.Decoder(self.type_of(kind))
        return found

    def bytes_max(self, *, is_batch: bool) -> int:
        """Of a request's body."""
        return self.size.request if is_batch else min(self.size.request, self.size.frame)

    def execution(self, said: Execution | None) -> Execution | None:
        """How it is to be run, in the words that are kept: those mean the same whatever is configured later."""
        if self._execution is Execution:
            return said
        return Execution(**asdict(self._execution() if said is None else said))

    def _derived(self, kind: Any) -> Any:
        changed = []
        for field in msgspec.structs.fields(kind):
            type_, default = self._of(field.type), self._default_of(field)
            if type_ is not field.type or default is not field.default:
                changed.append((field.name, type_, _again(field, default)))
        if not changed:
            return kind
        return msgspec.defstruct(
            kind.__name__,
            changed,
            bases=(kind,),
            module=kind.__module__,
            namespace={"__doc__": kind.__doc__},
            kw_only=True,
        )

    def _of(self, type_: Any) -> Any:
        """The same type with other bounds, and the very same if none is other."""
        if isinstance(type_, type) and issubclass(type_, Struct):
            return self.type_of(type_)
        origin, inner = get_origin(type_), get_args(type_)
        if origin is Annotated:
            value, meta = self._of(inner[0]), self._bounded(inner[1])
            return type_ if value is inner[0] and meta is inner[1] else Annotated[value, meta]
        others = tuple(self._of(one) for one in inner)
        if all(one is other for one, other in zip(inner, others, strict=True)):
            return type_
        return reduce(or_, others) if origin in (Union, UnionType) else origin[others]

    def _bounded(self, meta: Meta) -> Meta:
        name = (meta.extra or {}).get(BOUND)
        if name is None:
            return meta
        bound = getattr(self.size, name)
        if bound in (meta.max_length, meta.le):
            return meta
        if meta.max_length is None:
            return Meta(ge=meta.ge, le=bound, extra=meta.extra)
        return Meta(min_length=meta.min_length, max_length=bound, extra=meta.extra)

    def _default_of(self, field: FieldInfo) -> Any:
        meta = get_args(field.type)[1] if get_origin(field.type) is Annotated else None
        name = None if meta is None else (meta.extra or {}).get(DEFAULT)
        if name is None:
            return field.default
        section, _, of = name.partition(".")
        number = getattr(self.size if section == "size" else getattr(self.settings, section), of)
        return field.default if number == field.default else number


def stored_decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """For what was taken in once: it is read whatever the bounds have become since."""
    return Edge(Settings(limits=Limits(size=_BOUNDLESS))).decoder(kind)


def _again(field: FieldInfo, default: Any) -> Any:
    if field.default_factory is not NODEFAULT:
        return msgspec.field(default_factory=field.default_factory, name=field.encode_name)
    return msgspec.field(default=default, name=field.encode_name)
