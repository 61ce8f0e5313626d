"""What differs on a terminal: tables that fit, a line that changes."""

import io
from contextlib import redirect_stderr, redirect_stdout

import pytest

from taskyard.cli import output


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


def test_wide_letters_take_two_columns_and_accents_none() -> None:
    assert output.cells_of("a分析é") == 6
    assert output.cells_of("e\u0301") == 1
