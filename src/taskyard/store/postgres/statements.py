"""The statements of this engine as the server takes them: parameters by place instead of by name."""

import re
from importlib import resources
from typing import Final, NamedTuple

from taskyard.store.statements import named_statements

# Not the second half of a `::type`.
_PARAMETER: Final = re.compile(r"(?<!:):([a-z_]+)")


class Statement(NamedTuple):
    text: bytes
    names: tuple[str, ...]
    """Of its parameters, in order: `$1` is the first."""


def placed(text: str) -> Statement:
    """The statement with `$1`, `$2`, … for its `:names`; a name that comes again is the same parameter."""
    names: dict[str, int] = {}

    def place_of(found: re.Match[str]) -> str:
        return f"${names.setdefault(found[1], len(names) + 1)}"

    placed_text = _PARAMETER.sub(place_of, text)
    return Statement(placed_text.encode(), tuple(names))


def _read(name: str) -> dict[str, str]:
    return named_statements(resources.files(__package__).joinpath(name).read_text())


PARTS: Final = _read("statements.sql") | _read("own.sql")
"""The texts by name, of which a commit is put together."""
SQL: Final = {name: placed(text) for name, text in PARTS.items()}
