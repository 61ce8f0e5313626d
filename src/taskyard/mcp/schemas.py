"""JSON Schemas of what tools take and answer."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from taskyard.mcp.answers import ToolError

_REFS: Final = "#/$defs/{name}"
_ABOUT: Final = frozenset({"title", "description", "default"})


def input_schema(takes: type[Struct]) -> dict[str, Any]:
    """What a tool takes, with an object at its root, which the protocol asks for."""
    _, components = msgspec.json.schema_components([takes], ref_template=_REFS)
    root: dict[str, Any] = components.pop(takes.__name__)
    described: dict[str, Any] = _plain({**root, "$defs": components} if components else root)
    return described


def output_schema(answers: type[Struct]) -> dict[str, Any]:
    """What a tool answers. The result of a call that was refused is structured too, so it is the other choice."""
    (answer, error), components = msgspec.json.schema_components(
        [answers, ToolError], schema_hook=_any_json, ref_template=_REFS
    )
    described: dict[str, Any] = _bare({"type": "object", "anyOf": [answer, error], "$defs": components})
    return described


def _any_json(type_: type) -> dict[str, Any]:
    if type_ is not object:
        raise NotImplementedError
    return {}


def _bare(schema: Any, *, is_of_fields: bool = False) -> Any:
    """The same without titles and descriptions of types, which are about our code."""
    if isinstance(schema, list):
        return [_bare(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    # Fields may be called anything, `title` too.
    kept = schema if is_of_fields else {name: schema[name] for name in schema if name not in _ABOUT}
    return {name: _bare(value, is_of_fields=name == "properties" and not is_of_fields) for name, value in kept.items()}


def _plain(schema: Any) -> Any:
    """The same without saying of everything that it may be null: agents pay for every word, in each conversation."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    choices = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == 1:
        schema = {**choices[0], **{name: value for name, value in schema.items() if name != "anyOf"}}
    elif choices:
        schema = {**schema, "anyOf": choices}
    kept = {name: value for name, value in schema.items() if (name, value) != ("default", None)}
    # Fields may be called anything; only of types a title says nothing new.
    if not isinstance(kept.get("title"), dict):
        kept.pop("title", None)
    return {name: _plain(value) for name, value in kept.items()}
