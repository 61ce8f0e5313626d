"""Many rows in one statement.

A call into SQLite gives up the interpreter and has to win it back from the thread that decides. With a call per row
the writer may get one row done per turn of that thread; with all rows of a kind in one statement it has to ask a
handful of times a commit. `VALUES (…)` of a statement is repeated for a power of two of
rows, so that there are few statements to remember; rows of NULL fill it up, and the statement passes over them.

For the same reason the parameters are put together beforehand (`Step`): a writer that did that itself would lose the
interpreter to the thread that decides every few rows.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Final

Row = tuple[str | int | bytes | None, ...]
Step = tuple[str, Row]
"""A statement, and all that it is run with."""

ROWS_MAX: Final = 256
# Of the widest table that is a statement of 11 KB; apsw remembers those up to 16.
_VALUES: Final = re.compile(r"VALUES \(([^)]*)\)")


@cache
def repeated(statement: str, rows: int) -> tuple[str, int]:
    """The statement for so many rows, its parameters by place; and how many a row has."""
    values = _VALUES.search(statement)
    assert values is not None, f"no VALUES (…) to repeat in: {statement}"
    columns = len(values[1].split(","))
    group = "(" + ", ".join("?" * columns) + ")"
    return f"{statement[: values.start()]}VALUES {', '.join([group] * rows)}{statement[values.end() :]}", columns


def together(statement: str, rows: Sequence[Row]) -> Iterator[Step]:
    """The rows, in order, in as few statements as may be."""
    for first in range(0, len(rows), ROWS_MAX):
        chunk = rows[first : first + ROWS_MAX]
        size = 1 << (len(chunk) - 1).bit_length()
        text, columns = repeated(statement, size)
        missing = (None,) * (columns * (size - len(chunk)))
        yield text, (*chain.from_iterable(chunk), *missing)


def one_by_one(statement: str, rows: Iterable[Row]) -> Iterator[Step]:
    """The same for what is rare."""
    return ((statement, row) for row in rows)
