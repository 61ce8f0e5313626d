"""Cutting a text into clauses: at the ends of sentences, and where a word says that something comes after.

A sentence's end alone separates no tasks, since most messages explain in a second sentence what the first asks for; it
only says where a greeting ends and a request begins. A sequence word separates tasks and puts them in order, if what
follows it is something to do: "then I'll have a look" is not, "the next release" is no sequence at all.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from msgspec import Struct

from taskyard.chat import chinese, english
from taskyard.chat.lexicon import one_of
from taskyard.chat.passage import CJK, Passage

SENTENCES_MAX: Final = 200
# Of one text: whoever writes more has pasted something, which belongs to what was asked before it, as it is.
STOPS_MAX: Final = 1_000
# Of one text, with those that end no sentence: a line that is empty, the end of "e.g.".
SENTENCE_CHARS_MAX: Final = 8_000
# A longer one is not cut: it is no sentence.
CUTS_MAX: Final = 300
# Of one sentence. A message that has more tasks than that is asked to have fewer.
AROUND_CHARS: Final = 20
# What is looked at beside a sequence word.

# One class of letters comes first: a search for that alone is many times as fast.
_STOP: Final = re.compile(
    rf"[.!?。…;\n](?:(?<=[。…;\n])[。…\n]{{0,99}}|(?<=[.!?])(?<![.!?]{{2}})[.!?]{{0,7}}[\"')\]]{{0,2}}(?=\s|$)|(?<=[!?])(?=[{CJK}]))"
)
_NO_STOP: Final = re.compile(r"(?:\b(?:e\.g|i\.e|vs|etc|mr|mrs|ms|dr|no|approx|cf|fig|al)|\b[a-z])\.$")

# Sequence words.

_DONE: Final = r"(?:done|finished|completed?|ready|over)"
_AND: Final = r"(?:and\s|&\s)?(?:only\s)?"
_LATER: Final = one_of(
    rf"""after_?wards? after_(?:that|this|which) subsequently thereafter (?:once|when)_(?:that|it)_finishes
    (?:once|when|after)_(?:(?:that|this|it|you|they)(?:'s|'re|_is|_are)?_)?{_DONE}"""
)
_THEN: Final = rf"{_AND}(?:then|finally|lastly|(?:second|third|fourth)(?:ly)?(?=,)|{_LATER})(?![a-z'-])"
_WITH_THAT: Final = (
    r"(?:and,?\s)?(?:(?:based on|using|with|from) (?:that|this|the results?|its results?|those(?: results)?)(?=,)"
    r"|(?:based on|using|from) that\s)"
)
_ALL_DONE: Final = (
    r"(?:and\s)?(?:once|when|after)\s(?:all|everything|both)(?:\sof\s(?:that|them|these|those))?(?:'s|\sis|\sare)?"
    rf"(?:\s{_DONE})?(?![a-z'-])"
)
_NEXT: Final = rf"(?:and\s)?next(?:(?=,)|\sup,?|\s(?!{english.TIME}(?![a-z])))"
_OPENING: Final = re.compile(
    rf"(?P<all>{_ALL_DONE}|{chinese.ALL_DONE})\s?,?\s?|(?:{_WITH_THAT}|{_THEN}|{_NEXT}|{chinese.THEN}|{chinese.AGAIN})\s?[,:]?"
    r"\s{0,2}"
)
FIRST: Final = re.compile(r"first(?:ly| of all)?,?\s(?=\S)|首先,?\s?|先(?![生前后进别不让看等])\s?")
"""Comes after nothing: it just begins."""

_INSIDE: Final = re.compile(
    rf"(?P<all>[,;]\s?(?:{_ALL_DONE}|{chinese.ALL_DONE})\s?,?\s?)|(?:[,;]\s?|\s-\s){_THEN}\s?[,:]?\s|[,;]\s?{_NEXT},?\s?"
    rf"|[,;]\s?{_WITH_THAT}\s?,?\s?|\s(?=and){_WITH_THAT}\s?,?\s?|(?P<and>\sand\snext\s(?!{english.TIME}(?![a-z])))"
    r"|(?P<alone>(?<!完成)(?<!结束)(?<!做完)\s?(?:之后|接下来|随后|紧接着)[再就]?\s?,?\s?)"
    rf"|\s{_AND}(?:then|and\s(?:finally|lastly)|(?P<later>{_LATER}))(?![a-z'-])\s?[,:]?\s|[,;\s]{{0,2}}(?:并?然后|接着)[再就]?\s?,?\s?|[,;]\s?(?:{chinese.THEN}|{chinese.AGAIN})\s?,?\s?"
)
_CONDITION: Final = re.compile(r"(?:if|when|whenever|unless|in case|once)\s")
_THEN_ALONE: Final = re.compile(r"\s(?:and\s)?then\s")
_BEFORE_OTHER_THEN: Final = re.compile(
    r"(?<![a-z])(?:since|by|until|till|back|now and|even|just|from|more|rather|less)$"
)


class Clause(Struct, frozen=True):
    passage: Passage
    is_next: bool = False
    """It comes after what was said before it …"""
    is_last: bool = False
    """… and after all of that."""
    is_inner: bool = False
    """It goes on in the sentence of the clause before."""
    breaks: bool = False
    """A line ended before it."""
    sentence: Passage | None = None
    """All of its sentence as it stands, if it is one."""


class Sentence(Struct, frozen=True):
    passage: Passage
    breaks: bool = False
    """It begins on a new line."""
    is_rest: bool = False
    """It is all that is left, however much that is."""


def sentences(passage: Passage) -> Iterator[Sentence]:
    start, breaks, count = 0, False, 0
    for stop in islice(_STOP.finditer(passage.masked), STOPS_MAX):
        if count == SENTENCES_MAX:
            break
        if stop[0].startswith(".") and _NO_STOP.search(passage.masked[max(0, stop.start() - 8) : stop.start() + 1]):
            continue
        if passage.view[start : stop.end()].strip():
            yield Sentence(passage.part(start, stop.end()), breaks)
            breaks, count = False, count + 1
        breaks |= "\n" in stop[0]
        start = stop.end()
    if passage.view[start:].strip():
        yield Sentence(passage.part(start), breaks, is_rest=count == SENTENCES_MAX)


def opened(passage: Passage) -> Clause:
    """A clause without the sequence word at its beginning."""
    passage = passage.trimmed()
    found = _OPENING.match(passage.masked)
    if found is None or not passage.view[found.end() :].strip(" .!?。,"):
        return Clause(passage)
    return Clause(passage.part(found.end()).trimmed(), is_next=True, is_last=bool(found["all"]))


class Cut(Struct, frozen=True, order=True):
    """A sequence word inside a sentence."""

    start: int
    end: int
    is_last: bool = False
    is_doubtful: bool = False
    """In the middle of a phrase it may be about something else: only a verb of work shows that it is not."""


def cuts(passage: Passage) -> list[Cut]:
    """Where in a sentence another task could begin."""
    if len(passage.raw) > SENTENCE_CHARS_MAX:
        return []
    is_condition = _CONDITION.match(passage.masked) is not None
    inside = islice(_INSIDE.finditer(passage.masked), CUTS_MAX)
    found = [
        Cut(one.start(), one.end(), bool(one["all"]), one.lastgroup in ("later", "and", "alone"))
        for one in inside
        if _separates(passage, one, is_condition)
    ]
    if chinese.FIRST.match(passage.masked):
        again = islice(chinese.FIRST_AND_THEN.finditer(passage.masked, 2), CUTS_MAX)
        taken = {cut.end for cut in found}
        found += [Cut(one.start(), one.end()) for one in again if one.end() not in taken]
    return sorted(found)


def _separates(passage: Passage, found: re.Match[str], is_condition: bool) -> bool:
    before = passage.masked[max(0, found.start() - AROUND_CHARS) : found.start()]
    after = passage.masked[found.end() : found.end() + AROUND_CHARS]
    if not before.strip() or before.rstrip().endswith(":") or not after.strip(" .!?。"):
        return False
    return _THEN_ALONE.fullmatch(found[0]) is None or not (is_condition or _BEFORE_OTHER_THEN.search(before))
