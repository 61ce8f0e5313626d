"""Reading the files of messages: what each must become, and what became of it, in one form."""

import re
from pathlib import Path
from typing import Any, Final

import msgspec

from taskyard.chat.parsed import Parsed, Source, Sources

HERE: Final = Path(__file__).parent
_COURTESIES: Final = (
    "hey|hi|hello|please|pls|kindly|thanks|thankyou|cheers|canyou|couldyou|wouldyou|ok"
    "|请你|请|帮我|帮忙|麻烦你|麻烦|你好|谢谢|能不能|可以|好吗|吗|吧"
)
_ENDS: Final = re.compile(rf"^(?:\W|(?:{_COURTESIES})(?![a-z]))+|(?:\W|(?<![a-z])(?:{_COURTESIES}))+$", re.IGNORECASE)


def lines_of(name: str) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in (HERE / name).read_bytes().splitlines()]


def sources_of(queues: dict[str, list[str]], default: str) -> Sources:
    return Sources(tuple(Source(name, tuple(models)) for name, models in queues.items()), default)


def bare(text: str) -> str:
    """Without what is not compared: white space, and courtesies and punctuation at either end."""
    return _ENDS.sub("", "".join(text.split()))


def shown(parsed: Parsed) -> dict[str, Any]:
    """What was understood, as the files write it: without what was not said."""
    told = msgspec.json.decode(msgspec.json.encode(parsed))
    return {
        kind: [{name: value for name, value in one.items() if value not in (None, [])} for one in told[kind]]
        for kind in ("tasks", "commands")
    }


def is_as_expected(message: dict[str, Any], parsed: Parsed) -> bool:
    """All of a message or none of it."""
    said = shown(parsed)
    tasks = [{**task, "input": bare(task["input"])} for task in said["tasks"]]
    wanted = [{**task, "input": bare(task["input"])} for task in message.get("tasks", [])]
    commands = [{"do" if name == "command" else name: value for name, value in one.items()} for one in said["commands"]]
    asks, question = message.get("asks"), parsed.question
    if isinstance(asks, str):
        asks_right = question is not None and question.missing == asks
    else:
        asks_right = question is not None if asks else question is None or not (wanted or message.get("commands"))
    return tasks == wanted and commands == message.get("commands", []) and asks_right
