"""The invariants have one numbering: in the code, in the checks, and on the page about the core."""

import ast
import re
from pathlib import Path

from tests.support import invariants

CORE = Path(__file__).resolve().parents[2] / "src" / "taskyard" / "core"
NUMBERED = re.compile(r"I(\d): (.+)")


def asserted() -> set[tuple[str, str]]:
    return {
        found.groups()  # type: ignore[misc]
        for path in CORE.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (found := NUMBERED.match(node.value))
    }


def test_every_assertion_of_the_code_is_on_the_page_under_its_number() -> None:
    rows = dict(re.findall(r"^\| I(\d) \| [^|\"]+ \| ([^|]*) \|", (CORE / "README.md").read_text(), flags=re.MULTILINE))
    missing = [f"I{number}: {text}" for number, text in asserted() if f'"{text}"' not in rows.get(number, "")]
    assert not missing
    listed = {(number, text) for number, cell in rows.items() for text in re.findall(r'"([^"]+)"', cell)}
    assert listed == asserted()


def test_every_number_is_asserted_and_recomputed() -> None:
    numbers = {number for number, _ in asserted()}
    assert numbers == set("123456789")
    assert {check.__name__[1] for check in invariants.CHECKS} == numbers


def test_the_page_names_every_file_of_the_core() -> None:
    page = (CORE / "README.md").read_text()
    files = {path.name for path in CORE.glob("*.py")} - {"__init__.py"}
    assert {name for name in files if f"`{name}`" not in page and f"({name})" not in page} == set()
