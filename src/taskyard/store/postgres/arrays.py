"""Columns of rows as PostgreSQL's binary arrays: a parameter per column, whatever the number of rows.

The driver can do this for any list, value by value. What is known here spares some of that: a column holds one type,
most words of a column are the same few, and bytes are joined by the interpreter's own loop. It takes a third off what a
life costs in this process (docs/adr/0005-dependencies.md).

Text of PostgreSQL cannot hold U+0000, and people may send it in any name. It is written as an escape, which is undone
where a name is read back; the rest of the text is as it was, and order and equality are kept among what has none.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, repeat
from struct import Struct, pack
from typing import Final

from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types.numeric import Int8BinaryDumper

_BYTEA, _BIGINT, _TEXT = 17, 20, 25
_NULL: Final = pack(">i", -1)
_ESCAPE: Final = "\x1a"


class Texts(bytes):
    """A `text[]`, ready to be sent."""


class Numbers(bytes):
    """A `bigint[]`."""


class Blobs(bytes):
    """A `bytea[]`."""


def escaped(text: str) -> str:
    if "\0" not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, _ESCAPE + _ESCAPE).replace("\0", f"{_ESCAPE}0")


def unescaped(text: str) -> str:
    if _ESCAPE not in text:
        return text
    parts = text.split(_ESCAPE + _ESCAPE)
    return _ESCAPE.join(part.replace(f"{_ESCAPE}0", "\0") for part in parts)


class _Lengths(dict[int, bytes]):
    """The four bytes that say how long a value is; of usual lengths, made beforehand."""

    def __missing__(self, length: int) -> bytes:
        return pack(">i", length)


_LENGTHS: Final = _Lengths((length, pack(">i", length)) for length in range(4096))
_length_of: Final = _LENGTHS.__getitem__


def _head(oid: int, count: int) -> bytes:
    """One dimension, maybe with NULLs, counted from 1."""
    return pack(">iiiii", 1, 1, oid, count, 1)


@lru_cache(8192)
def _word(word: str | None) -> bytes:
    if word is None:
        return _NULL
    encoded = escaped(word).encode()
    return _length_of(len(encoded)) + encoded


def words(values: Sequence[str | None]) -> Texts:
    """Of a column whose values repeat: statuses, queues, users."""
    return Texts(_head(_TEXT, len(values)) + b"".join(map(_word, values)))


def ids(values: Iterable[str]) -> Texts:
    """Of a column whose values differ, and that this yard minted: there is nothing to escape."""
    encoded = [value.encode() for value in values]
    return Texts(_head(_TEXT, len(encoded)) + _joined(encoded))


def texts(values: Iterable[str]) -> Texts:
    """Of whatever somebody asked for."""
    return ids(map(escaped, values))


def blobs(values: Sequence[bytes | None]) -> Blobs:
    if None in values:
        parts = (_NULL if value is None else _length_of(len(value)) + value for value in values)
        return Blobs(_head(_BYTEA, len(values)) + b"".join(parts))
    return Blobs(_head(_BYTEA, len(values)) + _joined(values))  # type: ignore[arg-type]  # none is missing


def _joined(values: Sequence[bytes]) -> bytes:
    return b"".join(chain.from_iterable(zip(map(_length_of, map(len, values)), values, strict=True)))


@lru_cache(64)
def _numbers_of(count: int) -> Struct:
    return Struct(">" + "iq" * count)


def numbers(values: Sequence[int | None]) -> Numbers:
    count = len(values)
    if None in values:
        parts = (_NULL if value is None else pack(">iq", 8, value) for value in values)
        return Numbers(_head(_BIGINT, count) + b"".join(parts))
    packed = _numbers_of(count).pack(*chain.from_iterable(zip(repeat(8), values, strict=False)))
    return Numbers(_head(_BIGINT, count) + packed)


class _Ready(Dumper):
    """What is packed already is sent as it is."""

    format = Format.BINARY

    def dump(self, obj: bytes) -> Buffer:
        return obj


class _ReadyTexts(_Ready):
    oid = 1009


class _ReadyNumbers(_Ready):
    oid = 1016


class _ReadyBlobs(_Ready):
    oid = 1001


def teach(context: AdaptContext) -> None:
    """Let a connection send these, and every number as a bigint: else a statement would be planned anew by its size."""
    assert context.adapters is not None
    for kind, dumper in ((Texts, _ReadyTexts), (Numbers, _ReadyNumbers), (Blobs, _ReadyBlobs), (int, Int8BinaryDumper)):
        context.adapters.register_dumper(kind, dumper)
