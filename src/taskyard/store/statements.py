"""Reads a file of named statements: a comment line that holds a name alone begins one.

Python refers to statements by name and never builds SQL, so that all of it can be read in one file and
none of it can be injected into.
"""

import re
from typing import Final

_NAME: Final = re.compile(r"^-- ([a-z][a-z0-9_]*)$", flags=re.MULTILINE)


def named_statements(text: str) -> dict[str, str]:
    """Each statement by its name, in the order of the file."""
    _, *parts = _NAME.split(text)
    return {name: statement.strip() for name, statement in zip(parts[::2], parts[1::2], strict=True)}
