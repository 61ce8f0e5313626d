"""The corpora of both languages, written before the code that reads them, and fresh ones by other eyes."""

from typing import Final

import pytest

from taskyard.chat.parser import parse
from tests.chat.messages import HERE, is_as_expected, lines_of, sources_of

FRESH: Final = sorted(path.name for path in HERE.glob("fresh_*.jsonl"))
FRESH_COUNT_MIN: Final = 48
FRESH_SHARE_MIN: Final = 0.9
KINDS: Final = {"task", "list", "sequence", "model", "source", "priority", "goal", "dependency"} | {
    *("command", "status", "half", "talk"),
}


def wrong_of(name: str) -> tuple[list[str], int]:
    """The messages of a file that are understood wrongly, and how many it has."""
    configuration, *messages = lines_of(name)
    sources = sources_of(configuration["queues"], configuration["default"])
    return [one["text"] for one in messages if not is_as_expected(one, parse(one["text"], sources))], len(messages)


@pytest.mark.parametrize(("name", "share_min"), [("english.jsonl", 1.0), ("chinese.jsonl", 1.0)])
def test_a_corpus_is_understood(name: str, share_min: float) -> None:
    wrong, count = wrong_of(name)
    assert count >= 150
    assert len(wrong) <= count * (1 - share_min), wrong


@pytest.mark.parametrize("name", ["english.jsonl", "chinese.jsonl"])
def test_a_corpus_has_every_kind_of_message(name: str) -> None:
    assert {one["kind"] for one in lines_of(name)[1:]} == KINDS


@pytest.mark.parametrize("name", FRESH)
def test_nine_of_ten_fresh_messages_are_understood(name: str) -> None:
    wrong, count = wrong_of(name)
    assert count >= FRESH_COUNT_MIN
    assert len(wrong) <= count * (1 - FRESH_SHARE_MIN), wrong
