"""`taskyard copy`: a yard that stands still moves to another place, with all that it knows and signs with."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from taskyard.hub.clock import read_clock
from taskyard.hub.databases import SCHEMES, NotDone
from taskyard.hub.yard import DATABASE, SECRET, CannotStart, kept_secret, prepare, write_secret
from taskyard.store import jsonl
from taskyard.store.copy import Copied, copy
from taskyard.store.dump import Source, Target
from taskyard.store.port import StoreBroken, StoreRefused, StoreUnavailable
from taskyard.store.postgres import dump as in_postgres
from taskyard.store.postgres.session import public_url
from taskyard.store.sqlite import dump as in_sqlite

DIRECTORY: Final = "sqlite:"
FILE: Final = ".jsonl"
FORMS: Final = f"{DIRECTORY}DIRECTORY, postgresql://USER@HOST:PORT/DATABASE or FILE{FILE}"

Tell = Callable[[str, int, int], None]


class Moved(Struct, frozen=True):
    copied: Copied
    has_secret: bool
    """Whether the secret came along: if not, browsers sign in again and running attempts lose their tokens."""
    next: str
    """The command to go on with in the new place."""
    is_file: bool
    """Whether the new place is a file, which no hub opens."""


class Place(Protocol):
    """Where a yard lies or is to lie."""

    def opened(self, tell: Tell) -> AbstractContextManager[tuple[Source, bytes | None]]:
        """The yard there and its secret, unless that was lost. `tell` hears what is read before the copy begins."""

    def made(self) -> AbstractContextManager[Target]: ...

    def command(self, source: "Place") -> str:
        """How to go on here with the yard that came from there."""


class InDirectory(Struct, frozen=True):
    """A SQLite database in a hub's data directory, with the secret beside it."""

    file: Path

    @contextmanager
    def opened(self, _tell: Tell) -> Iterator[tuple[Source, bytes | None]]:
        directory = self.file.parent
        with in_sqlite.opened(self.file) as yard:
            yield yard, kept_secret(directory) if (directory / SECRET).exists() else None

    @contextmanager
    def made(self) -> Iterator[Target]:
        directory = self.file.parent
        prepare(directory)
        with in_sqlite.made(self.file, keep_secret=partial(_keep_secret, directory)) as yard:
            yield yard

    def command(self, source: Place) -> str:
        return f"taskyard up --data {shlex.quote(str(self.file.parent))}"


class InDatabase(Struct, frozen=True):
    url: str

    @contextmanager
    def opened(self, _tell: Tell) -> Iterator[tuple[Source, bytes | None]]:
        with in_postgres.opened(self.url) as yard:
            yield yard, yard.secret

    def made(self) -> AbstractContextManager[Target]:
        return in_postgres.made(self.url)

    def command(self, source: Place) -> str:
        data = f" --data {shlex.quote(str(source.file.parent))}" if isinstance(source, InDirectory) else ""
        return f"taskyard up{data} --database {shlex.quote(public_url(self.url))}"


class InFile(Struct, frozen=True):
    path: Path

    @contextmanager
    def opened(self, tell: Tell) -> Iterator[tuple[Source, bytes | None]]:
        with jsonl.opened(self.path, tell=tell) as yard:
            yield yard, yard.secret

    def made(self) -> AbstractContextManager[Target]:
        return jsonl.made(self.path, now_ms=read_clock().wall)

    def command(self, source: Place) -> str:
        return f"taskyard copy --from {shlex.quote(str(self.path))} --to PLACE"


def copy_yard(source: str, target: str, *, tell: Tell) -> Moved:
    """`NotDone` says why not; then the target is as it was. The source is only read."""
    old, new = place_of(source, "--from"), place_of(target, "--to")
    if old == new:
        raise NotDone("--from and --to are the same. Name an empty place to copy to.")
    try:
        with old.opened(tell) as (given, secret), new.made() as taken:
            copied = copy(given, taken, tell=tell)
            if secret is not None:
                taken.keep_secret(secret)
            taken.commit()
    except (StoreRefused, CannotStart) as error:
        raise NotDone(str(error)) from error
    except (StoreUnavailable, StoreBroken, OSError) as error:
        raise NotDone(
            f"The copy could not be made: {error}. Nothing was changed. See that both places have room and can be "
            "reached, then try again."
        ) from error
    return Moved(copied, has_secret=secret is not None, next=new.command(old), is_file=isinstance(new, InFile))


def place_of(text: str, option: str) -> Place:
    """The place that is meant. A SQLite name that is not there yet is a directory's, unless it ends in `.db`."""
    if text.startswith(SCHEMES):
        return InDatabase(text)
    if text.startswith(DIRECTORY) and text != DIRECTORY:
        path = _path_of(text.removeprefix(DIRECTORY))
        is_database = path.is_file() or (path.suffix == ".db" and not path.is_dir())
        return InDirectory(path if is_database else path / DATABASE)
    if text.endswith(FILE):
        return InFile(_path_of(text))
    raise NotDone(f"{option} takes {FORMS}.")


def _path_of(text: str) -> Path:
    return Path(text).expanduser().resolve()


def _keep_secret(directory: Path, secret: bytes) -> None:
    if not (directory / SECRET).exists():
        write_secret(directory, secret)
    elif kept_secret(directory) != secret:
        raise StoreRefused(f"{directory / SECRET} is of another yard. Move it away, or name another directory.")
