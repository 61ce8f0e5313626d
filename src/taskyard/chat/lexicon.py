"""Words as data: how the tables of this package become expressions."""

import re
from typing import Final


def one_of(words: str) -> str:
    """Alternatives for an expression, separated by white space; `_` stands for a blank within one.

    The longest first, so that none hides another that begins like it.
    """
    found = sorted(dict.fromkeys(words.split()), key=len, reverse=True)
    return "(?:" + "|".join(word.replace("_", r"\s") for word in found) + ")"


def words_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


def whole(expression: str) -> re.Pattern[str]:
    """For words in Latin letters: as whole words only."""
    return re.compile(rf"(?<![a-z'-])(?:{expression})(?![a-z'-])")


# Tasks by their refs.

NUMBER: Final = r"(?:#\s?)?\d{1,9}(?![\d.:/-])"
_REF: Final = r"(?<![a-z0-9])t[-_ ]?\d{1,9}(?![a-z0-9])"
_NUMBERED: Final = rf"(?:(?:tasks?|step|item|no\.|number|任务|第)\s?{NUMBER}(?:个|项|步|条)?(?:任务)?|#\d{{1,9}})"
AND: Final = r"\s{0,2}(?:,\s?and|,|and|&|\+|、|和|与|跟|以及)\s{0,2}"
_TASKS: Final = r"(?:(?:the\s)?tasks?\s|任务\s?)?"
_BESIDE: Final = rf"\s{{0,2}}[/;]?\s{{0,2}}{_REF}"
"""Without a word between them, only what cannot be anything but a ref."""
REFS: Final = rf"(?:{_TASKS}(?:{_REF}|{_NUMBERED})(?:{AND}{_TASKS}(?:{_REF}|{_NUMBERED}|{NUMBER})|{_BESIDE}){{0,99}}+)"
