"""The newest output in a file of bounded size."""

import os
import threading
from pathlib import Path

from taskyard.daemon.process.ring import HEAD, RingReader, RingWriter


def test_what_is_read_in_time_is_read_whole(tmp_path: Path) -> None:
    writer, reader = RingWriter(tmp_path / "ring", 10), RingReader(tmp_path / "ring")
    for text in (b"abcdef", b"ghijkl", b"m"):
        writer.write(text)
        assert reader.read(100) == (text, 0)
    assert reader.read(100) == (b"", 0)
    assert (tmp_path / "ring").stat().st_size == HEAD.size + 10
    writer.close()
    reader.close()


def test_who_comes_late_gets_the_newest_and_hears_how_much_is_gone(tmp_path: Path) -> None:
    writer, reader = RingWriter(tmp_path / "ring", 10), RingReader(tmp_path / "ring")
    for text in (b"0123456789", b"abcdef"):
        writer.write(text)
    assert reader.read(4) == (b"6789", 6)
    assert reader.read(100) == (b"abcdef", 0)
    writer.close()
    reader.close()


def test_a_file_that_was_made_this_moment_is_empty(tmp_path: Path) -> None:
    (tmp_path / "ring").touch()
    reader = RingReader(tmp_path / "ring")
    assert reader.read(100) == (b"", 0)
    reader.close()


def test_what_is_overwritten_while_it_is_read_is_not_taken_for_what_was_there(tmp_path: Path) -> None:
    # Given a writer that never waits: every number, as eight bytes, so that a torn one shows.
    writer, reader = RingWriter(tmp_path / "ring", 4096), RingReader(tmp_path / "ring")
    numbers = 100_000
    writing = threading.Thread(
        target=lambda: [
            writer.write(b"".join(b"%08d" % n for n in range(at, at + 100))) for at in range(0, numbers, 100)
        ]
    )
    writing.start()
    # When somebody reads as fast as it can
    read = b""
    place = 0
    while place < numbers * 8:
        data, missed = reader.read(65536)
        place += missed
        if missed:
            read = b""
        # Then each byte is the one of its place.
        for byte, expected in zip(data, _expected(place, len(data)), strict=True):
            assert byte == expected
        place += len(data)
        read += data
    writing.join()
    assert read.endswith(b"%08d" % (numbers - 1))
    writer.close()
    reader.close()


def _expected(place: int, count: int) -> bytes:
    first, last = place // 8, (place + count) // 8 + 1
    return b"".join(b"%08d" % number for number in range(first, last))[place % 8 : place % 8 + count]


def test_a_full_disk_costs_output_and_nothing_else(tmp_path: Path) -> None:
    writer = RingWriter(tmp_path / "ring", 10)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, writer._file)
    writer.write(b"lost")
    os.close(full)
    writer.close()
