"""The OpenAPI document as a page to read: plain HTML, no script, nothing loaded from anywhere."""

from html import escape
from typing import Any, Final

_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color-scheme:light dark}code,pre{font-family:ui-monospace,monospace}"
    "h2{margin-top:2rem;font-size:1.05rem}table{border-collapse:collapse}"
    "td,th{text-align:left;padding:.1rem .8rem .1rem 0;vertical-align:top}"
)


def page(document: dict[str, Any]) -> bytes:
    operations = [
        _operation(method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = [_schema(name, schema) for name, schema in sorted(document["components"]["schemas"].items())]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width,initial-scale=1'>",
        f"<title>Taskyard API</title><style>{_STYLE}</style><h1>Taskyard API</h1>",
        "<p>Send your key as <code>Authorization: Bearer tyk_…</code>. The same as a document: ",
        "<a href='/api/openapi.json'>/api/openapi.json</a>.</p>",
        *operations,
        "<h1>Bodies</h1>",
        *schemas,
    ]
    return "".join(parts).encode()


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    rows = [
        f"<tr><td><code>{escape(one['name'])}</code><td>{escape(one['in'])}<td>{_type_of(one['schema'])}"
        for one in operation["parameters"]
    ]
    body = operation.get("requestBody")
    if body is not None:
        (content,) = body["content"].values()
        rows.append(f"<tr><td>body<td><td>{_type_of(content['schema'])}")
    for status, response in sorted(operation["responses"].items()):
        content = next(iter(response.get("content", {}).values()), {"schema": {}})
        said = escape(response["description"]).replace("`", "")
        rows.append(f"<tr><td>{status}<td>{said}<td>{_type_of(content['schema'])}")
    said = escape(operation["description"]).replace("`", "")
    return f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{said}</p><table>{''.join(rows)}</table>"


def _schema(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        f"<tr><td><code>{escape(field)}</code><td>{_type_of(of)}<td>{'required' if field in required else ''}"
        for field, of in schema.get("properties", {}).items()
    ]
    rows += [f"<tr><td><code>{escape(str(value))}</code>" for value in schema.get("enum", [])]
    said = escape(schema.get("description", ""))
    return f"<h2 id='{escape(name)}'>{escape(name)}</h2><p>{said}</p><table>{''.join(rows)}</table>"


def _type_of(schema: dict[str, Any]) -> str:
    """In a few words, with a link to what has a section of its own."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rsplit("/", 1)[-1])
        return f"<a href='#{name}'>{name}</a>"
    if "anyOf" in schema:
        return " or ".join(_type_of(one) for one in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type_of(schema.get('items', {}))}"
    kind = schema.get("type", "any")
    words = " or ".join(kind) if isinstance(kind, list) else str(kind)
    bounds = [
        f"{word} {schema[key]:,}"
        for key, word in (("minimum", "from"), ("maximum", "to"), ("maxLength", "at most"))
        if key in schema
    ]
    return escape(" ".join([words, *bounds]))
