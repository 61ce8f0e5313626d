"""Records of programs as people read them."""

from typing import Any

import msgspec
import pytest

from taskyard.daemon.command.telling import ACT_BYTES_MAX, told


def claude(*parts: Any) -> str:
    return msgspec.json.encode({"type": "assistant", "message": {"content": list(parts)}}).decode()


@pytest.mark.parametrize(
    ("shape", "line", "shown"),
    [
        ("text", '{"type":"assistant"}', '{"type":"assistant"}'),
        ("claude", "not a record", "not a record"),
        ("claude", "{half", "{half"),
        ("claude", '{"type":"system"}', None),
        ("claude", '{"type":"assistant"}', None),
        (
            "claude",
            '{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error_status":529,"error":"overloaded"}',
            "[the model answered 529 (overloaded); try 2 of 10 follows]",
        ),
        ("claude", '{"type":"assistant","message":{"content":"x"}}', None),
        ("claude", claude({"type": "text", "text": "a"}, {"type": "thinking"}, 7), "a"),
        ("claude", claude({"type": "tool_use", "name": "Read", "input": {}}), "→ Read"),
        ("codex", '{"type":"turn.started"}', None),
        ("codex", '{"type":"error","message":"lost"}', "lost"),
        ("codex", '{"type":"item.completed","item":{"type":"web_search","query":"q"}}', "→ web_search q"),
        ("codex", '{"type":"item.completed","item":{"type":"todo_list"}}', "→ todo_list"),
        ("codex", '{"type":"item.completed","item":{"type":"error","message":"falling back"}}', "falling back"),
    ],
)
def test_what_is_said_and_done_is_told_and_not_the_form(shape: Any, line: str, shown: str | None) -> None:
    assert told(shape, line) == shown


def test_what_a_tool_is_given_is_cut() -> None:
    line = told("claude", claude({"type": "tool_use", "name": "Write", "input": {"content": "x" * 10_000}}))
    assert line is not None
    assert len(line) < ACT_BYTES_MAX + 100
