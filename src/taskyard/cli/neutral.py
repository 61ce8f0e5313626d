"""Making text from tasks harmless to a terminal.

Titles, logs, results and errors are written by agents, and agents read the web. A terminal obeys escape
sequences, and a reader trusts that letters stand in the order they are read; so whatever is not printable
is shown as its escape. Bidirectional controls and zero-width characters are not printable either.
"""

import re
from typing import Final

KEPT: Final = frozenset("\n\t")
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7e]")


def neutral(text: str) -> str:
    """Printable characters, line ends and tabs as they are; everything else visible and without effect."""
    text = text.replace("\r\n", "\n")
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in KEPT else _escape(character) for character in text
    )


def one_line(text: str, *, chars_max: int | None = None) -> str:
    """The same on one line, cut with an ellipsis."""
    line = " ".join(neutral(text).split())
    if chars_max is not None and len(line) > chars_max:
        return line[: chars_max - 1].rstrip() + "…"
    return line


def neutral_json(encoded: str) -> str:
    """JSON with what is not printable as `\\u` escapes: the same value, and no effect on a terminal."""
    return _NOT_ASCII.sub(lambda match: match[0] if match[0].isprintable() else _json_escape(match[0]), encoded)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _json_escape(character: str) -> str:
    """As UTF-16 units, the way JSON writes what is beyond the first plane."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
