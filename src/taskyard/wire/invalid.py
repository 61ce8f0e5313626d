"""From the decoder's complaint to the field it is about, in words for whoever wrote it.

The decoder names its own types and leaves out what would have been possible. Here a complaint becomes what can be said
after the field's name: "should be one of one, none, all; not 'some'".
"""

import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Final, get_args

from msgspec import Struct
from msgspec.structs import fields

from taskyard.wire.problems import FieldError

_AT: Final = re.compile(r"^(?P<message>.*?)(?: - at (?P<where>`(?:key|keys)` in )?`\$\.?(?P<path>[^`]*)`)?$", re.DOTALL)
_FIELD: Final = re.compile(r"field `(?P<name>[^`]+)`$")
_STEP: Final = re.compile(r"\[[^\]]*\]|[^.\[]+")
TYPES: Final = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
LIMITS: Final = {"<=": "at most", "<": "less than", ">=": "at least", ">": "more than"}


def faults_in(complaint: str, kind: Any = None) -> tuple[FieldError, ...]:
    """msgspec stops at the first fault, so there is one. `kind` is what was to be read, and knows its values."""
    match = _AT.match(complaint)
    assert match is not None, "the pattern takes any text"
    path, message = match["path"] or "", match["message"]
    said = _in_words(message, [value for type_ in _types_at(kind, path) for value in _values_of(type_)])
    named = _FIELD.search(message)
    if named is not None:
        path = f"{path}.{named['name']}" if path else named["name"]
    return (FieldError(path, said),)


def sentence_of(fault: FieldError) -> str:
    return f"`{fault.path}` {fault.message}." if fault.path else f"The whole {fault.message}."


def _in_words(message: str, values: list[str]) -> str:
    for pattern, words in _WORDS:
        found = pattern.fullmatch(message)
        if found is not None:
            return words(found, values)
    return f"is not right: {message}"


def _enum(found: re.Match[str], values: list[str]) -> str:
    return f"should be one of {', '.join(values)}; not {found[1]}" if values else f"cannot be {found[1]}"


def _length(found: re.Match[str], _values: list[str]) -> str:
    of, limit, number = found[1], found[2], int(found[3])
    if (limit, number) == (">=", 1):
        return "is empty"
    return f"should have {LIMITS[limit]} {number:,} {'characters' if of == 'str' else 'entries'}"


def _bound(found: re.Match[str], _values: list[str]) -> str:
    return f"should be {LIMITS[found[1]]} {float(found[2]):,.10g}"


def _type(found: re.Match[str], _values: list[str]) -> str:
    wanted = " or ".join(TYPES.get(name, name) for name in found[1].split(" | "))
    return f"should be {wanted}, not {TYPES.get(found[2], found[2])}"


_WORDS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], list[str]], str]], ...]] = (
    (re.compile(r"Invalid enum value (.*)", re.DOTALL), _enum),
    (re.compile(r"Expected `(str|array|object)` of length (<=|>=) (\d+)"), _length),
    (re.compile(r"Expected `(?:int|float)` (<=|<|>=|>) (-?[\d.]+(?:e[+-]?\d+)?)"), _bound),
    (re.compile(r"Expected `([^`]*)`, got `([^`]*)`"), _type),
    (re.compile(r"Object contains unknown field `[^`]*`"), lambda _found, _values: "is no field that is known here"),
    (re.compile(r"Object missing required field `[^`]*`"), lambda _found, _values: "is needed"),
    (
        re.compile(r"Invalid RFC3339 encoded datetime|Expected `datetime` with a timezone component"),
        lambda _found, _values: "should be a time with its zone, as in 2026-01-31T09:00:00Z",
    ),
)


# What a field could have been.


def _types_at(kind: Any, path: str) -> list[Any]:
    """Every type that may stand at a path; none where the path leads out of what is known."""
    types = list(_members(kind))
    for step in _STEP.findall(path):
        if step.startswith("["):
            inner = [get_args(type_)[-1] for type_ in types if get_args(type_)]
        else:
            structs = [type_ for type_ in types if isinstance(type_, type) and issubclass(type_, Struct)]
            inner = [field.type for type_ in structs for field in fields(type_) if field.encode_name == step]
        types = [member for type_ in inner for member in _members(type_)]
    return types


def _members(type_: Any) -> Iterator[Any]:
    """The parts of a union, without what is only noted about them."""
    if hasattr(type_, "__metadata__"):
        yield from _members(get_args(type_)[0])
    elif get_args(type_) and not isinstance(getattr(type_, "__origin__", None), type):
        for member in get_args(type_):
            yield from _members(member)
    else:
        yield type_


def _values_of(type_: Any) -> list[str]:
    return [str(one.value) for one in type_] if isinstance(type_, type) and issubclass(type_, Enum) else []
