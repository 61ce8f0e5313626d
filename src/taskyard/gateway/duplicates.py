"""Names that stand twice in one JSON object. The decoder takes the last and others the first, so neither is right.

Only objects that the hub reads are looked at; `context`, `payload`, results and their like are handed on as they came.
An object's text has a colon for each of its members and those inside their values, and a decoded object has each name
once. So an object repeats a name if the text has more colons than that; counting them costs a microsecond.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct, inspect

from taskyard.wire.problems import FieldError

TWICE: Final = "stands more than once in its object; send it once"
# Of an object that is taken apart to find the name: with 16 MiB that would hold up the loop for half a second.
NAMED_BYTES_MAX: Final = 1024 * 1024

_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_rows: Final = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_items: Final = msgspec.json.Decoder(list[Raw]).decode


class Shape(Struct, frozen=True):
    """Which members of an object, or of each object in a list, are objects that the hub reads."""

    inner: Mapping[str, "Shape"] = {}
    # Of an object with names of its sender's choosing: the shape of each value.
    values: "Shape | None" = None


def shape_of(type_: Any) -> Shape:
    """The shape of what a decoder for this type reads."""
    return _shape(inspect.type_info(type_)) or Shape()


def _shape(info: inspect.Type) -> Shape | None:
    """None: there is no object to look into."""
    match info:
        case inspect.Metadata():
            return _shape(info.type)
        case inspect.UnionType():
            return next((found for one in info.types if (found := _shape(one)) is not None), None)
        case inspect.ListType():
            return _shape(info.item_type)
        case inspect.DictType():
            # With values of any kind it is a user's data.
            is_carried = isinstance(info.value_type, inspect.AnyType | inspect.CustomType)
            return None if is_carried else Shape(values=_shape(info.value_type))
        case inspect.StructType():
            inner = {field.encode_name: _shape(field.type) for field in info.fields}
            return Shape({name: shape for name, shape in inner.items() if shape is not None})
        case _:
            return None


def repeated(text: bytes, shape: Shape) -> FieldError | None:
    """A name that stands twice in one object; of JSON that a decoder has taken."""
    return None if text.count(b":") == _colons(text, shape) else _fault(text, shape, "")


def _colons(text: bytes, shape: Shape) -> int:
    """How many there are if no object repeats a name."""
    if text.startswith(b"{"):
        return _colons_of(_members(text), shape)
    text = text.lstrip()
    if not text.startswith(b"["):
        return _colons_of(_members(text), shape) if text.startswith(b"{") else text.count(b":")
    try:
        rows = _rows(text)
    except msgspec.ValidationError:
        return sum(_colons(bytes(item), shape) for item in _items(text))
    if shape.values is None and shape.inner.keys().isdisjoint(chain.from_iterable(rows)):
        return sum(map(len, rows)) + b"".join(chain.from_iterable(map(dict.values, rows))).count(b":")
    return sum(_colons_of(row, shape) for row in rows)


def _colons_of(members: dict[str, Raw], shape: Shape) -> int:
    colons = len(members)
    if shape.values is not None:
        return colons + sum(_colons(bytes(value), shape.values) for value in members.values())
    if not shape.inner.keys().isdisjoint(members):
        read = shape.inner.keys() & members.keys()
        colons += sum(_colons(bytes(members.pop(name)), shape.inner[name]) for name in read)
    return colons + b"".join(members.values()).count(b":")


def _fault(text: bytes, shape: Shape, path: str) -> FieldError | None:
    """Find it: this is rare, so each object is taken by itself."""
    found: Iterable[FieldError | None] = ()
    if text.startswith(b"["):
        found = (_fault(bytes(item), shape, f"{path}[{index}]") for index, item in enumerate(_items(text)))
    elif text.lstrip().startswith(b"{"):
        members = _members(text)
        if text.count(b":") != len(members) + b"".join(members.values()).count(b":"):
            if len(text) > NAMED_BYTES_MAX:
                return FieldError(path, f"{TWICE}: one of {', '.join(sorted(members))}")
            names = Counter(name for name, _ in json.loads(text, object_pairs_hook=tuple))
            # A colon inside a name looks like one member more, too.
            if max(names.values()) > 1:
                return FieldError(f"{path}.{names.most_common(1)[0][0]}".lstrip("."), TWICE)
        inner = shape.inner if shape.values is None else dict.fromkeys(members, shape.values)
        found = (
            _fault(bytes(members[name]), below, f"{path}.{name}".lstrip("."))
            for name, below in inner.items()
            if name in members
        )
    return next((fault for fault in found if fault is not None), None)
