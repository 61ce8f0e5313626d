"""The same thing as different people type it: each table holds one kind, and what must not be taken for it."""

from typing import Final

import pytest

from taskyard.chat.parsed import Parsed
from taskyard.chat.parser import parse
from taskyard.vocabulary import ChatCommand
from tests.chat.messages import lines_of, sources_of

CONFIGURATION: Final = lines_of("fresh_english.jsonl")[0]
SOURCES: Final = sources_of(CONFIGURATION["queues"], CONFIGURATION["default"])


def read(text: str) -> Parsed:
    return parse(text, SOURCES)


def inputs(text: str) -> list[str]:
    return [task.input for task in read(text).tasks]


def orders(text: str) -> list[tuple[str, tuple[int | str, ...]]]:
    return [(task.input, task.depends_on) for task in read(text).tasks]


# Politeness.


@pytest.mark.parametrize(
    "text",
    [
        "plese fix the login page",
        "pleas fix the login page",
        "plaese fix the login page",
        "Pleeease fix the login page",
        "pls pls fix the login page",
        "plz, fix the login page",
        "kindley fix the login page",
        "cud you fix the login page, ty",
        "could u plz fix the login page thanx",
        "can ya fix the login page, tnx a lot",
        "fix the login page, many thanks",
        "fix the login page, thank u so much",
    ],
)
def test_politeness_is_known_however_it_is_typed(text: str) -> None:
    assert [task.lower() for task in inputs(text)] == ["fix the login page"]


@pytest.mark.parametrize("text", ["pls", "plesae", "plus ten people came", "places were full", "thanx a lot", "ty"])
def test_politeness_alone_is_no_task(text: str) -> None:
    assert read(text) == Parsed()


# Questions about how things stand.


@pytest.mark.parametrize(
    "text",
    [
        "hows T-013",
        "hows T-013 coming along?",
        "how is T-013 getting on",
        "wheres T-013",
        "whys T-013 stuck",
        "whats T-013 doing",
        "whats the status of T-013",
        "whats happening with T-013",
        "hows it going with T-013?",
        "any news on T-013?",
        "isnt T-013 done yet",
    ],
)
def test_a_question_about_a_task_needs_no_apostrophe(text: str) -> None:
    assert [(one.command, one.ref) for one in read(text).commands] == [(ChatCommand.STATUS, "T-013")]


@pytest.mark.parametrize(
    "text", ["whats the status", "wats running", "whats still running?", "how r my tasks doing", "whats failed"]
)
def test_a_question_about_all_tasks_needs_no_apostrophe(text: str) -> None:
    assert [(one.command, one.ref) for one in read(text).commands] == [(ChatCommand.STATUS, None)]


@pytest.mark.parametrize("text", ["whats up?", "hows it going?", "whats the best way to learn go", "any news?"])
def test_a_question_about_anything_else_is_conversation(text: str) -> None:
    assert read(text) == Parsed()
