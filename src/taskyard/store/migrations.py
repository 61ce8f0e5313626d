"""The versions of an engine's schema: `migrations/NNNN_name.sql` beside it, in order and without gaps."""

import re
from importlib import resources
from typing import Final

_NAME: Final = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")


def migrations_of(engine: str) -> dict[int, str]:
    """The text of each by its version. `engine` is the name of its package."""
    directory = resources.files(engine).joinpath("migrations")
    found = {int(name[1]): file.read_text() for file in directory.iterdir() if (name := _NAME.fullmatch(file.name))}
    assert sorted(found) == list(range(1, len(found) + 1)), "versions have no gaps"
    return dict(sorted(found.items()))
