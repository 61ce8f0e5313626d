"""The messages that were written before there was a parser."""

from typing import Any, Final

from taskyard.chat.parsed import Parsed
from taskyard.chat.parser import parse
from tests.chat.messages import bare, lines_of, shown, sources_of

CONFIGURATION, *MESSAGES = lines_of("unseen.jsonl")
SOURCES: Final = sources_of(CONFIGURATION["queues"], CONFIGURATION["default"])
SHARE_MIN: Final = 0.9


def is_as_expected(message: dict[str, Any], parsed: Parsed) -> bool:
    """All of a message or none of it."""
    said = shown(parsed)
    tasks = [{**task, "input": bare(task["input"])} for task in said["tasks"]]
    wanted = [{**task, "input": bare(task["input"])} for task in message.get("tasks", [])]
    commands = [{"do" if name == "command" else name: value for name, value in one.items()} for one in said["commands"]]
    is_asking = parsed.question is not None
    asks_right = is_asking if message.get("asks") else not is_asking or not (wanted or message.get("commands"))
    return tasks == wanted and commands == message.get("commands", []) and asks_right


def test_nine_of_ten_parse() -> None:
    wrong = [one["text"] for one in MESSAGES if not is_as_expected(one, parse(one["text"], SOURCES))]
    assert len(MESSAGES) >= 60
    assert len(wrong) <= len(MESSAGES) * (1 - SHARE_MIN), wrong


def test_no_conversation_makes_a_task() -> None:
    talk = [one["text"] for one in MESSAGES if not one.get("tasks") and not one.get("commands")]
    assert talk
    assert [text for text in talk if parse(text, SOURCES).tasks or parse(text, SOURCES).commands] == []
