"""What a clause says it waits for: refs of tasks, or places in its own list; and the clause without saying so."""

import re
from typing import Final

from msgspec import Struct

from taskyard.chat import chinese
from taskyard.chat.lexicon import AND, NUMBER, REFS, one_of
from taskyard.chat.parsed import Missing, Question
from taskyard.chat.passage import Passage
from taskyard.vocabulary import ref_of

PHRASES_MAX: Final = 5
# Of one kind in one clause.
EDGE_CHARS: Final = 600
# It is said at the beginning of a clause, or at its end.
PREVIOUS: Final = -1
ALL: Final = 0
"""In place of a number: the task before this one, and all of those."""

_PLACE: Final = rf"(?:{NUMBER}|[{chinese.CIRCLED}])"
_ITEMS: Final = rf"(?:{REFS}|{_PLACE}(?:{AND}{_PLACE}){{0,99}}+)"
_ONES: Final = r"(?:\s(?:one|task|item|step))?"
_EARLIER: Final = (
    r"(?P<all>"
    + one_of(
        """all_(?:of_)?(?:the_)?(?:above|previous|others?|those|these|them)(?:_(?:tasks|ones|items|steps))?
        the_(?:ones|tasks|items|steps)_above both both_of_(?:them|those|these) 前面?(?:所有|全部)的?(?:任务)?
        以上(?:所有|全部)?的?(?:任务)?"""
    )
    + rf")|(?P<nth>(?:the\s)?(?:first|second|third|fourth|fifth){_ONES}|第[一二三四五六七八九](?:个|项|步|条)(?:任务)?)"
    rf"|(?:the\s)?(?:previous|last|preceding|above|prior|other){_ONES}|[上前]一?个(?:任务)?|[上前]一步"
    r"|it|that|this|that one|another(?: one| task)?|它|这个|那个(?:任务)?|另一个(?:任务)?"
)
_WHO: Final = (
    r"(?:(?:(?:it|this|that|which|they|these)(?:\s(?:one|tasks?))?(?:\s(?:all|both))?|这个任务|该任务|此任务|它们?都?|这些都)"
    r"\s{0,2})?"
)
_ENDS: Final = (
    r"(?:(?:\s(?:is|are|has|have|was|were|gets?))?(?:\sbeen)?"
    r"\s(?:done|finish(?:ed|es)?|complet(?:ed|es|e)|succeed(?:ed|s)?|ready|over|end(?:ed|s)?)(?![a-z]))"
)
_DEPENDS: Final = r"depend(?:s|ing|ent)?\s(?:up)?on"
_WAITS: Final = (
    re.compile(
        rf"{_WHO}(?:{_DEPENDS}|(?:is\s)?blocked\s(?:on|by)|requires|wait(?:s|ing)?\s(?:for|on)|based\son|builds?\son)"
        rf"\s(?:the\s(?:results?|output)\sof\s)?(?P<refs>{_ITEMS})(?:'s\s(?:results?|output))?{_ENDS}?"
    ),
    re.compile(
        rf"(?:only\s)?(?:(?:but|and)\s)?(?:wait\s)?(?:after|once|when|as\ssoon\sas|following|until)\s(?P<refs>{REFS}){_ENDS}?"
    ),
    re.compile(rf"{_WHO}(?:依赖于?|取决于|基于|根据)\s?(?P<refs>{_ITEMS})(?:\s?的?(?:结果|输出))?"),
    re.compile(
        rf"(?:等到?|等待|在|待|做完|完成|跑完|执行完)?\s?(?P<refs>{REFS})(?:{chinese.ENDS}了?)?\s?(?:之后|以后|后)[再就才]?"
    ),
    re.compile(rf"(?:等到?|等待)\s?(?P<refs>{REFS}){chinese.ENDS}了?"),
)
_WAITS_FOR_EARLIER: Final = re.compile(rf"{_WHO}(?:{_DEPENDS}\s|依赖于?\s?)(?:{_EARLIER})(?=\s?(?:[,.;:)\]!。]|$))")
_ONE: Final = re.compile(rf"(?P<ref>(?<![a-z0-9])t[-_ ]?)?(?P<number>\d{{1,9}}|[{chinese.CIRCLED}])")
_NTH: Final = chinese.NUMERALS | {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}


class Wait(Struct, frozen=True):
    """For a task by its ref, or for one of the message by its number in the list."""

    ref: str | None = None
    number: int = PREVIOUS


class Awaited(Struct, frozen=True):
    passage: Passage
    waits: tuple[Wait, ...] = ()


def awaited(passage: Passage) -> Awaited:
    """All that a clause waits for, and what is left of it."""
    waits: list[Wait] = []
    for pattern in (*_WAITS, _WAITS_FOR_EARLIER):
        for _ in range(PHRASES_MAX):
            found = pattern.search(passage.masked, 0, EDGE_CHARS)
            found = found or pattern.search(passage.masked, max(EDGE_CHARS, len(passage.raw) - EDGE_CHARS))
            if found is None:
                break
            waits += _earlier(found) if pattern is _WAITS_FOR_EARLIER else _named(found["refs"])
            passage = passage.without(*_with_brackets(passage, found.start(), found.end()))
    return Awaited(passage, tuple(dict.fromkeys(waits)))


def _named(refs: str) -> list[Wait]:
    found = ((one["ref"], _number(one)) for one in _ONE.finditer(refs))
    return [Wait(ref_of(number)) if ref else Wait(number=number) for ref, number in found]


def _number(found: re.Match[str]) -> int:
    return _NTH.get(found["number"]) or int(found["number"])


def _earlier(found: re.Match[str]) -> list[Wait]:
    if found["all"]:
        return [Wait(number=ALL)]
    nth = [number for word, number in _NTH.items() if word in (found["nth"] or "")]
    return [Wait(number=nth[0] if nth else PREVIOUS)]


def refs_in(text: str) -> list[str]:
    """The refs of a phrase that `REFS` has found, in which a bare number is a task's too."""
    return [ref_of(number) for number in dict.fromkeys(map(_number, _ONE.finditer(text)))]


def _with_brackets(passage: Passage, start: int, end: int) -> tuple[int, int]:
    """With the brackets around it, if there is nothing else in them."""
    before, after = passage.view[max(0, start - 2) : start].rstrip(" "), passage.view[end : end + 2].lstrip(" ")
    if before[-1:] + after[:1] in ("()", "[]"):
        return passage.view.rindex(before[-1], 0, start), passage.view.index(after[0], end) + 1
    return start, end


def resolved(wait: Wait, *, place: int, ends: dict[int, int]) -> tuple[int | str, ...] | Question:
    """A wait as places among the message's tasks, or a ref.

    `place` is that of the task that waits; `ends` has the last task's place of each item of the list, by its number.
    Without a list, a number is a ref's.
    """
    if wait.ref is not None:
        return (wait.ref,)
    if wait.number == ALL and place:
        return tuple(range(place))
    if wait.number == PREVIOUS and place:
        return (place - 1,)
    if wait.number > 0 and not ends:
        return (ref_of(wait.number),)
    there = ends.get(wait.number)
    return Question(Missing.WHICH_TASK) if there is None or there == place else (there,)
