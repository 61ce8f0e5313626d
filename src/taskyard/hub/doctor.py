"""`taskyard doctor`: is this installation and its data as they have to be? Looks only; changes nothing."""

import os
import platform
import shutil
import socket
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import apsw

from taskyard.hub.databases import database_of
from taskyard.hub.deep_doctor import heard_of, read_all
from taskyard.hub.findings import Finding, Health
from taskyard.hub.lineage_doctor import examine_file, examine_hubs
from taskyard.hub.main import address_of, file_of, profile_of
from taskyard.hub.server_doctor import examine_server
from taskyard.hub.settings import BadSettings, read_settings, under_profile
from taskyard.hub.yard import CREDENTIALS, DATABASE, CannotStart, exposures
from taskyard.sdk.credentials import data_directory, read_credentials
from taskyard.sdk.errors import CredentialsMissing
from taskyard.store.port import StoreRefused
from taskyard.store.postgres.durability import Durability
from taskyard.store.sqlite.checks import refuse_old_sqlite
from taskyard.store.sqlite.dump import looked_at
from taskyard.store.sqlite.engine import CHECKED_WHOLE_BYTES_MAX

PYTHON_MIN: Final = (3, 11)
FREE_BYTES_MIN: Final = 512 * 1024 * 1024
YEAR_MIN: Final = 2024


def examine(
    data: str | None, config: str | None = None, database: str | None = None, *, deep: bool = False
) -> list[Finding]:
    """`deep`: read every record."""
    directory = data_directory(data).resolve()
    found = _databases(directory, config, database, deep=deep)
    return [*(check(directory) for check in CHECKS), *found, _settings(directory, config)]


def _databases(data: Path, config: str | None, database: str | None, *, deep: bool) -> list[Finding]:
    """Of the one that a hub would use that is started here now."""
    try:
        url = database_of(database)
    except CannotStart as wrong:
        return [Finding("database", Health.FAILED, str(wrong))]
    if url is None:
        return [_database(data), *_records(data, deep=deep), *examine_file(data)]
    found = list(examine_server(url, _durability(data, config), deep=deep))
    return found if any(each.state is Health.FAILED for each in found) else [*found, examine_hubs(url, data)]


def _records(data: Path, *, deep: bool) -> list[Finding]:
    """A small database is read whole in any case."""
    path = data / DATABASE
    if not path.exists():
        return []
    if deep or path.stat().st_size <= CHECKED_WHOLE_BYTES_MAX:
        return list(read_all(looked_at(path)))
    try:
        return [heard_of([read_credentials(data / CREDENTIALS).hub])]
    except CredentialsMissing:
        return [heard_of(())]


def _durability(data: Path, config: str | None) -> Durability:
    """As a hub is told; what is wrong with the settings is a finding of its own."""
    try:
        return read_settings(file_of(data, config)).cluster.durability
    except (BadSettings, CannotStart):
        return Durability.REPLICATED


def _python(_: Path) -> Finding:
    is_new = sys.version_info[:2] >= PYTHON_MIN
    return Finding("python", Health.OK if is_new else Health.FAILED, f"{platform.python_version()} ({sys.executable})")


def _sqlite(_: Path) -> Finding:
    version = apsw.sqlite_lib_version()
    try:
        refuse_old_sqlite(version)
    except StoreRefused as refused:
        return Finding("sqlite", Health.FAILED, str(refused))
    return Finding("sqlite", Health.OK, f"{version}, bundled")


def _directory(data: Path) -> Finding:
    if not data.exists():
        return Finding("data", Health.OK, f"{data} does not exist yet; `taskyard up` makes it")
    if not data.is_dir():
        return Finding("data", Health.FAILED, f"{data} is not a directory; name another with --data")
    if not os.access(data, os.W_OK | os.X_OK):
        return Finding("data", Health.FAILED, f"{data} cannot be written; change its owner or name another with --data")
    found = [one.sentence for one in exposures(data) if one.path == data]
    return Finding("data", Health.WARNING, found[0]) if found else Finding("data", Health.OK, str(data))


def _database(data: Path) -> Finding:
    """Durability settings as a reader sees them; the writer's own are checked at every start."""
    path = data / DATABASE
    if not path.exists():
        return Finding("database", Health.OK, "none yet")
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            mode = connection.pragma("journal_mode")
            verdict = connection.pragma("quick_check", 1)
    except apsw.Error as error:
        return Finding("database", Health.FAILED, f"{path} cannot be read: {error}; restore a backup")
    if verdict != "ok":
        return Finding("database", Health.FAILED, f"{path} is damaged: {verdict}; restore a backup")
    if mode != "wal":
        return Finding("database", Health.FAILED, f"{path} has journal_mode {mode}, not wal")
    return Finding("database", Health.OK, f"{path.stat().st_size / 1e6:.1f} MB, journal_mode wal, sound")


def _settings(data: Path, config: str | None) -> Finding:
    """As a hub would read them that is started here now; one that runs may have been given another profile."""
    try:
        path, profile = file_of(data, config), profile_of(None)
        settings = under_profile(read_settings(path), profile)
    except (BadSettings, CannotStart) as bad:
        return Finding("settings", Health.FAILED, str(bad))
    where = str(path) if path.exists() else "defaults"
    return Finding("settings", Health.OK, f"{where}, profile {settings.profile}")


def _files(data: Path) -> Finding:
    """The database, the keys and the log; a start closes those that it may."""
    if not data.is_dir():
        return Finding("files", Health.OK, "none yet")
    found = [one.sentence for one in exposures(data) if one.path != data]
    if found:
        return Finding("files", Health.FAILED, "; ".join(found))
    return Finding("files", Health.OK, "readable by their owner only")


def _disk(data: Path) -> Finding:
    place = next(p for p in (data, *data.parents) if p.exists())
    free = shutil.disk_usage(place).free
    state = Health.OK if free >= FREE_BYTES_MIN else Health.WARNING
    return Finding("disk", state, f"{free / 1e9:.1f} GB free")


def _clock(_: Path) -> Finding:
    year = time.gmtime().tm_year
    state = Health.OK if year >= YEAR_MIN else Health.FAILED
    return Finding("clock", state, time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()))


def _port(_: Path) -> Finding:
    try:
        host, port = address_of(None, None)
        with socket.create_connection((host, port), timeout=1):
            detail = "something listens there (a hub that runs already?)"
            return Finding("port", Health.WARNING, f"{host}:{port} {detail}")
    except CannotStart as wrong:
        return Finding("port", Health.FAILED, str(wrong))
    except OSError:
        return Finding("port", Health.OK, f"{host}:{port} free")


CHECKS: Final[tuple[Callable[[Path], Finding], ...]] = (
    _python,
    _sqlite,
    _clock,
    _directory,
    _disk,
    _files,
    _port,
)
