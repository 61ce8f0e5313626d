"""Words as data: how the tables of this package become expressions."""

import re


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
