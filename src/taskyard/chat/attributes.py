"""The priority and the goal that a clause states for its task, and the clause without them.

Only what stands apart counts: "urgent: …", "…, high priority", 高优先级：…. "Fix the critical bug" and "list the high
priority tickets" are about something else.
"""

import re
from typing import Final

from msgspec import Struct

from taskyard.chat import chinese, english
from taskyard.chat.parsed import Missing, Question
from taskyard.chat.passage import Passage
from taskyard.chat.sources import NOTHING_SAID, Said
from taskyard.vocabulary import Level

TAIL_CHARS: Final = 80
# A priority at the end of a clause begins within this.
PRIORITIES: Final = range(1, 11)


class Stated(Struct, frozen=True):
    passage: Passage
    said: Said = NOTHING_SAID
    question: Question | None = None


def stated(passage: Passage) -> Stated:
    found = english.GOAL.search(passage.masked) or chinese.GOAL.search(passage.masked)
    if found is None:
        return _priority(passage)
    goal = passage.raw[slice(*found.span("goal"))].rstrip(" .。")
    rest = _priority(passage.part(0, found.start()).trimmed())
    return Stated(rest.passage, rest.said.and_also(Said(goal=goal)), rest.question)


def _priority(passage: Passage) -> Stated:
    tail = max(0, len(passage.raw) - TAIL_CHARS)
    for table in (english, chinese):
        firsts = [pattern.match(passage.masked) for pattern in table.PRIORITY_FIRST]
        lasts = [pattern.search(passage.masked, tail) for pattern in table.PRIORITY_LAST]
        found = next(filter(None, firsts + lasts), None)
        if found:
            value = _value(found["p"], table.LEVELS)
            if isinstance(value, int) and value not in PRIORITIES:
                return Stated(passage, question=Question(Missing.WHICH_PRIORITY, str(value)))
            return Stated(passage.without(*found.span("p")), Said(priority=value))
    return Stated(passage)


def _value(words: str, levels: dict[str, Level]) -> Level | int:
    number = re.search(r"\d+", words)
    return next((level for word, level in levels.items() if word in words), None) or int(number[0] if number else 0)
