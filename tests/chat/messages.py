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
