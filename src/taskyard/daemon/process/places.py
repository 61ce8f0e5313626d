"""Where a keeper and its work have their files, below a daemon's directory."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from taskyard.daemon.file_name import file_name
from taskyard.daemon.orders import Key
from taskyard.daemon.process.launching import Exit, Stream
from taskyard.daemon.process.tree import IS_LINUX
from taskyard.files.private import close_to_others, make_private_directory, open_private

T = TypeVar("T")

SOCKET: Final = "keeper.sock"
SOCKET_PATH_MAX: Final = 100
"""The kernel's bound for the address of a socket, less a little."""


class KeeperCard(Struct):
    """Who keeps the work of this directory, or did last."""

    keeper_id: str
    pid: int
    started: int


class AttemptCard(Struct):
    key: Key
    note: bytes


class Place:
    """One attempt's directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def make(self, card: AttemptCard, stdin: bytes) -> None:
        self.path.mkdir(mode=0o700)
        _write(self.path / "card", msgspec.msgpack.encode(card))
        _write(self.path / "stdin", stdin)

    @property
    def stdin(self) -> Path:
        return self.path / "stdin"

    def stream(self, stream: Stream) -> Path:
        return self.path / stream

    def card(self) -> AttemptCard | None:
        return _read(self.path / "card", AttemptCard)

    def exit(self) -> Exit | None:
        return _read(self.path / "exit", Exit)

    def ended(self, how: Exit) -> None:
        """Whole or not at all: a daemon that comes back must not read half of it."""
        _write(self.path / "exit.new", msgspec.msgpack.encode(how))
        (self.path / "exit.new").rename(self.path / "exit")

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


class Places:
    """A keeper's directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._attempts = directory / "attempts"

    def make(self) -> None:
        for path in (self.directory, self._attempts):
            make_private_directory(path)
            close_to_others(path)

    def name(self, key: Key) -> str:
        return file_name(key)

    def place(self, name: str) -> Place:
        return Place(self._attempts / name)

    def all(self) -> Iterator[Place]:
        for entry in sorted(self._attempts.iterdir()):
            yield Place(entry)

    def card(self) -> KeeperCard | None:
        return _read(self.directory / "keeper", KeeperCard)

    def keep(self, card: KeeperCard) -> None:
        _write(self.directory / "keeper", msgspec.msgpack.encode(card))

    @property
    def log(self) -> Path:
        return self.directory / "keeper.log"

    def socket_address(self) -> tuple[str, int | None]:
        """The address, and a file descriptor to close once it was used: a long path is said in a short way."""
        path = str(self.directory / SOCKET)
        if len(os.fsencode(path)) <= SOCKET_PATH_MAX or not IS_LINUX:
            return path, None
        handle = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{handle}/{SOCKET}", handle

    def forget_socket(self) -> None:
        (self.directory / SOCKET).unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    with open(path, "wb", opener=open_private) as opened:
        opened.write(content)


def _read(path: Path, type: type[T]) -> T | None:
    """None if it is not there, or not whole."""
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=type)
    except (OSError, msgspec.MsgspecError):
        return None
