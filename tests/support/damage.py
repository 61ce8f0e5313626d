"""Damage to a yard's database, on either engine and while it is open: as flipped bits on its disk would do it."""

from typing import Any, Final
from zlib import crc32

import apsw
import psycopg

from tests.support.engines import Engine

NOT_UTF8: Final = b'{"id":"\xff"}'

Kind = tuple[str, str]
"""A statement of SQLite and one of PostgreSQL."""

KINDS: Final[dict[str, Kind]] = {
    "a record with other bytes": (
        "UPDATE {table} SET record = x'7b7d' WHERE id = '{id}'",
        "UPDATE {table} SET record = '{{}}' WHERE id = '{id}'",
    ),
    "a record that is not UTF-8, with a checksum that fits": (
        f"UPDATE {{table}} SET record = x'{NOT_UTF8.hex()}', crc = {crc32(NOT_UTF8)} WHERE id = '{{id}}'",
        f"UPDATE {{table}} SET record = '\\x{NOT_UTF8.hex()}', crc = {crc32(NOT_UTF8)} WHERE id = '{{id}}'",
    ),
    "a column that is not UTF-8": (
        "UPDATE {table} SET type = CAST(x'ff' AS TEXT) WHERE id = '{id}'",
        "UPDATE {table} SET type = '\\xff'::bytea::text WHERE id = '{id}'",
    ),
    "a column with another word": (
        "UPDATE {table} SET queue = 'other' WHERE id = '{id}'",
        "UPDATE {table} SET queue = 'other' WHERE id = '{id}'",
    ),
    "a body with other bytes": (
        "UPDATE body SET content = x'7b7d' WHERE id = '{id}'",
        "UPDATE {table} SET body = '{{}}' WHERE id = '{id}'",
    ),
    "no body": (
        "DELETE FROM body WHERE id = '{id}'",
        "UPDATE {table} SET body = NULL WHERE id = '{id}'",
    ),
    "a result with other bytes": (
        "UPDATE outcome SET content = x'7b7d' WHERE id = '{id}'",
        "UPDATE {table} SET outcome = '{{}}' WHERE id = '{id}'",
    ),
    "a record and a word that are both damaged": (
        "UPDATE {table} SET record = x'00', level = 'hihg' WHERE id = '{id}'",
        "UPDATE {table} SET record = '\\x00', level = 'hihg' WHERE id = '{id}'",
    ),
}
LOG: Final[Kind] = (
    "UPDATE commit_log SET events = x'00' WHERE seq = {seq}",
    "UPDATE commit_log SET events = '' WHERE seq = {seq}",
)
AUDIT: Final[Kind] = ("UPDATE audit SET record = x'00'", "UPDATE audit SET record = ''")
LINES: Final[Kind] = ("UPDATE log_chunk SET text = x'00'", "UPDATE log_chunk SET text = ''")


class Damager:
    """Writes to a database past its hub."""

    def __init__(self, engine: Engine, place: str) -> None:
        self.engine = engine
        self.place = place

    def do(self, kind: Kind, *, table: str = "history", id: str = "", seq: int = 0) -> None:
        statement = kind[self.engine is Engine.POSTGRES].format(table=table, id=id, seq=seq)
        if self.engine is Engine.SQLITE:
            connection = apsw.Connection(self.place)
            connection.set_busy_timeout(5_000)
            connection.execute(statement)
            assert connection.changes() > 0, statement
            connection.close()
            return
        with psycopg.connect(self.place, autocommit=True) as server:
            server.execute("SET search_path = taskyard")
            # Bytes become text as they are, which no other way allows.
            server.execute("CREATE CAST (bytea AS text) WITHOUT FUNCTION")
            assert server.execute(statement.encode()).rowcount > 0, statement
            server.execute("DROP CAST (bytea AS text)")

    def read(self, question: str) -> tuple[Any, ...]:
        """The first row of the answer."""
        if self.engine is Engine.SQLITE:
            connection = apsw.Connection(self.place)
            row: tuple[Any, ...] | None = connection.execute(question).fetchone()
            connection.close()
        else:
            with psycopg.connect(self.place, autocommit=True) as server:
                server.execute("SET search_path = taskyard")
                row = server.execute(question.encode()).fetchone()
        assert row is not None, question
        return row
