"""Control of tasks that are there: "cancel T-003", "retry task 4", 跳过 T-005.

A control command begins its clause and names its tasks; "don't cancel T-003", "should I cancel T-003?" and "cancel my
newsletter" are none. One whose task cannot be told ("cancel it") is asked about, and so is one that is not meant to be
done at once ("cancel T-003 if T-004 fails").
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from taskyard.chat import chinese, english
from taskyard.chat.dependencies import refs_in
from taskyard.chat.lexicon import NUMBER, REFS
from taskyard.chat.parsed import Missing, ParsedCommand, Question
from taskyard.chat.passage import Passage
from taskyard.vocabulary import ChatCommand

_NUMBERS: Final = rf"{NUMBER}(?:\s?(?:,|and|&)\s?{NUMBER}){{0,99}}(?=\s?(?:[.!?,]|$|please|now|and\s))"
_AGAIN: Final = re.compile(rf"(?:run|try|start|do)\s{REFS}\sagain|give\s{REFS}\sanother\s(?:try|go)")
_TO_A_PERSON: Final = frozenset({"stop", "drop", "kill", "停止"})
"""Said alone."""
_JOINT: Final = re.compile(
    r"\s?(?:[,.;!。]|(?:and|also|then)(?![a-z])|并且?|同时|再|然后)?\s?(?:(?:then|also|please)\s)?"
)
_LATER: Final = re.compile(
    r"\s?,?\s?(?:(?:but\s)?(?:only\s)?(?:(?:when|once|unless|until|after|before|as\ssoon\sas|in\scase)(?![a-z])"
    r"|if(?!\s(?:possible|you\scan)|[a-z]))|tomorrow|tonight|later|next\s|at\s\d|in\s(?:an?|\d+)\s"
    r"|如果|若|要是|除非|等|当|明天|稍后|之后)"
)
_EITHER: Final = re.compile(r"\s{1,2}(?:or|to|through|till|或者?|到|至)\s{0,2}(?:t[-_ ]?\d|\d)")


def _patterns(command: ChatCommand) -> Iterator[re.Pattern[str]]:
    """The ways to name tasks with a verb."""
    words, verbs = english.COMMANDS[command], chinese.COMMANDS[command]
    yield re.compile(rf"{words}\s{{1,2}}(?:{REFS}|{_NUMBERS})(?:\sagain)?")
    yield re.compile(rf"{REFS}\s?[:,]?\s?{words}(?![a-z'])")
    yield re.compile(rf"{verbs}(?:掉|一下)?\s?(?:一下)?\s?(?:{REFS}|{NUMBER})")
    yield re.compile(rf"(?:把|将)?\s?{REFS}\s?(?:给我|都|全部)?\s?{verbs}(?:掉|一下|吧|了)?")


_NAMED: Final = [(command, pattern) for command in english.COMMANDS for pattern in _patterns(command)]
_VERBS: Final = "|".join((*english.COMMANDS.values(), *chinese.COMMANDS.values()))
_CONDITIONED: Final = re.compile(
    r"(?:if|when|once|unless|after|as\ssoon\sas|如果|若|要是|等|当|(?=t[-_ ]?\d))[^.!?。\n]{1,120}?"
    rf"(?:,|\sthen\s|就|则|再|后)\s?(?:(?:then|please)\s|就)?(?:{_VERBS})\s{{0,2}}{REFS}"
)
_UNNAMED: Final = [
    re.compile(rf"(?:{words}{english.IT}(?:\s(?:again|please|now))?|{chinese.COMMANDS[one]}{chinese.IT})\s?[.!。]?")
    for one, words in english.COMMANDS.items()
]


class Controlled(Struct, frozen=True):
    """The commands that a clause begins with, what follows them, or the one thing they leave open."""

    commands: tuple[ParsedCommand, ...] = ()
    rest: Passage | None = None
    question: Question | None = None


def controlled(passage: Passage, *, is_step: bool) -> Controlled | None:
    """`is_step`: it follows a task, so that "remove them" may be about what that one has found."""
    for command, pattern in _NAMED:
        found = pattern.match(passage.masked)
        if found:
            return _named(command, passage, found)
    if _CONDITIONED.match(passage.masked):
        return Controlled(question=Question(Missing.AT_ONCE))
    again = _AGAIN.match(passage.masked)
    if again:
        return _named(ChatCommand.RETRY, passage, again)
    is_unnamed = any(pattern.fullmatch(passage.masked) for pattern in _UNNAMED)
    is_about_work = is_step and (english.STEP_ON_IT.match(passage.view) or chinese.STEP_ON_IT.match(passage.view))
    if is_unnamed and not is_about_work and passage.view.strip(" .!。") not in _TO_A_PERSON:
        return Controlled(question=Question(Missing.WHICH_TASK))
    return None


def _named(command: ChatCommand, passage: Passage, found: re.Match[str]) -> Controlled:
    if _LATER.match(passage.view, found.end()):
        return Controlled(question=Question(Missing.AT_ONCE))
    if _EITHER.match(passage.view, found.end()):
        return Controlled(question=Question(Missing.WHICH_TASK))
    joint = _JOINT.match(passage.view, found.end())
    rest = passage.part(joint.end() if joint else found.end()).trimmed()
    return Controlled(tuple(ParsedCommand(command, ref) for ref in refs_in(found[0])), rest or None)
