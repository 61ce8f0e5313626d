"""Files that only their owner can read: whatever the umask, the directory and an earlier version were like."""

import grp
import os
import pwd
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from taskyard.files.private import (
    Exposure,
    close_directory,
    close_to_others,
    exposures_in,
    make_private_directory,
    open_private,
)
from taskyard.store.port import StoreRefused
from taskyard.store.sqlite import SqliteStore
from taskyard.store.sqlite.engine import copy_database
from tests.support.records import Yard, a_task

NOBODY = 65_534
UMASKS = (0o000, 0o022, 0o277)


@pytest.fixture(params=UMASKS, ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    old = os.umask(request.param)
    yield request.param
    os.umask(old)


@pytest.fixture
def open_place(tmp_path: Path) -> Path:
    """A directory that exists and that everybody can look into."""
    place = tmp_path / "place"
    place.mkdir()
    place.chmod(0o755)
    return place


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes_in(directory: Path) -> dict[str, int]:
    return {path.name: mode_of(path) for path in directory.iterdir()}


def anything(_: str) -> bool:
    return True


# --- what is made ---


@pytest.mark.usefixtures("umask")
def test_a_file_is_its_owners_whatever_the_umask(open_place: Path) -> None:
    with open(open_place / "new", "wb", opener=open_private) as file:
        file.write(b"secret")
    assert modes_in(open_place) == {"new": 0o600}
    assert (open_place / "new").read_bytes() == b"secret"


def test_a_file_that_was_open_to_others_is_closed_when_it_is_opened(open_place: Path) -> None:
    (open_place / "old").touch()
    (open_place / "old").chmod(0o664)
    os.close(open_private(open_place / "old", os.O_WRONLY | os.O_APPEND))
    assert modes_in(open_place) == {"old": 0o600}


@pytest.mark.usefixtures("umask")
def test_directories_are_made_for_their_owner_and_those_that_exist_stay_as_they_are(open_place: Path) -> None:
    make_private_directory(open_place / "a" / "b")
    make_private_directory(open_place / "a" / "b")
    assert [mode_of(path) for path in (open_place, open_place / "a", open_place / "a" / "b")] == [0o755, 0o700, 0o700]


def test_a_file_in_the_place_of_a_directory_is_reported(open_place: Path) -> None:
    (open_place / "a").touch()
    with pytest.raises(FileExistsError):
        make_private_directory(open_place / "a")


@pytest.mark.usefixtures("umask")
def test_a_database_and_all_that_lies_beside_it_are_their_owners(open_place: Path) -> None:
    with SqliteStore(open_place / "hub.db", new_cluster_id="c_test") as store:
        yard = Yard.of(store)
        yard.has(a_task())
        yard.reader.position()
        assert modes_in(open_place) == dict.fromkeys(("hub.db", "hub.db-wal", "hub.db-shm", "hub.lock"), 0o600)
        yard.reader.close()
        store.backup(str(open_place / "copy.db"))
        copy_database(open_place / "hub.db", open_place / "other.db", vfs=None)
    assert set(modes_in(open_place).values()) == {0o600}


def test_a_database_of_an_earlier_version_is_closed_at_the_start(open_place: Path) -> None:
    # Given one whose hub was killed, so that its log is still there, all of it open to others
    with SqliteStore(open_place / "hub.db", new_cluster_id="c_test") as store:
        Yard.of(store).has(a_task())
        contents = {path.name: path.read_bytes() for path in open_place.iterdir() if "-shm" not in path.name}
    for name, content in contents.items():
        (open_place / name).write_bytes(content)
        (open_place / name).chmod(0o644)

    # When the next one starts
    with SqliteStore(open_place / "hub.db", new_cluster_id="c_test") as store:
        assert len(store.load().tasks) == 1
        # Then others read none of it
        assert set(modes_in(open_place).values()) == {0o600}


def test_the_database_of_another_program_keeps_its_mode(open_place: Path) -> None:
    connection = apsw.Connection(str(open_place / "hub.db"))
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    (open_place / "hub.db").chmod(0o644)
    with pytest.raises(StoreRefused, match="another program"):
        SqliteStore(open_place / "hub.db", new_cluster_id="c_test").open()
    assert mode_of(open_place / "hub.db") == 0o644


# --- what is closed at a start ---


def test_a_directory_with_nothing_but_our_files_is_closed_and_so_are_they(open_place: Path) -> None:
    for name in ("ours", "settings"):
        (open_place / name).touch()
        (open_place / name).chmod(0o644)
    (open_place / "lost+found").mkdir()
    close_directory(open_place, written="ours".__eq__, belongs={"ours", "settings"}.__contains__)
    assert mode_of(open_place) == 0o700
    assert [mode_of(open_place / name) for name in ("ours", "settings")] == [0o600, 0o644]
    assert exposures_in(open_place, written="ours".__eq__) == []


def test_a_directory_with_files_of_others_keeps_its_mode_and_is_reported(open_place: Path) -> None:
    for name in ("ours", "a diary"):
        (open_place / name).touch()
        (open_place / name).chmod(0o644)
    close_directory(open_place, written="ours".__eq__, belongs="ours".__eq__)
    assert mode_of(open_place) == 0o755
    assert {name: mode_of(open_place / name) for name in ("ours", "a diary")} == {"ours": 0o600, "a diary": 0o644}
    (found,) = exposures_in(open_place, written="ours".__eq__)
    assert found == Exposure(open_place, "every user of this machine", f"chmod 700 {open_place}")
    assert found.sentence == f"every user of this machine can look into {open_place}: run `chmod 700 {open_place}`"


def test_a_directory_that_everybody_shares_is_never_closed(open_place: Path) -> None:
    open_place.chmod(0o1777)
    close_directory(open_place, written=anything, belongs=anything)
    assert mode_of(open_place) == 0o1777


def test_a_group_that_can_read_is_named(open_place: Path) -> None:
    open_place.chmod(0o750)
    (found,) = exposures_in(open_place, written=anything)
    assert found.who == f"the group {grp.getgrgid(open_place.stat().st_gid).gr_name}"


def test_links_and_what_is_no_file_are_left_alone(open_place: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.touch()
    target.chmod(0o644)
    (open_place / "link").symlink_to(target)
    os.mkfifo(open_place / "pipe")
    (open_place / "pipe").chmod(0o666)
    close_directory(open_place, written=anything, belongs=anything)
    close_to_others(open_place / "nothing")
    assert (mode_of(target), mode_of(open_place / "pipe")) == (0o644, 0o666)
    assert exposures_in(open_place, written=anything) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_another_user_is_reported_with_the_command_that_takes_it_over() -> None:
    # Given a directory of another user in which everybody may write, a file of theirs, and a closed directory
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "ours").touch()
        (place / "theirs").mkdir()
        for path, mode in ((place / "ours", 0o666), (place / "theirs", 0o700), (place, 0o777)):
            os.chown(path, NOBODY, NOBODY)
            path.chmod(mode)

        # When a user who may not change their modes starts there
        os.seteuid(1)
        try:
            os.close(open_private(place / "ours", os.O_RDWR))
            close_directory(place, written=anything, belongs=anything)
            found = exposures_in(place, written=anything)
        finally:
            os.seteuid(0)

        # Then nothing is changed, and all is reported
        assert [mode_of(place), mode_of(place / "ours")] == [0o777, 0o666]
        assert [one.path for one in found] == [place, place / "ours", place / "theirs"]
        me, owner = pwd.getpwuid(1).pw_name, pwd.getpwuid(NOBODY).pw_name
        assert found[0].command == f"chown {me} {place} && chmod 700 {place}"
        assert found[2].who == f"{owner}, who owns it,"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_of_a_closed_directory_can_look_into_it(open_place: Path) -> None:
    open_place.chmod(0o700)
    os.chown(open_place, NOBODY, NOBODY)
    assert exposures_in(open_place, written=anything) == [], "to root that is how it should be"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_users_and_groups_without_a_name_are_told_by_their_number(open_place: Path) -> None:
    os.chown(open_place, 4_242_424, 4_242_425)
    open_place.chmod(0o750)
    (found,) = exposures_in(open_place, written=anything)
    assert found.who == "the group 4242425"
    assert found.command.startswith("chown root ")


@pytest.mark.skipif(os.geteuid() != 0, reason="root may list everything")
def test_a_directory_that_may_not_be_listed_keeps_its_mode() -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name) / "place"
        place.mkdir()
        Path(name).chmod(0o755)
        place.chmod(0o311)
        os.chown(place, 1, 1)
        os.seteuid(1)
        try:
            close_directory(place, written=anything, belongs=anything)
            found = exposures_in(place, written=anything)
        finally:
            os.seteuid(0)
        assert mode_of(place) == 0o311
        assert [one.path for one in found] == [place]
