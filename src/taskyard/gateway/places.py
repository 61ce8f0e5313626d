"""Places in texts, `{{name}}`, and what is put in them: the one way in which templates are filled.

What was put in is not looked at again, so a value cannot bring places of its own; and what looks like a place but is
none stays as it is written. Which names there are, and what stands behind each, the caller says.
"""

import re
from collections.abc import Callable

Values = Callable[[str], str]
"""What is put in the place of this name."""


def filled(text: str, places: re.Pattern[str], values: Values, bytes_max: int) -> str:
    """The text with its places filled. Past `bytes_max` those that follow stay as they are: cut it, or refuse it.

    `places` finds them in one pass, the name as its first group: no part of one may match what the next one does.
    """
    parts, size, at = [], 0, 0
    for place in places.finditer(text):
        parts += [text[at : place.start()], values(place[1])]
        at, size = place.end(), size + len(parts[-2]) + len(parts[-1])
        if size > bytes_max:
            # A character has a byte at least: nothing that follows would fit.
            break
    return "".join([*parts, text[at:]])


def each_text(value: object, change: Callable[[str], str]) -> object:
    """A JSON value with every text in it changed; the names in its objects stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [each_text(one, change) for one in value]
    if isinstance(value, dict):
        return {name: each_text(one, change) for name, one in value.items()}
    return value
