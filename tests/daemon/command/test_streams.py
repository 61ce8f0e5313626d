"""Output as a log that people read."""

import pytest

from taskyard.daemon.command.streams import LINE_BYTES_MAX, Lines, Log, Tail, plain


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bplain\x1b=", "plain"),
        (" 10%\r 50%\r100%\r", "100%"),
        ("tab\tstays, bell\x07 goes\x00", "tab\tstays, bell goes"),
        ("\x9b31mred", "red"),
        ("\x1b[", ""),
    ],
)
def test_what_steers_terminals_is_taken_out(line: str, shown: str) -> None:
    assert plain(line) == shown


def test_lines_come_whole_however_they_are_cut() -> None:
    lines, told = Lines(), []
    for byte in "grüße\nzwei\nend".encode():
        told += lines.feed(bytes([byte]))
    assert told == ["grüße", "zwei"]
    assert lines.feed(b"", last=True) == ["end"]
    assert lines.feed(b"", last=True) == []


def test_bytes_that_are_no_text_are_marked() -> None:
    lines = Lines()
    assert lines.feed(b"a\xffb\n\xe2\x82") == ["a�b"]
    assert lines.feed(b"", last=True) == ["�"]


def test_a_line_without_an_end_is_told_once_and_cut() -> None:
    lines, told = Lines(), []
    for _ in range(100):
        told += lines.feed(b"x" * 4096)
    told += lines.feed(b"tail\nnext\n")
    assert len(told) == 2
    assert told[0].endswith("x [… the rest of this line is left out …]")
    assert len(told[0]) < LINE_BYTES_MAX + 100
    assert told[1] == "next"


def test_a_log_ends_with_a_line_that_says_so() -> None:
    log = Log(10)
    assert log.take(["1234"]) == "1234"
    assert log.take(["12", "345"]) == "12\n[… more than 10 bytes of log: the rest is left out …]"
    assert log.take(["more"]) == ""
    assert Log(10).take([]) == ""


def test_a_tail_is_the_last_bytes_and_knows_what_it_lost() -> None:
    tail = Tail(10)
    for number in range(100):
        tail.feed(b"%02d" % number)
    assert tail.read() == b"9596979899"
    assert tail.missed_bytes == 190
