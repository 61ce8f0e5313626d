"""What differs on a terminal: tables that fit, a line that changes."""

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from taskyard.cli import output
from tests.support.live import environment


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("COLUMNS", "24")
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def test_a_table_on_a_terminal_has_colour_and_fits_the_window(terminal: Terminal) -> None:
    with redirect_stdout(terminal):
        output.table(("REF", "STATUS", "TITLE"), [("T-1", "failed", "a [bold]long[/bold] title that does not fit")])
    shown = terminal.getvalue()
    assert "\x1b[31mfailed" in shown
    assert "[bold]" in shown, "markup of a task is not ours"
    assert "…" in shown
    assert shown.count("\n") == 2


def test_a_live_line_on_a_terminal_is_neutral_too(terminal: Terminal) -> None:
    with redirect_stderr(terminal), output.live() as show:
        show("T-1 running [red]40%[/red] \x07")
    assert "\x07" not in terminal.getvalue()


def test_an_answer_that_found_no_room_is_a_failure_with_a_reason() -> None:
    command = [sys.executable, "-m", "taskyard.cli", "--version"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment(PYTHONUNBUFFERED=""), check=False
        )
    assert (done.returncode, done.stderr) == (1, "taskyard: No space left on device\n")


def test_wide_letters_take_two_columns_and_accents_none() -> None:
    assert output.cells_of("a分析é") == 6
    assert output.cells_of("e\u0301") == 1
