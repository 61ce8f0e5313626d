"""A spool against the ways in which a process and a disk can end: what was promised is there, once and in order."""

import contextlib
import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskyard.sdk.shelf import SpoolShelf
from taskyard.sdk.spool import BufferFull, Place, Spool, SpoolBusy

SMALL = 200
"""Bytes of a segment: a few tasks."""


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Spool]]:
    """Opens the same spool again and again, as one life after another does."""
    lives: list[Spool] = []

    def open_again(**options: Any) -> Spool:
        for life in lives:
            life.close()
        lives.append(Spool(tmp_path / "spool", **{"segment_bytes": SMALL, **options}))
        return lives[-1]

    yield open_again
    for life in lives:
        life.close()


def tasks(*names: str) -> list[dict[str, str]]:
    return [{"input": name} for name in names]


def taken(spool: Spool, count: int = 100) -> list[str]:
    return [task["input"] for _, task in spool.take(count)]


def test_what_was_appended_comes_out_in_its_order(opened: Callable[..., Spool]) -> None:
    spool = opened()
    spool.append(tasks("a", "b"))
    assert taken(spool, 1) == ["a"]
    spool.append(tasks("c"))
    assert (taken(spool), taken(spool), len(spool)) == (["b", "c"], [], 3)


def test_the_next_life_has_what_is_not_done_and_nothing_else(opened: Callable[..., Spool]) -> None:
    spool = opened()
    spool.append(tasks(*"abcd"))
    places = [place for place, _ in spool.take(4)]
    spool.settle([places[0], places[2]])
    assert taken(opened()) == ["b", "d"]
    spool = opened()
    spool.append(tasks("e"))
    assert taken(spool) == ["b", "d", "e"]


def test_what_is_done_takes_no_room(opened: Callable[..., Spool], tmp_path: Path) -> None:
    spool = opened()
    for number in range(100):
        spool.append(tasks(f"task {number}"))
        if number % 10 == 9:
            spool.settle([place for place, _ in spool.take(10)])
    assert len(spool) == 0
    assert sum(path.stat().st_size for path in (tmp_path / "spool").iterdir()) < 3 * SMALL
    assert taken(opened()) == []
    assert [path.name for path in (tmp_path / "spool").iterdir()] == ["lock"]


def test_it_has_an_end_and_room_again_afterwards(opened: Callable[..., Spool]) -> None:
    spool = opened(bytes_max=2 * SMALL)
    with contextlib.suppress(BufferFull):
        for _ in range(100):
            spool.append(tasks("a"))
    count = len(spool)
    assert 5 < count < 40
    spool.settle([place for place, _ in spool.take(count)])
    spool.append(tasks("b"))
    assert len(spool) == 1


def test_a_line_that_a_crash_cut_off_was_never_promised(opened: Callable[..., Spool], tmp_path: Path) -> None:
    opened().append(tasks("a", "b"))
    segment = next((tmp_path / "spool").glob("*.tasks"))
    segment.write_bytes(segment.read_bytes()[:-3])
    spool = opened()
    assert (len(spool), taken(spool)) == (1, ["a"])
    spool.append(tasks("c"))
    assert taken(opened()) == ["a", "c"]


def test_a_line_that_the_disk_lost_takes_no_other_with_it(
    opened: Callable[..., Spool], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened().append(tasks("a", "b", "c"))
    segment = next((tmp_path / "spool").glob("*.tasks"))
    segment.write_bytes(segment.read_bytes().replace(b'"b"', b'"x"'))
    spool = opened()
    assert (len(spool), taken(spool)) == (2, ["a", "c"])
    assert "not whole" in caplog.text


def test_numbers_without_their_tasks_say_nothing_of_later_ones(opened: Callable[..., Spool], tmp_path: Path) -> None:
    # Given a crash between the removal of a segment's tasks and of its numbers
    spool = opened()
    spool.append(tasks("a"))
    spool.settle([place for place, _ in spool.take(1)])
    numbers = next((tmp_path / "spool").glob("*.done"))
    written = numbers.read_bytes()
    spool.close()
    numbers.write_bytes(written)

    # When a later life takes up the same number
    spool = opened()
    spool.append(tasks("b"))

    # Then what it was given is not done
    assert taken(opened()) == ["b"]


def test_one_spool_has_one_engine(opened: Callable[..., Spool], tmp_path: Path) -> None:
    opened()
    program = f"from taskyard.sdk.spool import Spool; Spool({str(tmp_path / 'spool')!r})"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "SpoolBusy" in other.stderr
    with pytest.raises(SpoolBusy):
        Spool(tmp_path / "spool")


def test_nobody_else_reads_what_is_in_it(opened: Callable[..., Spool], tmp_path: Path) -> None:
    spool = opened()
    spool.append(tasks("a secret", "another"))
    spool.settle([spool.take(1)[0][0]])
    made = [tmp_path / "spool", *(tmp_path / "spool").iterdir()]
    assert len(made) == 4
    assert [path.name for path in made if path.stat().st_mode & 0o077] == []


def test_what_is_no_file_of_its_own_is_passed_over_and_waits_for_nobody(
    opened: Callable[..., Spool], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "spool").mkdir()
    os.mkfifo(tmp_path / "spool" / "0000000001.tasks")
    (tmp_path / "spool" / "notes.tasks").write_text("mine")
    (tmp_path / "spool" / "notes.done").write_text("mine")
    spool = opened()
    spool.append(tasks("a"))
    assert [task for _, task in spool.take(2)] == tasks("a")
    assert "0000000001.tasks" in caplog.text
    assert (tmp_path / "spool" / "notes.done").exists()


def test_a_lock_that_is_no_file_is_told(opened: Callable[..., Spool], tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    os.mkfifo(tmp_path / "spool" / "lock")
    with pytest.raises(FileExistsError, match="in the way"):
        opened()


class FullDisk:
    """Stands in for `os.fsync`, and fails while told to."""

    def __init__(self) -> None:
        self.is_full = False
        self._fsync = os.fsync

    def __call__(self, handle: int) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, "no space left")
        self._fsync(handle)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    full = FullDisk()
    monkeypatch.setattr(os, "fsync", full)
    return full


def test_what_the_disk_did_not_take_is_told_and_is_not_there(opened: Callable[..., Spool], disk: FullDisk) -> None:
    spool = opened(segment_bytes=10_000)
    spool.append(tasks("a"))
    disk.is_full = True
    with pytest.raises(OSError, match="no space"):
        spool.append(tasks("b"))
    disk.is_full = False
    spool.append(tasks("c"))
    assert (taken(spool), len(spool)) == (["a", "c"], 2)
    assert taken(opened()) == ["a", "c"]


def test_what_could_not_be_written_down_as_done_is_sent_again(opened: Callable[..., Spool], disk: FullDisk) -> None:
    shelf = SpoolShelf(opened())
    shelf.add([{"input": "a"}, {"input": "b"}])
    batch = shelf.take(2)
    disk.is_full = True
    with pytest.raises(OSError, match="no space"):
        shelf.settle([])
    disk.is_full = False
    assert shelf.take(2) == batch
    shelf.settle([])
    assert taken(opened()) == []


Step = tuple[str, int]
STEPS = st.lists(st.tuples(st.sampled_from(["append", "take", "settle", "crash"]), st.integers(1, 5)), max_size=40)


@settings(deadline=None)
@given(STEPS)
def test_whatever_happens_each_task_that_is_not_done_comes_again_in_its_order(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    directory = tmp_path_factory.mktemp("spool")
    spool = Spool(directory, segment_bytes=SMALL)
    given_names: list[str] = []
    done: set[str] = set()
    out: list[tuple[Place, str]] = []
    for step, count in steps:
        if step == "append":
            names = [f"task {len(given_names) + number}" for number in range(count)]
            spool.append(tasks(*names))
            given_names += names
        elif step == "take":
            out += [(place, task["input"]) for place, task in spool.take(count)]
        elif step == "settle":
            spool.settle([place for place, _ in out[:count]])
            done |= {name for _, name in out[:count]}
            out = out[count:]
        else:
            spool.close()
            spool, out = Spool(directory, segment_bytes=SMALL), []
        assert len(spool) == len(given_names) - len(done)
    spool.close()
    spool = Spool(directory, segment_bytes=SMALL)
    assert taken(spool, 1000) == [name for name in given_names if name not in done]
    spool.close()
