"""What of a program's own records people read in the log: what it says and does, not the form it says it in."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from taskyard.daemon.command.configuration import Shape
from taskyard.daemon.outcome import cut_text

ACT_BYTES_MAX: Final = 500
"""Of what a tool is called with."""

_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


def told(shape: Shape, line: str) -> str | None:
    """The line as the log has it; None: it says nothing to people."""
    teller = TELLERS.get(shape)
    if teller is None or not line.startswith("{"):
        return line
    try:
        record = _decode(line.encode())
    except (msgspec.DecodeError, RecursionError):
        return line
    return teller(record)


def _of_claude(record: dict[str, Any]) -> str | None:
    if record.get("subtype") == "api_retry":
        return (
            f"[the model answered {record.get('error_status')} ({record.get('error')}); "
            f"try {record.get('attempt')} of {record.get('max_retries')} follows]"
        )
    if record.get("type") != "assistant":
        return None
    message = record.get("message")
    parts = message.get("content") if isinstance(message, dict) else None
    if not isinstance(parts, list):
        return None
    said = [_part_of_claude(part) for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in said if text) or None


def _part_of_claude(part: dict[str, Any]) -> str:
    if part.get("type") == "tool_use":
        return _act(part.get("name"), part.get("input"))
    return str(part.get("text") or "")


def _of_codex(record: dict[str, Any]) -> str | None:
    item = record.get("item")
    if record.get("type") == "error":
        return str(record.get("message"))
    if record.get("type") != "item.completed" or not isinstance(item, dict):
        return None
    if said := item.get("text") or item.get("message"):
        return str(said)
    return _act(item.get("type"), item.get("command") or item.get("changes") or item.get("query"))


def _act(name: Any, given: Any) -> str:
    words = given if isinstance(given, str) else msgspec.json.encode(given).decode() if given else ""
    return f"→ {name} {cut_text(words, ACT_BYTES_MAX)}".rstrip()


TELLERS: Final[dict[Shape, Callable[[dict[str, Any]], str | None]]] = {"claude": _of_claude, "codex": _of_codex}
