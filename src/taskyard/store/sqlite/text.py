"""Rows whose text may be damaged: SQLite returns the bytes of a TEXT column as they are, valid UTF-8 or not."""

from collections.abc import Iterator, Mapping
from typing import Any

import apsw

Row = tuple[Any, ...]
Parameters = Mapping[str, str | int | None]


def fetched(connection: apsw.Connection, statement: str, parameters: Parameters) -> list[Row]:
    """All rows. Each byte of text that cannot be read comes as U+FFFD, so that the row disagrees with its record."""
    try:
        return connection.execute(statement, parameters).fetchall()
    except UnicodeDecodeError:
        return list(leniently(connection, statement, parameters))


def leniently(connection: apsw.Connection, statement: str, parameters: Parameters | None = None) -> Iterator[Row]:
    """The same, row by row and more slowly: where damage is known of, or looked for."""
    columns = [f"c{place}" for place in range(_width_of(connection, statement, parameters))]
    parts = (
        f"typeof({column}), CASE typeof({column}) WHEN 'text' THEN CAST({column} AS BLOB) ELSE {column} END"
        for column in columns
    )
    asked = f"WITH damaged ({', '.join(columns)}) AS ({statement.rstrip(';')}) SELECT {', '.join(parts)} FROM damaged"
    for row in connection.execute(asked, parameters):
        kinds, values = row[::2], row[1::2]
        yield tuple(
            value.decode(errors="replace") if kind == "text" else value
            for kind, value in zip(kinds, values, strict=True)
        )


def _width_of(connection: apsw.Connection, statement: str, parameters: Parameters | None) -> int:
    """How many columns it gives, also if it finds no row."""
    widths: list[int] = []

    def note(cursor: apsw.Cursor, _statement: str, _parameters: object) -> bool:
        widths.append(len(cursor.get_description()))
        return True

    cursor = connection.cursor()
    cursor.exec_trace = note
    cursor.execute(statement, parameters).close()
    return widths[0]
