"""What the SQLite engine refuses to open, in words, without changing anything."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from taskyard.store.port import StoreRefused
from taskyard.store.sqlite import SqliteStore, checks
from taskyard.store.sqlite.migrate import SCHEMA_VERSION
from tests.support.records import Yard, a_task

NOBODY = 65_534


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A yard with one task, closed."""
    path = tmp_path / "hub.db"
    with SqliteStore(path, new_cluster_id="c_test") as store:
        Yard.of(store).has(a_task())
    return path


def refusal_of(path: Path) -> str:
    with pytest.raises(StoreRefused) as refused:
        SqliteStore(path, new_cluster_id="c_other").open()
    return str(refused.value)


def test_a_second_hub_is_told_who_has_the_file_and_what_to_do(file: Path) -> None:
    with SqliteStore(file, new_cluster_id="c"):
        assert f"process {os.getpid()}" in (sentence := refusal_of(file))
        assert "Stop that one first" in sentence


def test_the_lock_of_a_hub_that_died_is_free(file: Path) -> None:
    program = (
        "import os, sys; from taskyard.store.sqlite import SqliteStore;"
        f"SqliteStore({str(file)!r}, new_cluster_id='c').open(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    with SqliteStore(file, new_cluster_id="c") as store:
        assert len(store.load().tasks) == 1


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    path.write_bytes(b"once upon a time " * 1_000)
    assert "not a SQLite database" in refusal_of(path)
    assert path.read_bytes() == b"once upon a time " * 1_000


def test_a_file_too_short_to_be_a_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    path.write_bytes(b"SQLite format 3\0")
    assert "not a SQLite database" in refusal_of(path)


@pytest.mark.parametrize("application_id", [0, 7])
def test_a_database_of_another_program_is_refused_and_not_touched(tmp_path: Path, application_id: int) -> None:
    path = tmp_path / "hub.db"
    other = apsw.Connection(str(path))
    other.pragma("application_id", application_id)
    other.execute("CREATE TABLE task (id)")
    other.close()
    before = path.read_bytes()
    assert "another program" in refusal_of(path)
    assert path.read_bytes() == before


def test_a_database_of_a_newer_version_is_refused_and_not_touched(file: Path) -> None:
    newer = apsw.Connection(str(file))
    newer.pragma("user_version", SCHEMA_VERSION + 1)
    newer.close()
    before = file.read_bytes()
    assert "newer Taskyard" in refusal_of(file)
    assert file.read_bytes() == before


def test_a_newer_version_that_is_only_in_the_log_is_refused_too(file: Path, tmp_path: Path) -> None:
    # Given a newer hub that died before its log was copied back
    newer = apsw.Connection(str(file))
    newer.pragma("user_version", SCHEMA_VERSION + 1)
    wreck = tmp_path / "wreck"
    wreck.mkdir()
    for name in ("hub.db", "hub.db-wal"):
        (wreck / name).write_bytes(file.with_name(name).read_bytes())
    newer.close()
    before = {path.name: path.read_bytes() for path in wreck.iterdir()}

    # Then it is refused, and its log is left for the newer one
    assert "newer Taskyard" in refusal_of(wreck / "hub.db")
    assert {name: (wreck / name).read_bytes() for name in before} == before


def test_a_log_without_its_database_is_refused(file: Path, tmp_path: Path) -> None:
    lonely = tmp_path / "lonely" / "hub.db"
    lonely.parent.mkdir()
    lonely.with_name("hub.db-wal").write_bytes(b"x" * 4096)
    assert "its log hub.db-wal is there" in refusal_of(lonely)
    lonely.touch()
    assert "its log hub.db-wal is there" in refusal_of(lonely)
    assert lonely.with_name("hub.db-wal").exists()


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "does not exist" in refusal_of(tmp_path / "nowhere" / "hub.db")


@contextmanager
def as_somebody_without_rights() -> Iterator[None]:
    """Rights are not checked for the superuser, who may run the tests."""
    me = os.geteuid()
    if me == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(me)


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """One that others may enter."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def test_a_directory_that_cannot_be_written_is_refused(open_directory: Path) -> None:
    place = open_directory / "data"
    place.mkdir(mode=0o555)
    with as_somebody_without_rights():
        assert "Make the directory" in refusal_of(place / "hub.db")


@pytest.mark.parametrize(("mode", "said"), [(0o444, "Let the hub's user write"), (0o000, "cannot be read")])
def test_a_database_that_cannot_be_used_is_refused(open_directory: Path, mode: int, said: str) -> None:
    place = open_directory / "data"
    place.mkdir()
    with SqliteStore(place / "hub.db", new_cluster_id="c"):
        pass
    os.chmod(place, 0o777)
    os.chmod(place / "hub.lock", 0o666)
    os.chmod(place / "hub.db", mode)
    with as_somebody_without_rights():
        assert said in refusal_of(place / "hub.db")


def test_a_database_that_another_program_holds_is_refused(file: Path) -> None:
    other = apsw.Connection(str(file))
    other.execute("BEGIN IMMEDIATE")
    store = SqliteStore(file, new_cluster_id="c", busy_ms=1)
    with pytest.raises(StoreRefused, match="no other program"):
        store.open()
    other.execute("ROLLBACK")
    other.close()
    store.open()
    store.close()


@pytest.mark.parametrize("version", ["3.51.3", "3.54.1", "3.50.7", "3.44.6", "3.44.9", "4.0.0"])
def test_a_sqlite_with_the_fix_is_taken(version: str) -> None:
    checks.refuse_old_sqlite(version)


@pytest.mark.parametrize("version", ["3.40.1", "3.51.2", "3.50.6", "3.49.2", "3.44.5", "3.45.0"])
def test_a_sqlite_that_can_lose_commits_is_refused(version: str) -> None:
    with pytest.raises(StoreRefused, match="WAL-reset"):
        checks.refuse_old_sqlite(version)


MOUNTS = r"""
/dev/sda1 / ext4 rw 0 0
server:/export /srv nfs4 rw 0 0
/dev/sdb1 /srv/local ext4 rw 0 0
host: /mnt/far\040away fuse.sshfs rw 0 0
/dev/sdc1 /covered ext4 rw 0 0
//nas/share /covered cifs rw 0 0
""".strip()


@pytest.mark.parametrize("directory", ["/srv", "/srv/data", "/mnt/far away/data", "/covered/data"])
def test_a_network_file_system_is_refused(directory: str) -> None:
    with pytest.raises(StoreRefused, match="local disk"):
        checks.refuse_network_file_system(Path(directory), mounts=MOUNTS)


@pytest.mark.parametrize("directory", ["/", "/var/lib/taskyard", "/srv/local/data", "/srvlike"])
def test_a_local_file_system_is_taken(directory: str) -> None:
    checks.refuse_network_file_system(Path(directory), mounts=MOUNTS)


def test_where_the_system_tells_no_mounts_nothing_is_refused() -> None:
    checks.refuse_network_file_system(Path("/srv"), mounts="")
