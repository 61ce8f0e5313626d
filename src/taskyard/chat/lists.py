"""The layout of a message: prose, and lists with what stands before them."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from msgspec import Struct

from taskyard.chat import chinese, english
from taskyard.chat.passage import CJK, Passage

LINES_MAX: Final = 1_000
# Whoever writes more has pasted something; what is left belongs to the last line that was looked at.

INLINE_CHARS_MAX: Final = 4_000
# Of a list on one line.

_LINE: Final = re.compile(
    rf"(?P<indent>[^\S\n]{{0,40}})(?:(?P<step>(?:{english.STEP}|{chinese.STEP})\s?[:.,、)-]?)|(?:task|任务|todo)\s?\d{{1,3}}\s?[:.)-]"
    r"|[-*+]\s{1,4}(?:\[[ x]?\])?|[•·▪◦‣●○■□☐✓]|\[[ x]?\]|\(?\d{1,3}(?:[.)、]\)?(?!\d)|:\s)|#\d{1,3}[:.)\s]"
    rf"|[{chinese.CIRCLED}]|\d{{1,2}}{chinese.KEYCAP}|\(?[{chinese.HAN}]{{1,3}}(?:[)、.]\)?|,(?=\s))|[a-h][.)]\s)\s{{0,4}}(?=\S)"
)
_INLINE: Final = re.compile(
    rf"(?:(?:^|(?<=[\s:;,.。、!?){CJK}]))(?:(?P<word>(?:任务|task|(?P<step>步骤|step))\s?)?\(?(?P<number>\d{{1,2}})"
    rf"(?:(?(word)\s?[.)、:-]|[.)、])|{chinese.KEYCAP})\)?(?!\d)|\((?P<bracketed>[{chinese.HAN}])\)|(?P<han>[{chinese.HAN}])、)"
    rf"|(?P<circled>[{chinese.CIRCLED}](?!号|\s?(?:[、,和与及&]|and\s))))\s{{0,2}}(?=\S)"
)


class Item(Struct, frozen=True):
    passage: Passage
    is_step: bool = False


class Block(Struct, frozen=True):
    """A list with what leads to it; prose is a list without items."""

    prose: Passage
    items: tuple[Item, ...] = ()


def blocks(passage: Passage) -> Iterator[Block]:
    """In order. What is indented below an item belongs to it."""
    lines = list(islice(_lines(passage.masked), LINES_MAX))
    margin = next((len(line.mark["indent"]) for line in lines if line.mark), 0)
    parts = [line for line in lines if not _belongs(line, margin)]
    if sum(line.mark is not None for line in parts) < 2:
        inline = _inline(passage)
        if inline is not None:
            yield inline
            return
    start, prose_end = 0, 0
    items: list[Item] = []
    ends = [*(line.start for line in parts), len(passage.raw)][1:]
    for line, end in zip(parts, ends, strict=True):
        if line.mark is not None:
            items.append(Item(passage.part(line.mark.end(), end), is_step=bool(line.mark["step"])))
            continue
        if items:
            yield Block(passage.part(start, prose_end), tuple(items))
            start, items = line.start, []
        prose_end = end
    yield Block(passage.part(start, prose_end), tuple(items))


class _Line(Struct, frozen=True):
    start: int
    indent: int | None
    """None: it is blank."""
    mark: re.Match[str] | None


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        line = text[start:end]
        words = line.lstrip()
        yield _Line(start, len(line) - len(words) if words else None, _LINE.match(text, start, end) if words else None)
        start = end


def _belongs(line: _Line, margin: int) -> bool:
    """Whether a line goes on with what stands above it: it is blank, or indented."""
    return line.start > 0 and (line.indent is None or line.indent > margin)


def _inline(passage: Passage) -> Block | None:
    """ "1. … 2. … 3. …" on one line, if the numbers are in order."""
    marks: list[re.Match[str]] = []
    for mark in _INLINE.finditer(passage.masked, 0, INLINE_CHARS_MAX):
        if _number(mark) == len(marks) + 1:
            marks.append(mark)
    if len(marks) < 2:
        return None
    ends = [*(mark.start() for mark in marks[1:]), len(passage.raw)]
    marked = zip(marks, ends, strict=True)
    items = tuple(Item(passage.part(mark.end(), end), is_step=bool(mark["step"])) for mark, end in marked)
    return Block(passage.part(0, marks[0].start()), items)


def _number(mark: re.Match[str]) -> int:
    if mark["number"]:
        return int(mark["number"])
    return chinese.NUMERALS[mark["circled"] or mark["bracketed"] or mark["han"]]
