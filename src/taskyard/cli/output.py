"""The one place that writes to the terminal.

Answers go to standard output, everything said about them to standard error, so that a pipe gets the answer
alone. All text passes `neutral` here, whether it needs it or not: a caller cannot forget. Tables have colour
and fit the window on a terminal, and are plain, whole and stable everywhere else.
"""

import sys
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

import msgspec

from taskyard.cli.neutral import neutral, neutral_json, one_line
from taskyard.sdk.standard_error import lead_to_nowhere, tell

if TYPE_CHECKING:
    from collections.abc import Iterator

GAP: Final = "  "

# How a status looks where there is colour; the words alone say it too.
STYLES: Final = {
    "completed": "green",
    "success": "green",
    "online": "green",
    "ok": "green",
    "running": "cyan",
    "busy": "cyan",
    "scheduled": "cyan",
    "blocked": "yellow",
    "draining": "yellow",
    "warning": "yellow",
    "critical": "red",
    "failed": "red",
    "timeout": "red",
    "permanently_failed": "red",
    "lost": "red",
    "open": "red",
    "half-open": "yellow",
    "closed": "green",
    "offline": "red",
    "cancelled": "dim",
    "skipped": "dim",
    "stale": "dim",
}


def say(text: str) -> None:
    """An answer, on standard output."""
    _write(sys.stdout, neutral(text))


def note(text: str) -> None:
    """About an answer, on standard error."""
    tell(_line(neutral(text)))


def answer(result: object) -> None:
    """What a task brought: text as it is, anything else as JSON."""
    if isinstance(result, str):
        say(result)
    else:
        say_json(result)


def say_json(value: object) -> None:
    """Indented for people; one document per call, and the same value to a program."""
    _write(sys.stdout, neutral_json(indented(value)))


def indented(value: object) -> str:
    """As JSON, for people."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def say_json_line(value: object) -> None:
    """One document per line, for what has no end."""
    _write(sys.stdout, neutral_json(msgspec.json.encode(value).decode()))


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    cells = [[one_line(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(map(cells_of, column)) for column in zip(*cells, strict=True)]
    padded = [[cell + " " * (width - cells_of(cell)) for cell, width in zip(row, widths, strict=True)] for row in cells]
    if sys.stdout.isatty():
        _coloured(padded)
    else:
        _write(sys.stdout, "\n".join(GAP.join(row).rstrip() for row in padded))


@contextmanager
def live() -> "Iterator[Callable[[str], None]]":
    """A line on standard error that changes; where there is no terminal, a line per change."""
    if not sys.stderr.isatty():
        yield note
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status("") as status:
        yield lambda text: status.update(Text(one_line(text)))


def _coloured(rows: Sequence[Sequence[str]]) -> None:
    """The same table; a window that is too narrow cuts its last column."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for number, row in enumerate(rows):
        styles = ["bold" if number == 0 else STYLES.get(cell.partition(" ")[0], "") for cell in row]
        line = Text(GAP).join(Text(cell, style) for cell, style in zip(row, styles, strict=True))
        line.rstrip()
        console.print(line, no_wrap=True, overflow="ellipsis")


def cells_of(text: str) -> int:
    """How many columns a terminal gives to a text: East Asian letters take two, accents none."""
    return sum(
        0 if unicodedata.combining(character) else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(_line(text))
        stream.flush()
    except OSError:
        # The answer is lost, and the exit code says so; what is left of it must not be tried again at the exit.
        lead_to_nowhere(stream)
        raise


def _line(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"
