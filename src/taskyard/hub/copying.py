"""`taskyard copy`: a yard that stands still moves to another database, with all that it knows and signs with."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from taskyard.hub.databases import SCHEMES, NotDone
from taskyard.hub.yard import DATABASE, SECRET, CannotStart, kept_secret, prepare, write_secret
from taskyard.store.copy import Copied, copy
from taskyard.store.dump import Source, Target
from taskyard.store.port import StoreBroken, StoreRefused, StoreUnavailable
from taskyard.store.postgres import dump as in_postgres
from taskyard.store.postgres.session import public_url
from taskyard.store.sqlite import dump as in_sqlite

FILE: Final = "sqlite:"
FORMS: Final = f"{FILE}DIRECTORY or postgresql://USER@HOST:PORT/DATABASE"


class Moved(Struct, frozen=True):
    copied: Copied
    has_secret: bool
    """Whether the secret came along: if not, browsers sign in again and running attempts lose their tokens."""
    start: str
    """How to go on in the new place."""


def copy_yard(source: str, target: str, *, tell: Callable[[str, int, int], None]) -> Moved:
    """`NotDone` says why not; then the target is as it was. The source is only read."""
    try:
        if place_of(source, "--from") == place_of(target, "--to"):
            raise NotDone("--from and --to are the same. Name an empty place to copy to.")
        with _opened(source) as (old, secret), _made(target) as (new, keep):
            copied = copy(old, new, tell=tell)
            if secret is not None:
                keep(secret)
            new.commit()
    except (StoreRefused, CannotStart) as error:
        raise NotDone(str(error)) from error
    except (StoreUnavailable, StoreBroken, OSError) as error:
        raise NotDone(
            f"The copy could not be made: {error}. Nothing was changed. See that both places have room and can be "
            "reached, then try again."
        ) from error
    return Moved(copied=copied, has_secret=secret is not None, start=_start(source, target))


def place_of(text: str, option: str) -> Path | str:
    """The file or the URL that is meant. A name that is not there yet is a directory's, unless it ends in `.db`."""
    if text.startswith(SCHEMES):
        return text
    if not text.startswith(FILE) or text == FILE:
        raise NotDone(f"{option} takes {FORMS}.")
    path = Path(text.removeprefix(FILE)).expanduser().resolve()
    return path if path.is_file() or (path.suffix == ".db" and not path.is_dir()) else path / DATABASE


@contextmanager
def _opened(text: str) -> Iterator[tuple[Source, bytes | None]]:
    place = place_of(text, "--from")
    if isinstance(place, str):
        with in_postgres.opened(place) as database:
            yield database, database.secret
    else:
        with in_sqlite.opened(place) as file:
            has_secret = (place.parent / SECRET).exists()
            yield file, kept_secret(place.parent) if has_secret else None


@contextmanager
def _made(text: str) -> Iterator[tuple[Target, Callable[[bytes], None]]]:
    place = place_of(text, "--to")
    if isinstance(place, str):
        with in_postgres.made(place) as database:
            yield database, database.keep_secret
    else:
        prepare(place.parent)
        with in_sqlite.made(place) as file:
            yield file, partial(_keep_secret, place.parent)


def _keep_secret(directory: Path, secret: bytes) -> None:
    if not (directory / SECRET).exists():
        write_secret(directory, secret)
    elif kept_secret(directory) != secret:
        raise StoreRefused(f"{directory / SECRET} is of another yard. Move it away, or name another directory.")


def _start(source: str, target: str) -> str:
    old, new = place_of(source, "--from"), place_of(target, "--to")
    if isinstance(new, Path):
        return f"taskyard up --data {shlex.quote(str(new.parent))}"
    where = "" if isinstance(old, str) else f" --data {shlex.quote(str(old.parent))}"
    return f"taskyard up{where} --database {shlex.quote(public_url(new))}"
