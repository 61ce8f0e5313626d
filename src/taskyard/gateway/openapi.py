"""The OpenAPI document, derived from the route table and the very types that validate."""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from taskyard.gateway.callers import callers_of
from taskyard.gateway.route import Route
from taskyard.gateway.tags import TAGS, tag_of
from taskyard.vocabulary import Refusal
from taskyard.wire.depth import DEPTH_MAX
from taskyard.wire.fields import NAME_CHARS_MAX
from taskyard.wire.imports import CarriedTask
from taskyard.wire.problems import MEDIA_TYPE, PROBLEMS, Problem
from taskyard.wire.submission import BatchItem, Submission

_ALWAYS: Final = (Refusal.INVALID_INPUT, Refusal.FORBIDDEN, Refusal.BAD_REQUEST, Refusal.URI_TOO_LONG)
_WITH_KEY: Final = (Refusal.UNAUTHENTICATED, Refusal.RATE_LIMITED)
_WITH_BODY: Final = (Refusal.TOO_LARGE, Refusal.REQUEST_TIMEOUT)
_OF_USER: Final = (Refusal.USER_NOT_FOUND,)
_BY_HUB: Final = (
    Refusal.RECORD_DAMAGED,
    Refusal.OVERLOADED,
    Refusal.STORE_UNAVAILABLE,
    Refusal.OUTCOME_UNKNOWN,
    Refusal.NO_LEADER,
    Refusal.HUB_REWOUND,
)
_NOT_EMPTY: Final = ("required", "minProperties")
_BODY_METHODS: Final = frozenset({"POST", "PUT", "PATCH"})
_NAMES: Final = re.compile(r"\{(\w+)\}")


def document(routes: Sequence[Route[Any, Any]]) -> dict[str, Any]:
    routes = [route for route in routes if route.is_described]
    types = _types_of(routes)
    schemas, components = msgspec.json.schema_components(
        types, schema_hook=_anything, ref_template="#/components/schemas/{name}"
    )
    _open_objects([*schemas, components])
    for kind in (Submission, BatchItem, CarriedTask):
        _require_input(components[kind.__name__], may_name_template=kind is not CarriedTask)
    schema_of = {str(type_): schema for type_, schema in zip(types, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schema_of, components)
    # Queries have become parameters, and nothing refers to them.
    for query in {route.query.__name__ for route in routes} - {route.body.__name__ for route in routes}:
        components.pop(query, None)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Taskyard",
            "version": "1",
            "summary": "A durable, fair task queue for AI agents",
            "description": f"A JSON value in a body nests at most {DEPTH_MAX} levels deep.",
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "The hub that this document was read from"}],
        "tags": [{"name": tag.name, "description": tag.description} for tag in TAGS],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _require_input(schema: dict[str, Any], *, may_name_template: bool) -> None:
    """Leave the other name of `input` out, and require `input` unless a template can have it.

    The hub takes `description` in its place, or a template's. A schema that says so is a choice between lists of
    required fields: generators make a type of each, without a field, and their clients lose the body.
    """
    del schema["properties"]["description"]
    if may_name_template:
        schema["minProperties"] = 1
    else:
        del schema["properties"]["template"], schema["properties"]["set"]
        schema["required"] = ["input", *schema["required"]]


def _open_objects(part: object) -> None:
    """Say of every object whose fields are not listed that it may have any: generators would give it none."""
    if isinstance(part, dict):
        if "object" in part.get("type", ()) and "properties" not in part:
            part.setdefault("additionalProperties", True)
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            _open_objects(inner)


def _anything(type_: type) -> dict[str, Any]:
    """`object` in a body means any JSON."""
    if type_ is not object:
        raise NotImplementedError
    return {"description": "any JSON"}


def _types_of(routes: Sequence[Route[Any, Any]]) -> list[Any]:
    types: dict[str, Any] = {str(Problem): Problem}
    for route in routes:
        for type_ in (route.body, route.query, route.answer):
            types[str(type_)] = type_
    return list(types.values())


def refusals_of(route: Route[Any, Any]) -> tuple[Refusal, ...]:
    """All that a caller of this route can meet, without repeats."""
    said: tuple[Refusal, ...] = (*route.refusals, *_ALWAYS, *_BY_HUB)
    if not route.policy.public:
        said += _WITH_KEY
    if route.method in _BODY_METHODS:
        said += _WITH_BODY
    if "user" in route.query.__struct_fields__:
        said += _OF_USER
    return tuple(dict.fromkeys(said))


def _operation(route: Route[Any, Any], schema_of: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": route.summary,
        "description": _description(route),
        "tags": [tag_of(route.path)],
        "operationId": f"{route.method.lower()}{route.path}".replace("/", "_").replace("{", "").replace("}", ""),
        "parameters": _parameters(route, components),
        "responses": _responses(route, schema_of),
        "security": [] if route.policy.public else [{"key": []}],
    }
    if route.policy.scopes:
        operation["x-scopes"] = sorted(route.policy.scopes)
    if route.method in _BODY_METHODS:
        is_raw = route.body is bytes
        operation["requestBody"] = {
            # No body is taken for an empty object.
            "required": not is_raw and any(map(components[route.body.__name__].get, _NOT_EMPTY)),
            "content": {"application/json": {"schema": _anything(object) if is_raw else schema_of[str(route.body)]}},
        }
    return operation


def _description(route: Route[Any, Any]) -> str:
    said = [f"{route.summary}.", route.description, f"For {callers_of(route.policy)}."]
    if route.again_status is not None:
        said.append(f"Answers {route.again_status} instead of {route.status} {route.again_when}.")
    if route.nothing_status is not None:
        said.append(f"Answers {route.nothing_status}, without a body, if there is nothing.")
    return " ".join(filter(None, said))


def _parameters(route: Route[Any, Any], components: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name in _NAMES.findall(route.path):
        found.append({"name": name, "in": "path", "required": True, "schema": {"type": "string"}})
    query = components.get(route.query.__name__, {})
    required = query.get("required", [])
    for name, schema in query.get("properties", {}).items():
        found.append({"name": name, "in": "query", "required": name in required, "schema": schema})
    if route.path.endswith(("/tasks", "/tasks/batch")) and route.method == "POST":
        schema = {"type": "string", "minLength": 1, "maxLength": NAME_CHARS_MAX}
        found.append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": schema})
    return found


def _responses(route: Route[Any, Any], schema_of: dict[str, Any]) -> dict[str, Any]:
    answered: dict[str, Any] = {"description": route.summary}
    if route.answer is not None:
        answered["content"] = {route.media_type: {"schema": schema_of[str(route.answer)]}}
    responses: dict[str, Any] = {str(route.status): answered}
    if route.again_status is not None:
        responses[str(route.again_status)] = answered
    if route.nothing_status is not None:
        responses[str(route.nothing_status)] = {"description": "There is nothing"}
    if route.media_type == "text/html" and route.policy.public:
        responses["303"] = {"description": "Signed in"}
        responses["401"] = {"description": "The link is spent", "content": answered["content"]}
    if route.policy.signed:
        # A challenge is given back; a slash command of Slack gets an empty text.
        content = {**answered["content"], "text/plain": {"schema": {"type": "string", "maxLength": 0}}}
        responses["200"] = {"description": "What the sender asked to be given back, or nothing", "content": content}
    problem = {MEDIA_TYPE: {"schema": schema_of[str(Problem)]}}
    by_status: dict[int, list[Refusal]] = {}
    for refusal in refusals_of(route):
        by_status.setdefault(PROBLEMS[refusal].status, []).append(refusal)
    for status, refusals in sorted(by_status.items()):
        description = ", ".join(f"`{refusal}`" for refusal in refusals)
        responses.setdefault(str(status), {"description": description, "content": problem})
    return responses
