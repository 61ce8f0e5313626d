"""Rows whose text may be damaged: a server sends the bytes on its disk as they are, valid UTF-8 or not."""

from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader, Transformer
from psycopg.pq import Format


class LenientText(Loader):
    """Each byte that cannot be read comes as U+FFFD, so that the row disagrees with its record."""

    format = Format.BINARY

    def load(self, data: Buffer) -> str:
        return bytes(data).decode(errors="replace")


def read_leniently(cursor: psycopg.Cursor[Any]) -> list[tuple[Any, ...]]:
    """All rows of a result of which some text could not be read."""
    result = cursor.pgresult
    assert result is not None, "it was read before"
    lenient = cursor.connection.cursor()
    lenient.adapters.register_loader("text", LenientText)
    transformer = Transformer(lenient)
    transformer.set_pgresult(result)
    return transformer.load_rows(0, result.ntuples, tuple)
