"""The statements of this engine, by name."""

from importlib import resources
from typing import Final

from taskyard.store.statements import named_statements

_FILES: Final = ("statements.sql", "own.sql")

SQL: Final = {
    name: statement
    for file in _FILES
    for name, statement in named_statements(resources.files(__package__).joinpath(file).read_text()).items()
}
