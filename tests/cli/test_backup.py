"""`taskyard backup`: with real hubs, since a copy that no hub opens is none."""

import errno
import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from taskyard.cli.main import run
from taskyard.store.sqlite import SqliteStore
from tests.support.live import LiveHub, LiveYard, live_yard


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[LiveYard]:
    with live_yard(tmp_path) as made:
        yield made


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A hub's directory, without a hub."""
    directory = tmp_path / "data"
    directory.mkdir()
    with SqliteStore(directory / "taskyard.db", new_cluster_id="c_test"):
        return directory


def refs(hub: LiveHub) -> set[str]:
    with hub.client() as client:
        return {task.ref for task in client.tasks()}


def refs_in(copy: Path, yard: LiveYard) -> set[str]:
    """What a hub of its own finds in this copy, and in nothing else of the first one's directory."""
    data = yard.directory / f"restored-{copy.stem}"
    data.mkdir()
    shutil.copy(copy, data / "taskyard.db")
    return refs(yard.hub(data.name))


@pytest.mark.slow
def test_a_copy_has_all_that_was_answered_before_also_while_a_hub_writes_and_after_it_was_killed(
    yard: LiveYard, tmp_path: Path
) -> None:
    # Given a hub that writes, and a copy that is taken meanwhile
    hub = yard.hub()
    answered: list[str] = []
    is_over, is_going = threading.Event(), threading.Event()

    def write() -> None:
        with hub.client() as client:
            while not is_over.is_set():
                answered.extend(task.ref for task in client.submit_batch([{"input": "x" * 1000}] * 20).tasks)
                is_going.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert is_going.wait(60)
        before = set(answered)
        assert run(["backup", str(tmp_path / "meanwhile.db"), "--data", str(hub.data)]) == 0
    finally:
        is_over.set()
        writer.join()

    # When it is killed, and another copy is taken
    assert refs(hub) == set(answered)
    hub.kill()
    assert run(["backup", str(tmp_path / "afterwards.db"), "--data", str(hub.data)]) == 0

    # Then each has what had been answered by then
    assert before <= refs_in(tmp_path / "meanwhile.db", yard) <= set(answered)
    assert refs_in(tmp_path / "afterwards.db", yard) == set(answered)


def test_a_copy_is_one_file_for_its_owner_and_is_told(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "copies"
    place.mkdir()
    assert run(["backup", str(place / "a.db"), "--data", str(data)]) == 0
    assert capsys.readouterr().out.startswith(f"{place / 'a.db'} has a copy of {data / 'taskyard.db'} (")
    assert run(["backup", str(place / "b.db"), "--data", str(data), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"file": str(place / "b.db"), "bytes": (place / "b.db").stat().st_size}
    assert sorted(path.name for path in place.iterdir()) == ["a.db", "b.db"]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in place.iterdir())


def test_a_copy_overwrites_nothing(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = tmp_path / "copy.db"
    there.write_text("an older copy")
    assert run(["backup", str(there), "--data", str(data)]) == 1
    said = capsys.readouterr().err
    assert said == f"taskyard: {there} exists; name a new file, so that no copy overwrites another.\n"
    assert there.read_text() == "an older copy"


@pytest.mark.parametrize("is_taken", [False, True])
def test_where_there_are_no_links_a_copy_is_renamed_and_still_overwrites_nothing(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_taken: bool
) -> None:
    copy = tmp_path / "copy.db"

    def link(_source: Path, _target: Path) -> None:
        if is_taken:
            copy.write_text("another's")
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    assert run(["backup", str(copy), "--data", str(data)]) == (1 if is_taken else 0)
    assert copy.read_bytes().startswith(b"another's" if is_taken else b"SQLite format 3")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "data"]


def test_a_name_that_is_taken_meanwhile_is_left_alone(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "copy.db").write_text("another's")
    monkeypatch.setattr(os.path, "lexists", lambda _path: False)
    assert run(["backup", str(tmp_path / "copy.db"), "--data", str(data)]) == 1
    assert "exists; name a new file" in capsys.readouterr().err
    assert (tmp_path / "copy.db").read_text() == "another's"


def test_a_directory_without_a_database_is_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["backup", str(tmp_path / "copy.db"), "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said == (
        f"taskyard: There is no taskyard.db in {tmp_path}; name the hub's directory with --data, or its database with "
        "--database.\n"
    )


def test_of_a_yard_on_a_server_it_is_said_how_that_is_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["backup", str(tmp_path / "copy.dump"), "--database", "postgresql://yard:s3cret@db:5432/yard"]) == 1
    said = capsys.readouterr().err
    command = (
        f"pg_dump --format=custom --schema=taskyard --file={tmp_path / 'copy.dump'} postgresql://yard@db:5432/yard"
    )
    assert f"`{command}`" in said
    assert "s3cret" not in said
    assert run(["backup", str(tmp_path / "copy.dump"), "--database", "mysql://db"]) == 1
    assert "--database takes the URL of a PostgreSQL database" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"no database at all" * 1000, b"SQLite format 3\0" + b"\xff" * 9000])
def test_what_is_no_database_of_a_hub_is_not_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    (tmp_path / "taskyard.db").write_bytes(content)
    place = tmp_path / "copies"
    place.mkdir()
    assert run(["backup", str(place / "copy.db"), "--data", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith(f"taskyard: {tmp_path / 'taskyard.db'} ")
    assert list(place.iterdir()) == []


def test_a_damaged_database_is_not_called_copied(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = data / "taskyard.db"
    content = file.read_bytes()
    file.write_bytes(content[: 8192 * 2] + bytes(len(content) - 8192 * 2))
    assert run(["backup", str(tmp_path / "copy.db"), "--data", str(data)]) == 1
    assert "is damaged" in capsys.readouterr().err
    assert not (tmp_path / "copy.db").exists()


def test_a_place_that_does_not_exist_is_said_so(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["backup", str(tmp_path / "nowhere" / "copy.db"), "--data", str(data)]) == 1
    said = capsys.readouterr().err
    assert said == f"taskyard: {tmp_path / 'nowhere' / 'copy.db'} cannot be written: No such file or directory.\n"
