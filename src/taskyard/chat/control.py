"""Control of tasks that are there: "cancel T-003", "retry task 4", 跳过 T-005.

A control command begins its clause and names its tasks; "don't cancel T-003", "should I cancel T-003?" and "cancel my
newsletter" are none. One whose task cannot be told ("cancel it") is asked about, and so is one that is not meant to be
done at once ("cancel T-003 if T-004 fails").
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from taskyard.chat import chinese
from taskyard.chat.dependencies import refs_in
from taskyard.chat.lexicon import NUMBER, REFS, one_of
from taskyard.chat.parsed import Missing, ParsedCommand, Question
from taskyard.chat.passage import Passage
from taskyard.vocabulary import ChatCommand

_ENGLISH: Final = {
    ChatCommand.CANCEL: one_of("cancel abort stop kill drop terminate delete remove"),
    ChatCommand.RETRY: one_of("re-?try re-?run redo re-?start resubmit try_again"),
    ChatCommand.SKIP: one_of("skip skip_over leave_out pass_over"),
}
_NUMBERS: Final = rf"{NUMBER}(?:\s?(?:,|and|&)\s?{NUMBER}){{0,99}}(?=\s?(?:[.!?,]|$|please|now|and\s))"
_IT: Final = (
    r"(?:\s(?:it|that|this|them|these|those|all|everything|tasks?|(?:all\s)?(?:the|my|our|that|this|these|those|all)"
    r"(?:\s(?:last|previous|current|other|running|failed|pending|of)){0,3}(?:\s(?:tasks?|jobs?|one|ones|them|it))?))?"
)
_AGAIN: Final = re.compile(
    rf"(?:run|try|start|do)\s(?P<refs>{REFS})\sagain|give\s(?P<given>{REFS})\sanother\s(?:try|go)"
)
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
    english, verbs = _ENGLISH[command], chinese.COMMANDS[command]
    yield re.compile(rf"{english}\s{{1,2}}(?:{REFS}|{_NUMBERS})(?:\sagain)?")
    yield re.compile(rf"{REFS}\s?[:,]?\s?{english}(?![a-z'])")
    yield re.compile(rf"{verbs}(?:掉|一下)?\s?(?:一下)?\s?(?:{REFS}|{NUMBER})")
    yield re.compile(rf"(?:把|将)?\s?{REFS}\s?(?:给我|都|全部)?\s?{verbs}(?:掉|一下|吧|了)?")


_NAMED: Final = [(command, pattern) for command in _ENGLISH for pattern in _patterns(command)]
_VERBS: Final = "|".join((*_ENGLISH.values(), *chinese.COMMANDS.values()))
_CONDITIONED: Final = re.compile(
    r"(?:if|when|once|unless|after|as\ssoon\sas|如果|若|要是|等|当|(?=t[-_ ]?\d))[^.!?。\n]{1,120}?"
    rf"(?:,|\sthen\s|就|则|再|后)\s?(?:(?:then|please)\s|就)?(?:{_VERBS})\s{{0,2}}{REFS}"
)
_UNNAMED: Final = [
    re.compile(rf"(?:{_ENGLISH[one]}{_IT}(?:\s(?:again|please|now))?|{chinese.COMMANDS[one]}{chinese.IT})\s?[.!。]?")
    for one in _ENGLISH
]


class Controlled(Struct, frozen=True):
    """The commands that a clause begins with, what follows them, or the one thing they leave open."""

    commands: tuple[ParsedCommand, ...] = ()
    rest: Passage | None = None
    question: Question | None = None


def controlled(passage: Passage) -> Controlled | None:
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
    if is_unnamed and passage.view.strip(" .!。") not in _TO_A_PERSON:
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
