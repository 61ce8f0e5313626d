"""The table of the source documents' mistakes names tests; each has to be there."""

import ast
import functools
import re
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).resolve().parents[1]
PAGE: Final = TESTS / "seeds" / "README.md"
LINE_CHARS_MAX: Final = 150
TEST: Final = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
LATER: Final = "comes with "


@functools.cache
def names_in(file: str) -> frozenset[str]:
    path = TESTS / file
    nodes = ast.walk(ast.parse(path.read_text())) if path.exists() else ()
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_test_that_the_table_of_mistakes_names_exists() -> None:
    named = TEST.findall(PAGE.read_text())
    assert named
    missing = [f"{file}::{name}" for file, name in named if name not in names_in(file)]
    assert not missing, "renamed or removed: say in tests/seeds/README.md which test it is now"


def test_every_mistake_has_a_test_or_says_what_it_comes_with() -> None:
    rows: dict[str, str] = {}
    label = ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("| ") and not line.startswith("| row "):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            label = cells[0] or label
            rows[label] = rows.get(label, "") + cells[-1]
    assert rows
    assert [label for label, tests in rows.items() if not TEST.search(tests) and LATER not in tests] == []


def test_every_line_of_the_table_fits_a_window() -> None:
    lines = enumerate(PAGE.read_text().splitlines(), 1)
    assert [number for number, line in lines if len(line) > LINE_CHARS_MAX] == []
