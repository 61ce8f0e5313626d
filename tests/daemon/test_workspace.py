"""A directory for each attempt: what changed in it, and how long it is kept."""

import os
import socket
from pathlib import Path

import pytest

from taskyard.daemon.process.workspace import Keep, Workspaces

NOW_S = 2_000_000_000.0


def test_what_the_work_made_changed_and_removed_is_listed_also_by_whoever_adopts_it(tmp_path: Path) -> None:
    spaces = Workspaces(tmp_path / "spaces")
    path = spaces.make("t1-1")
    (path / "task.json").write_text("{}")
    (path / "gone").write_text("")
    (path / "same").write_text("")
    spaces.begin("t1-1")
    (path / "task.json").write_text("{ }")
    (path / "gone").unlink()
    (path / "deep" / "er").mkdir(parents=True)
    (path / "deep" / "er" / "new.txt").write_text("new")
    (path / ".git").mkdir()
    (path / ".git" / "index").write_text("")
    (path / "link").symlink_to("/etc")
    (path / os.fsdecode(b"\xff")).write_text("no text")

    another = Workspaces(tmp_path / "spaces")
    assert another.adopt("t1-1") == path
    assert another.changed("t1-1") == ["?", "deep/er/new.txt", "gone", "link", "task.json"]


def test_an_attempt_without_a_beginning_changed_nothing_that_is_known(tmp_path: Path) -> None:
    spaces = Workspaces(tmp_path)
    spaces.make("t1-1")
    assert spaces.changed("t1-1") == []


@pytest.mark.parametrize(
    ("keep", "succeeded", "is_kept"),
    [
        (Keep.ALWAYS, True, True),
        (Keep.ON_FAILURE, True, False),
        (Keep.ON_FAILURE, False, True),
        (Keep.NEVER, False, False),
    ],
)
def test_a_workspace_is_kept_by_policy(keep: Keep, succeeded: bool, is_kept: bool, tmp_path: Path) -> None:
    spaces = Workspaces(tmp_path, keep=keep)
    path = spaces.make("t1-1")
    spaces.begin("t1-1")
    spaces.end("t1-1", succeeded=succeeded, now_s=path.stat().st_mtime)
    assert [one.name for one in tmp_path.iterdir()] == (["t1-1"] if is_kept else [])


def test_the_oldest_go_first_and_none_in_use(tmp_path: Path) -> None:
    spaces = Workspaces(tmp_path, keep=Keep.ALWAYS, kept_max=2, kept_s_max=100)
    for number in range(5):
        os.utime(spaces.make(f"t{number}-1"), (NOW_S - 10 + number, NOW_S - 10 + number))
    os.utime(spaces.make("old-1"), (NOW_S - 101, NOW_S - 101))
    for name in ("t1-1", "t2-1", "t3-1", "t4-1", "old-1"):
        spaces.end(name, succeeded=False, now_s=NOW_S)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["t0-1", "t3-1", "t4-1"]


def test_what_the_work_closed_to_us_is_removed_and_what_it_links_to_is_not(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    spaces = Workspaces(tmp_path / "spaces", keep=Keep.NEVER)
    path = spaces.make("t1-1")
    (path / "closed").mkdir()
    (path / "closed" / "file").touch()
    (path / "closed").chmod(0)
    (path / "link").symlink_to(outside)
    spaces.end("t1-1", succeeded=True, now_s=NOW_S)
    assert not path.exists()
    assert (outside / "file").exists()


@pytest.mark.slow
def test_what_is_nested_deeper_than_anybody_can_recurse_is_looked_through_and_removed(tmp_path: Path) -> None:
    # Given work that went down for twelve hundred levels, and left something at the top and at the bottom
    spaces = Workspaces(tmp_path, keep=Keep.NEVER)
    path = spaces.make("t1-1")
    spaces.begin("t1-1")
    (path / "top").touch()
    _dig(path, levels=1200)

    # When it ends
    changed = spaces.changed("t1-1")
    spaces.end("t1-1", succeeded=True, now_s=NOW_S)

    # Then it was listed as far as a path can lead, and nothing is left of it
    assert changed == ["top"]
    assert list(tmp_path.iterdir()) == []


def _dig(path: Path, *, levels: int) -> None:
    place = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(levels):
        os.mkdir("deeper", dir_fd=place)
        below = os.open("deeper", os.O_RDONLY | os.O_DIRECTORY, dir_fd=place)
        os.close(place)
        place = below
    os.close(os.open("bottom", os.O_WRONLY | os.O_CREAT, dir_fd=place))
    os.close(place)


def test_what_is_no_plain_file_is_listed_and_removed_without_being_opened(tmp_path: Path) -> None:
    spaces = Workspaces(tmp_path, keep=Keep.NEVER)
    path = spaces.make("t1-1")
    spaces.begin("t1-1")
    os.mkfifo(path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path / "socket"))
    (path / "loop").symlink_to("loop")
    (path / "dangling").symlink_to("nowhere")
    assert spaces.changed("t1-1") == ["dangling", "loop", "pipe", "socket"]
    spaces.end("t1-1", succeeded=True, now_s=NOW_S)
    assert list(tmp_path.iterdir()) == []


def test_a_workspace_that_the_work_replaced_by_a_link_is_neither_listed_nor_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    spaces = Workspaces(tmp_path / "spaces", keep=Keep.NEVER)
    path = spaces.make("t1-1")
    spaces.begin("t1-1")
    path.rmdir()
    path.symlink_to(outside)
    assert spaces.changed("t1-1") == []
    spaces.end("t1-1", succeeded=True, now_s=NOW_S)
    assert list((tmp_path / "spaces").iterdir()) == []
    assert (outside / "file").exists()


def test_a_launch_that_failed_leaves_nothing_to_the_next_one(tmp_path: Path) -> None:
    spaces = Workspaces(tmp_path)
    (spaces.make("t1-1") / "left").touch()
    assert list(spaces.make("t1-1").iterdir()) == []


def test_agents_that_share_a_directory_leave_each_others_work_alone(tmp_path: Path) -> None:
    # Given two that keep nothing beyond what runs
    one, other = (Workspaces(tmp_path, keep=Keep.ALWAYS, kept_max=0) for _ in range(2))
    running = one.make("t1-1")

    # When the other one tidies up
    other.make("t2-1")
    other.end("t2-1", succeeded=True, now_s=0)

    # Then its own is gone and the first one's is not
    assert [entry.name for entry in tmp_path.iterdir()] == [running.name]
    one.end("t1-1", succeeded=True, now_s=0)
    assert list(tmp_path.iterdir()) == []
