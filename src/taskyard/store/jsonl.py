"""A whole yard as lines of JSON: what `taskyard copy` writes to a file and reads from one.

The first line is the header, the last one the trailer, and each line between them is a record: first every kind of
`dump.KINDS` in its order, by ascending key, then the yard's secret. Every line has the form `[kind, {column: value},
crc]`, where `crc` is the CRC-32 of the bytes before it and its comma. Bytes are text, or `{"base64": …}` where they are
not UTF-8. The trailer has the SHA-256 of all records. So the same yard makes the same file whichever engine it came
from, but for the time in the header.

A file is read twice: once to see that it is whole, before anything is written, and once to be copied.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, TypeVar
from zlib import crc32

import msgspec
from msgspec import Struct

from taskyard.store.copy import read_through
from taskyard.store.dump import KINDS, TAKEOVERS, TASKS, Kind, Row, Summary, Value, restored
from taskyard.store.new_file import NewFile, new_file
from taskyard.store.port import Identity, StoreBroken, StoreRefused

T = TypeVar("T")

FORMAT: Final = "taskyard yard"
VERSION: Final = 2
"""Rises when a kind or a column of `dump.KINDS` is added, changed or removed. The reader of the version before then
stays, in `_row_of` and `_counted_in`."""

SECRET: Final = Kind("secret", {"secret": bytes})
_KINDS: Final = {kind.name: (place, kind) for place, kind in enumerate((*KINDS, SECRET))}

HEADER_BYTES_MAX: Final = 64 * 1024
# A file of another format may have no line end at all.
INTS: Final = range(-(2**63), 2**63)
# What a column of either engine holds.

_encode: Final = msgspec.json.Encoder().encode


class Base64(Struct, forbid_unknown_fields=True):
    """Bytes that are not UTF-8."""

    base64: bytes


class Format(Struct):
    """What the header of every version has."""

    format: str
    version: int


class Header(Format, forbid_unknown_fields=True, kw_only=True):
    written_at: int
    cluster_id: str
    epoch: int
    seq: int
    """The number of the last commit."""
    batch_id: str | None
    """The batch of the last commit."""
    counts: dict[str, int]
    """Records by kind, without the secret."""

    @property
    def summary(self) -> Summary:
        identity = Identity(cluster_id=self.cluster_id, epoch=self.epoch, seq=self.seq)
        # A file of the version before does not count what it does not have.
        counts = {kind.name: self.counts.get(kind.name, 0) for kind in KINDS}
        return Summary(identity=identity, batch_id=self.batch_id, counts=counts)


class Trailer(Struct, forbid_unknown_fields=True):
    sha256: str
    """Of the lines of all records."""


_Values = dict[str, str | int | Base64 | None]
_FORMAT: Final = msgspec.json.Decoder(tuple[str, Format])
_HEADER: Final = msgspec.json.Decoder(tuple[str, Header])
_RECORD: Final = msgspec.json.Decoder(tuple[str, _Values])
_TRAILER: Final = msgspec.json.Decoder(tuple[str, Trailer])


def _line(kind: str, content: object) -> bytes:
    opening = _encode((kind, content))[:-1]
    return b"%b,%d]\n" % (opening, crc32(opening))


def _record(kind: Kind, row: Row) -> bytes:
    return _line(kind.name, dict(zip(kind.columns, map(_written, row), strict=True)))


def _written(value: Value) -> str | int | Base64 | None:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return Base64(value)


class _Bad(Exception):
    """Why the current line is refused."""


class _Pass:
    """One pass through a file from its first line to its last. `_Bad` says what is wrong with the current line."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.seek(0)
        self.number = 0
        """Of the current line, from 1."""
        self._counts: Counter[str] = Counter()
        self._hash = hashlib.sha256()

    def _next(self, bytes_max: int = -1) -> tuple[bytes, bytes]:
        """The next line and the JSON in it without its checksum; both empty where the file ends."""
        self.number += 1
        line = self._file.readline(bytes_max)
        if not line:
            return b"", b""
        opening = line.rpartition(b",")[0]
        if line != b"%b,%d]\n" % (opening, crc32(opening)):
            raise _Bad("it was cut or changed: its checksum differs")
        return line, opening + b"]"

    def header(self) -> Header:
        try:
            _, json = self._next(HEADER_BYTES_MAX)
            kind, found = _FORMAT.decode(json)
        except (_Bad, msgspec.MsgspecError):
            kind, found = "", Format("", 0)
        if (kind, found.format) != ("header", FORMAT) or found.version < 1:
            raise _Bad("it is not the header of a file that `taskyard copy` wrote, or was changed")
        if found.version > VERSION:
            raise _Bad(
                f"it was written by a newer Taskyard, in version {found.version} of the format; this one reads version "
                f"{VERSION}. Install that release or a later one"
            )
        _, header = _decoded(_HEADER, json)
        if set(header.counts) != _counted_in(header.version):
            raise _Bad("it does not count every kind of record")
        return header

    def rows(self, *, is_finished: bool) -> Iterator[tuple[Kind, Row]]:
        """The records. A file that is finished has a trailer, and nothing behind it."""
        header = self.header()
        last: tuple[int, Row] = (-1, ())
        while True:
            line, json = self._next()
            if not line and not is_finished:
                return
            if not line:
                raise _Bad("the file ends here without its trailer: the rest was cut off")
            if json.startswith(b'["trailer"'):
                self._finish(json, header)
                return
            name, values = _decoded(_RECORD, json)
            if name not in _KINDS:
                raise _Bad(f"there is no kind of record {name!r}")
            place, kind = _KINDS[name]
            row = _row_of(kind, values)
            key = (place, row[: kind.key_columns])
            if key <= last:
                raise _Bad("it repeats a record or stands in the wrong place")
            last = key
            self._counts[name] += 1
            self._hash.update(line)
            yield kind, row

    def _finish(self, json: bytes, header: Header) -> None:
        _, trailer = _decoded(_TRAILER, json)
        if trailer.sha256 != self._hash.hexdigest():
            raise _Bad("the records above are not those that were written: their SHA-256 differs")
        if any(self._counts[name] != count for name, count in header.counts.items()):
            raise _Bad("the header counts other records than the file has")
        self.number += 1
        if self._file.read(1):
            raise _Bad("something follows the trailer")


def _counted_in(version: int) -> set[str]:
    """The kinds of that version: the first had no takeovers."""
    return {kind.name for kind in KINDS if version > 1 or kind is not TAKEOVERS}


def _decoded(decoder: "msgspec.json.Decoder[T]", json: bytes) -> T:
    try:
        return decoder.decode(json)
    except msgspec.MsgspecError as error:
        raise _Bad(f"it cannot be read: {error}") from None


def _row_of(kind: Kind, values: _Values) -> Row:
    if list(values) != list(kind.columns):
        raise _Bad(f"its columns are not those of {kind.label}")
    row = tuple(_value_of(kind, name, value) for name, value in values.items())
    if kind in TASKS:
        try:
            restored(kind, row)
        except StoreBroken as error:
            raise _Bad(str(error)) from None
    return row


def _value_of(kind: Kind, name: str, value: str | int | Base64 | None) -> Value:
    if value is None and name in kind.nullable:
        return None
    expected = kind.columns[name]
    if expected is bytes and isinstance(value, str):
        return value.encode()
    if expected is bytes and isinstance(value, Base64):
        return value.base64
    if expected is str and isinstance(value, str):
        return value
    if expected is int and isinstance(value, int) and value in INTS:
        return value
    raise _Bad(f"its {name} is not of the right type")


class YardFile:
    """The yard in a file. Made by `opened` and `made`."""

    def __init__(self, path: Path, file: BinaryIO, *, is_finished: bool) -> None:
        self._path = path
        self._file = file
        self._is_finished = is_finished
        self.secret: bytes | None = None
        """What the yard signs with, known once all rows have been read; None: it had lost its own."""

    @contextmanager
    def _reading(self) -> Iterator[_Pass]:
        reading = _Pass(self._file)
        try:
            yield reading
        except _Bad as error:
            raise StoreRefused(
                f"{self._path}, line {reading.number}: {error}. Nothing of the file was taken: copy from the yard "
                "again, or use another file."
            ) from None

    @property
    def summary(self) -> Summary:
        with self._reading() as reading:
            return reading.header().summary

    def rows(self) -> Iterator[tuple[Kind, Row]]:
        with self._reading() as reading:
            for kind, row in reading.rows(is_finished=self._is_finished):
                if kind is not SECRET:
                    yield kind, row
                elif isinstance(row[0], bytes):
                    self.secret = row[0]


class NewYardFile(YardFile):
    """A yard file that is being written. Its trailer comes last, with the commit."""

    def __init__(self, path: Path, new: NewFile, out: BinaryIO, file: BinaryIO, *, now_ms: int) -> None:
        super().__init__(path, file, is_finished=False)
        self._new = new
        self._out = out
        self._now_ms = now_ms
        self._hash = hashlib.sha256()

    def begin(self, summary: Summary) -> None:
        identity = summary.identity
        header = Header(
            format=FORMAT,
            version=VERSION,
            written_at=self._now_ms,
            cluster_id=identity.cluster_id,
            epoch=identity.epoch,
            seq=identity.seq,
            batch_id=summary.batch_id,
            counts=summary.counts,
        )
        self._out.write(_line("header", header))

    def take(self, kind: Kind, rows: list[Row]) -> None:
        for row in rows:
            line = _record(kind, row)
            self._hash.update(line)
            self._out.write(line)

    def rows(self) -> Iterator[tuple[Kind, Row]]:
        self._out.flush()
        yield from super().rows()

    def keep_secret(self, secret: bytes) -> None:
        self.take(SECRET, [(secret,)])

    def commit(self) -> None:
        self._out.write(_line("trailer", Trailer(self._hash.hexdigest())))
        self._out.flush()
        self._new.finish()


@contextmanager
def opened(path: Path, *, tell: Callable[[str, int, int], None]) -> Iterator[YardFile]:
    """The yard in this file, after all of it has been read once. `StoreRefused` says in which line it is bad."""
    if not path.is_file():
        raise StoreRefused(f"There is no file {path}. Name one that `taskyard copy` wrote.")
    with path.open("rb") as file:
        yard = YardFile(path, file, is_finished=True)
        total = yard.summary.total
        read_through(yard, lambda rows: tell("checked", rows, total))
        yield yard


@contextmanager
def made(path: Path, *, now_ms: int) -> Iterator[NewYardFile]:
    """A new file. If it was not committed, there is none."""
    try:
        with new_file(path) as new, new.partial.open("wb") as out, new.partial.open("rb") as file:
            yield NewYardFile(path, new, out, file, now_ms=now_ms)
    except FileExistsError as error:
        raise StoreRefused(f"{path} exists, and nothing is copied over a file. Name a new one.") from error
