"""Writes docs/http.md from the route table and the types that validate, so that the page cannot say something else.

`tests/tidy` fails while the page and the table differ; `make docs` writes it again.
"""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from taskyard.core.settings import Sizes
from taskyard.gateway.agent_routes import CLAIM_ROUTES, MCP_PATH, MCP_ROUTES
from taskyard.gateway.callers import callers_of
from taskyard.gateway.daemon_routes import DAEMON_ROUTES
from taskyard.gateway.exchange_routes import EXCHANGE_ROUTES
from taskyard.gateway.hook_routes import HOOK_ROUTES
from taskyard.gateway.job_routes import JOB_ROUTES
from taskyard.gateway.notification_routes import NOTIFICATION_ROUTES
from taskyard.gateway.openapi import document, refusals_of
from taskyard.gateway.page_routes import PAGE_ROUTES
from taskyard.gateway.route import Policy, Route
from taskyard.gateway.routes import OTHER_ROUTES, ROUTES, SOCKET_PATH, SOCKET_POLICY
from taskyard.gateway.schedule_routes import SCHEDULE_ROUTES
from taskyard.gateway.sizes import bytes_max
from taskyard.gateway.task_routes import TASK_ROUTES
from taskyard.gateway.template_routes import TEMPLATE_ROUTES
from taskyard.vocabulary import Refusal
from taskyard.wire.problems import MEDIA_TYPE, PROBLEMS

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "http.md"
WIDTH: Final = 140
SIZE: Final = Sizes()
DESCRIBED: Final = tuple(route for route in ROUTES if route.is_described)

Schema = Mapping[str, Any]

INTRODUCTION: Final = f"""# HTTP

Made by `make docs` from the table in `src/taskyard/gateway/routes.py`; change it there. A running hub has the same as
`/api/openapi.json` (OpenAPI 3.1) and, for reading, `/api/docs`. Clients can be generated from it: `make soak` submits a
task with those of openapi-generator, openapi-python-client and openapi-typescript (with `--default-non-nullable=false`,
or what has a default could not be left out).

JSON in, JSON out. Send a key as `Authorization: Bearer tyk_…`. Times are ISO 8601 with a zone, durations are seconds. A
task is named by its id or its ref (`T-042`); daemons and users by id or name. An unknown field in a body or query is an
error. Lists come newest first, `limit` at a time (50, at most 500); the next page is in the `Link: <…>; rel="next"`
header. An admin names another user with `?user=`; in lists `?user=*` means everybody's.

A refusal is `{MEDIA_TYPE}`: `{{"status", "title", "detail", "code", "errors": [{{"path", "message"}}]}}`. Go by
`code`: `detail` is for people. A 503 and a 429 carry `Retry-After` in seconds. Repeating a submission is safe with an
`Idempotency-Key` header (or the field `idempotency_key`): the second one answers 200 with the first one's task and
`"deduplicated": true`, for 24 hours also if that was cancelled or skipped since; a new key makes a new task."""

PROTOCOL: Final = """## Requests as they are sent

Requests are HTTP/1.1 or 1.0, as RFC 9112 has them; one that is malformed, or that a proxy could read differently, is
400 `BAD_REQUEST` and ends its connection. That is one with two `Host`, `Authorization`, `Idempotency-Key` or other
fields that decide something, without `Host`, with another `Transfer-Encoding` than `chunked`, or with an absolute
address of another host; trailers are ignored ([ADR 31](adr/0031-what-http-is-refused.md)). A name that stands twice
in one JSON object is 422, but in what is only carried, such as `context` and `payload`.

A head has 64 KiB and 10 s; a body has 30 s, else it is 408 `REQUEST_TIMEOUT`. An answer that comes before the body
has come whole says `Connection: close`; without a valid key at most 16 MiB of that body are read, for 5 s, and
nothing of one that is announced as larger."""

SHAPES: Final = """## Shapes

`?` after a type: it may be null. `=` gives the default. Of a body, what is not marked *required* may be left out. A
program that reads answers ignores fields that it does not know: a newer hub may have more."""


def page() -> str:
    return "\n".join(lines()) + "\n"


def lines() -> Iterator[str]:
    described = document(ROUTES)
    yield INTRODUCTION
    yield ""
    yield from refusals()
    yield ""
    yield PROTOCOL
    for title, routes in (
        ("Tasks", TASK_ROUTES),
        ("Pulling", CLAIM_ROUTES),
        ("Daemons", DAEMON_ROUTES),
        ("Everything else", OTHER_ROUTES),
        ("Imports, exports and the report", EXCHANGE_ROUTES),
        ("Schedules", SCHEDULE_ROUTES),
        ("Templates", TEMPLATE_ROUTES),
        ("Webhooks", HOOK_ROUTES),
        ("Notifications", NOTIFICATION_ROUTES),
        ("Jobs of Arvis clients", JOB_ROUTES),
        ("Signing in, and around the API", PAGE_ROUTES),
    ):
        yield ""
        yield f"## {title}"
        for route in routes:
            yield ""
            yield from entry(route, described)
    yield ""
    yield "## The daemons' socket"
    yield ""
    yield f"`GET {SOCKET_PATH}`, upgraded to a WebSocket, for {who(SOCKET_POLICY)}: see [protocol.md](protocol.md)."
    yield ""
    yield "## The agents' tools"
    yield ""
    yield f"`POST {MCP_PATH}`, the Model Context Protocol, for {who(MCP_ROUTES[0].policy)}: see [mcp.md](mcp.md)."
    yield ""
    yield SHAPES
    schemas = described["components"]["schemas"]
    sent = sent_by_callers(schemas)
    for name in shapes(described):
        yield ""
        yield from shape(name, schemas[name], is_sent=name in sent)
    yield ""
    yield "## Words"
    for name, values in words(described):
        yield ""
        yield f"### {name}"
        yield ""
        yield from textwrap.wrap(", ".join(f"`{value}`" for value in values) + ".", WIDTH)


# --- refusals ----------------------------------------------------------------------------------------------


def common(routes: Iterable[Route[Any, Any]]) -> frozenset[Refusal]:
    """What every route with a key can meet, whatever it does."""
    asked = [frozenset(refusals_of(route)) for route in routes if not route.policy.public]
    return frozenset.intersection(*asked)


def refusals() -> Iterator[str]:
    everywhere = common(DESCRIBED)
    used = {refusal for route in DESCRIBED for refusal in refusals_of(route)}
    yield "| status | code | means | where |"
    yield "|---|---|---|---|"
    for refusal, row in PROBLEMS.items():
        if refusal in used:
            where = "everywhere" if refusal in everywhere else "where it is named"
            yield f"| {row.status} | `{refusal}` | {row.title} | {where} |"
    yield ""
    yield "An address that does not exist is 404 `NOT_FOUND`, a wrong method 405 `METHOD_NOT_ALLOWED`."


# --- routes ------------------------------------------------------------------------------------------------


def entry(route: Route[Any, Any], described: Schema) -> Iterator[str]:
    operation = described["paths"][route.path][route.method.lower()]
    yield f"### `{route.method} {route.path}`"
    yield ""
    yield from textwrap.wrap(f"{route.summary}. {route.description}".strip(), WIDTH)
    yield ""
    yield from item("who", who(route.policy))
    query = [parameter for parameter in operation["parameters"] if parameter["in"] == "query"]
    if query:
        yield from item("query", ", ".join(field(one["name"], one["schema"], ()) for one in query))
    if "requestBody" in operation:
        yield from item("body", body(route, operation["requestBody"]))
    yield from item("answer", answer(route, operation))
    own = [refusal for refusal in refusals_of(route) if refusal not in common(DESCRIBED)]
    if own and (route.policy.signed or not route.policy.public):
        own.sort(key=lambda refusal: PROBLEMS[refusal].status)
        yield from item("may refuse", ", ".join(f"{PROBLEMS[one].status} `{one}`" for one in own))


def who(policy: Policy) -> str:
    return callers_of(policy) + (": see [webhooks.md](webhooks.md)" if policy.signed else "")


def body(route: Route[Any, Any], described: Schema) -> str:
    schema = described["content"]["application/json"]["schema"]
    if route.body is bytes:
        return f"as the provider sends it, at most {bytes_max(SIZE, is_batch=route.is_batch) // 2**20} MiB"
    if kind(schema) == "Empty":
        return "none, or `{}`"
    return f"{linked(schema)}, at most {bytes_max(SIZE, is_batch=route.is_batch) // 2**20} MiB"


def answer(route: Route[Any, Any], operation: Schema) -> str:
    if route.answer is None:
        return f"{route.status}, without a body"
    if route.media_type != "application/json":
        return f"{route.status}, `{route.media_type}`"
    schema = operation["responses"][str(route.status)]["content"][route.media_type]["schema"]
    again = "" if route.again_status is None else f"; {route.again_status} {route.again_when}"
    nothing = "" if route.nothing_status is None else f"; {route.nothing_status} without a body if there is nothing"
    return f"{route.status}, {linked(schema)}{again}{nothing}"


def item(name: str, text: str) -> Iterator[str]:
    yield from textwrap.wrap(
        f"- {name}: {text}", WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


# --- shapes ------------------------------------------------------------------------------------------------


def shapes(described: Schema) -> Iterator[str]:
    """The objects that bodies and answers are made of; queries are told with their routes."""
    for name, schema in sorted(described["components"]["schemas"].items()):
        if "properties" in schema:
            yield name


def sent_by_callers(schemas: Schema) -> frozenset[str]:
    """The bodies, and what they are made of: only there it matters what is required."""
    found: set[str] = set()
    waiting = [route.body.__name__ for route in DESCRIBED]
    while waiting:
        name = waiting.pop()
        if name not in found and name in schemas:
            found.add(name)
            waiting += mentioned(schemas[name])
    return frozenset(found)


def mentioned(schema: object) -> Iterator[str]:
    """The names of the shapes that this one refers to, at any depth."""
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            yield kind(schema)
        for value in schema.values():
            yield from mentioned(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from mentioned(value)


def shape(name: str, schema: Schema, *, is_sent: bool) -> Iterator[str]:
    yield f"### {name}"
    yield ""
    if "description" in schema:
        yield from textwrap.wrap(" ".join(schema["description"].split()), WIDTH)
        yield ""
    required = schema.get("required", ()) if is_sent else ()
    fields = ", ".join(field(one, of, required) for one, of in schema["properties"].items())
    yield from textwrap.wrap(f"{fields}.", WIDTH, break_long_words=False, break_on_hyphens=False)


def field(name: str, schema: Schema, required: Sequence[str]) -> str:
    said = f"`{name}` {linked(schema)}"
    if name in required:
        return f"{said} *required*"
    default = schema.get("default")
    if default is None or default in ([], {}):
        return said
    return f"{said} = `{str(default).lower() if isinstance(default, bool) else default}`"


def linked(schema: Schema) -> str:
    """The type in words, with a link to where the page describes it."""
    if "anyOf" in schema:
        options = [one for one in schema["anyOf"] if one.get("type") != "null"]
        return " or ".join(map(linked, options)) + ("?" if len(options) < len(schema["anyOf"]) else "")
    if "$ref" in schema:
        name = kind(schema)
        return f"[{name}](#{name.lower()})"
    if schema.get("type") == "array":
        return f"list of {linked(schema.get('items', {}))}"
    return scalar(schema)


def scalar(schema: Schema) -> str:
    if "enum" in schema:
        return " or ".join(f'"{value}"' for value in schema["enum"])
    if schema.get("format") == "date-time":
        return "time"
    type_ = schema.get("type", "any JSON")
    if isinstance(type_, list):
        return f"{type_[0]}?"
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    if low is not None and "maximum" in schema:
        return f"{type_} ({low} to {schema['maximum']})"
    return str(type_)


def kind(schema: Schema) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def words(described: Schema) -> Iterator[tuple[str, list[str]]]:
    for name, schema in sorted(described["components"]["schemas"].items()):
        if "enum" in schema:
            yield name, schema["enum"]


if __name__ == "__main__":
    PAGE.write_text(page())
