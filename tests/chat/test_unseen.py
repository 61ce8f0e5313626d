"""The messages that were written before there was a parser."""

from typing import Final

from taskyard.chat.parser import parse
from tests.chat.messages import is_as_expected, lines_of, sources_of

CONFIGURATION, *MESSAGES = lines_of("unseen.jsonl")
SOURCES: Final = sources_of(CONFIGURATION["queues"], CONFIGURATION["default"])
SHARE_MIN: Final = 0.9


def test_nine_of_ten_parse() -> None:
    wrong = [one["text"] for one in MESSAGES if not is_as_expected(one, parse(one["text"], SOURCES))]
    assert len(MESSAGES) >= 60
    assert len(wrong) <= len(MESSAGES) * (1 - SHARE_MIN), wrong


def test_no_conversation_makes_a_task() -> None:
    talk = [one["text"] for one in MESSAGES if not one.get("tasks") and not one.get("commands")]
    assert talk
    assert [text for text in talk if parse(text, SOURCES).tasks or parse(text, SOURCES).commands] == []
