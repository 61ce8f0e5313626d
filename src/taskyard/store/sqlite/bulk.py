"""Many rows in few calls.

A call into SQLite gives up the interpreter and has to win it back from the thread that decides. With a call per row
the writer gets one row done per turn of that thread, and the two take turns instead of working side by side; with
64 rows in one statement they overlap. `VALUES (…)` of a statement is repeated for as many rows; what is
left over goes in smaller statements.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Final

import apsw

Row = tuple[str | int | bytes | None, ...]

SIZES: Final = (64, 8, 1)
_VALUES: Final = re.compile(r"VALUES \(([^)]*)\)")


@cache
def repeated(statement: str, rows: int) -> str:
    """The statement for so many rows at once, its parameters by place."""
    values = _VALUES.search(statement)
    assert values is not None, f"no VALUES (…) to repeat in: {statement}"
    group = "(" + ", ".join("?" * len(values[1].split(","))) + ")"
    return f"{statement[: values.start()]}VALUES {', '.join([group] * rows)}{statement[values.end() :]}"


def write_many(connection: apsw.Connection, statement: str, rows: Sequence[Row]) -> None:
    """Write the rows, in order."""
    done = 0
    for size in SIZES:
        while len(rows) - done >= size:
            chunk = rows[done : done + size]
            connection.execute(repeated(statement, size), tuple(chain.from_iterable(chunk)))
            done += size
