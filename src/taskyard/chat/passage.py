"""A piece of a message, beside two readings of it that have the same length.

People type the same thing in many shapes: full-width signs, curly quotes, traditional characters, capitals. Rules read
`view`, where each of these is one letter of a plain alphabet, and cut the text itself at the same places: what becomes
a task is what was typed, to the letter. In `masked` everything that is quoted, code or an address is hidden besides: a
"then" in there separates nothing.
"""

import re
from typing import Final, Self

from msgspec import Struct

from taskyard.chat import chinese
from taskyard.chat.parsed import Language

LOOK_CHARS: Final = 1_000
HIDDEN: Final = "\x01"
CJK: Final = "\u3400-\u9fff"
"""For a class of letters in an expression."""

_FOLD: Final = str.maketrans(
    {chr(code): chr(code - 0xFEE0).lower() for code in range(0xFF01, 0xFF5F)}
    | {chr(code): chr(code).lower() for code in range(ord("A"), ord("Z") + 1)}
    | dict(zip(chinese.TRADITIONAL, chinese.SIMPLIFIED, strict=True))
    | dict.fromkeys("\u2018\u2019\u02bc", "'")
    | dict.fromkeys("\u201c\u201d\u300c\u300d\u300e\u300f", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
    | dict.fromkeys("\u3010\u3014", "[")
    | dict.fromkeys("\u3011\u3015", "]")
    | dict.fromkeys("\t\r\u00a0\u3000", " ")
)

# Each alternative has an end within reach, so that an opening sign without a closing one costs little.
_QUOTED: Final = re.compile(
    r"```.*?```|`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"|(?<![\w'])'(?=\S)[^'\n]{1,300}'(?![\w'])|(?:https?://|www\.)[^\s\"'<>]+",
    re.DOTALL,
)
_ENDS: Final = " \n,;:、-—…"
_BEGINNINGS: Final = " \n,;:、。.!?-—…)]"
_CJK: Final = re.compile(f"[{CJK}]")
_WORD: Final = re.compile(r"[a-z][a-z']*")


class Passage(Struct, frozen=True):
    raw: str
    view: str
    masked: str

    @classmethod
    def of(cls, text: str) -> Self:
        view = text.translate(_FOLD)
        return cls(text, view, _QUOTED.sub(lambda found: HIDDEN * len(found[0]), view))

    def __bool__(self) -> bool:
        return bool(self.raw)

    def part(self, start: int, end: int | None = None) -> "Passage":
        return Passage(self.raw[start:end], self.view[start:end], self.masked[start:end])

    def trimmed(self) -> "Passage":
        """Without white space, commas and the like at either end."""
        start = len(self.view) - len(self.view.lstrip(_BEGINNINGS))
        end = len(self.view.rstrip(_ENDS))
        return self.part(start, max(start, end))

    def joined(self, other: "Passage") -> "Passage":
        return Passage(self.raw + other.raw, self.view + other.view, self.masked + other.masked)

    def without(self, start: int, end: int) -> "Passage":
        """What is left when a phrase is taken out, closed up with a blank where words would touch."""
        before, after = self.part(0, start).trimmed(), self.part(end)
        if not before:
            return after.trimmed()
        after = after.part(len(after.view) - len(after.view.lstrip()))
        if not after.trimmed():
            return before
        touches = before.view[-1] + after.view[0]
        gap = "" if after.view[0] in ",.;:!?。、" or _CJK.search(touches) else " "
        return Passage(before.raw + gap + after.raw, before.view + gap + after.view, before.masked + gap + after.masked)


def is_chinese(letter: str) -> bool:
    return _CJK.match(letter) is not None


def language_of(passage: Passage) -> Language:
    """By what there is more of at its beginning: Chinese letters, or words in Latin ones."""
    view = passage.view[:LOOK_CHARS]
    chinese = len(_CJK.findall(view))
    return Language.CHINESE if chinese and chinese >= len(_WORD.findall(view)) else Language.ENGLISH
