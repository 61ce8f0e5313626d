"""What keeps the code readable and no linter knows: sizes, names, and the things that must agree.

Each rule is one test and says in its failure what to do. None has a list of exceptions.
"""

import ast
import functools
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = ROOT / "src" / "taskyard"
CORE: Final = PACKAGE / "core"
STORE: Final = PACKAGE / "store"

MODULE_LINES_MAX: Final = 600
MODULE_LINES_WISHED: Final = 400
FUNCTION_LINES_MAX: Final = 70

# Names that say nothing about what a module decides.
EMPTY_NAMES: Final = frozenset({"base", "common", "helpers", "manager", "misc", "util", "utils"})

# Versions below these have a known hole or lose data.
FLOORS: Final = {"pyjwt": "2.13", "apsw": "3.51.3"}

# Assembled, so that this file does not contain what it looks for.
MACHINE_PATHS: Final = re.compile(
    r"(?<![\w.~-])/(?:wo" r"rk|ro" r"ot|ho" r"me/\w+|opt/(?:py" r"pi|whe" r"els))(?![\w-])"
)
REGISTRY_HOSTS: Final = re.compile(
    r"\b(?:pyp"
    r"i\.org|pythonho"
    r"sted\.org|npm"
    r"js\.(?:org|com)|(?:gh"
    r"cr|qu"
    r"ay)\.io)"
)

SQL: Final = re.compile(
    r"^\s*(?:SELECT\s.+\sFROM|UPDATE\s+\w+\s+SET|WITH\s+\w+\s+AS\s*\()\b"
    r"|\b(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|DELETE\s+FROM|(?:CREATE|DROP|ALTER)\s+(?:TABLE|INDEX|VIEW|TRIGGER))\s"
    r"|^\s*(?:PRAGMA\s+\w+|BEGIN\s+IMMEDIATE)\b",
    re.IGNORECASE | re.DOTALL,
)


def modules(*directories: Path) -> list[Path]:
    return sorted(path for directory in directories for path in directory.rglob("*.py"))


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@functools.cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=named(path))


def lines_of(path: Path) -> int:
    return len(path.read_text().splitlines())


def tracked_files() -> list[Path]:
    """Every file of the repository; without git (an unpacked archive) there is nothing to look at."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    return [path for name in listing.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def texts(paths: Iterable[Path]) -> Iterator[tuple[Path, int, str]]:
    """Each line of each text file, with its number."""
    for path in paths:
        content = path.read_bytes()
        if b"\0" in content:
            continue
        for number, line in enumerate(content.decode(errors="replace").splitlines(), start=1):
            yield path, number, line


# --- sizes and names ---------------------------------------------------------------------------------------


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    long = {named(path): lines for path in modules(PACKAGE) if (lines := lines_of(path)) > MODULE_LINES_MAX}
    assert not long, f"split by decision, at most {MODULE_LINES_MAX} lines: {long}"


def test_modules_over_the_wished_length_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    long = {named(path): lines for path in modules(PACKAGE) if (lines := lines_of(path)) > MODULE_LINES_WISHED}
    with capsys.disabled():
        for name, lines in sorted(long.items(), key=lambda entry: -entry[1]):
            print(f"\n  {name} has {lines} lines; {MODULE_LINES_WISHED} is the aim", end="")


def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        f"{named(path)}:{node.lineno} {node.name} ({lines} lines)"
        for path in modules(PACKAGE, ROOT / "tools")
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert not long, f"at most {FUNCTION_LINES_MAX} lines: {long}"


def test_every_module_is_named_for_what_it_decides() -> None:
    empty = [
        named(path)
        for path in modules(PACKAGE, ROOT / "tests", ROOT / "tools")
        if {path.stem, *path.relative_to(ROOT).parts[:-1]} & EMPTY_NAMES
    ]
    assert not empty, f"put it beside its one user, or name the idea: {empty}"


def test_every_todo_names_its_issue() -> None:
    loose = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b(?!\(#\d+\): )")
    found = [
        f"{named(path)}:{number}"
        for path, number, line in texts(modules(PACKAGE, ROOT / "tests", ROOT / "tools", ROOT / "bench"))
        if path != Path(__file__) and loose.search(line)
    ]
    assert not found, f"write TODO(#issue): …, or do it now: {found}"


# --- purity ------------------------------------------------------------------------------------------------


def is_set(node: ast.expr) -> bool:
    """Whether an expression is plainly a set, whose order differs from one process to the next."""
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.Call(func=ast.Attribute(attr="union" | "intersection" | "difference" | "symmetric_difference")):
            return True
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor(), right=right):
            return is_set(left) or is_set(right)
        case _:
            return False


def test_the_core_never_walks_a_set() -> None:
    """Types know more sets than this sees; the simulator's digest over hash seeds catches the others."""
    walks = [
        f"{named(path)}:{walked.lineno}"
        for path in modules(CORE)
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.For | ast.comprehension) and is_set(walked := node.iter)
    ]
    assert not walks, f"sort it, or keep a dict: {walks}"


def test_the_core_never_asks_for_a_hash() -> None:
    """`id` is another matter: as the key of a dict it says "this very one", and decides no order."""
    calls = [
        f"{named(path)}:{node.lineno}"
        for path in modules(CORE)
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hash"
    ]
    assert not calls, f"strings hash differently in each process: {calls}"


def test_nothing_in_the_core_is_excused_from_coverage() -> None:
    excused = [
        f"{named(path)}:{number}"
        for path, number, line in texts(modules(CORE))
        if re.search(r"pragma:\s*no\s+(?:cover|branch)", line)
    ]
    assert not excused, f"test it or remove it: {excused}"


def decides(path: Path) -> bool:
    """Whether a module has a function; records alone have nothing to test but themselves."""
    return any(isinstance(node, ast.FunctionDef) for node in ast.walk(syntax(path)))


def test_every_core_module_that_decides_has_tests_of_its_own() -> None:
    missing = [
        named(path)
        for path in modules(CORE)
        if decides(path) and not (ROOT / "tests" / "core" / f"test_{path.stem}.py").exists()
    ]
    assert not missing, f"write tests/core/test_<name>.py for: {missing}"


# --- SQL ---------------------------------------------------------------------------------------------------


def docstrings(tree: ast.Module) -> set[int]:
    """The nodes that are documentation, by identity."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, owners) and node.body and isinstance(node.body[0], ast.Expr)
    }


def test_sql_is_only_in_the_store() -> None:
    found = []
    for path in modules(PACKAGE):
        if path.is_relative_to(STORE):
            continue
        tree = syntax(path)
        prose = docstrings(tree)
        found += [
            f"{named(path)}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in prose
            and SQL.search(node.value)
        ]
    assert not found, f"name it in statements.sql and reach it through the port: {found}"


def statement_names(file: Path) -> list[str]:
    """A statement begins with a comment line that holds its name alone."""
    return re.findall(r"^-- ([a-z][a-z0-9_]*)$", file.read_text(), flags=re.MULTILINE)


STATEMENT_FILES: Final = sorted(STORE.glob("*/*.sql"))


@pytest.mark.parametrize("file", STATEMENT_FILES, ids=named)
def test_every_statement_is_used_exactly_once(file: Path) -> None:
    names = statement_names(file)
    assert names, f"{named(file)} names no statement"
    assert not [name for name, times in Counter(names).items() if times > 1], "a statement has two definitions"
    uses: Counter[str] = Counter()
    for path in modules(file.parent):
        for node in ast.walk(syntax(path)):
            match node:
                case ast.Attribute(attr=str(name)) | ast.Constant(value=str(name)):
                    uses[name] += 1
                case _:
                    pass
    wrong = {name: uses[name] for name in names if uses[name] != 1}
    assert not wrong, f"each statement has one caller: {wrong}"


def test_all_engines_name_the_same_statements() -> None:
    """What only one engine has is in its `own.sql`."""
    by_engine = {file.parent.name: set(statement_names(file)) for file in STORE.glob("*/statements.sql")}
    everything = set().union(*by_engine.values())
    missing = {engine: sorted(everything - names) for engine, names in by_engine.items() if everything - names}
    assert not missing, f"one operation has one name in every engine: {missing}"


# --- things that must agree --------------------------------------------------------------------------------


def test_every_refusal_has_a_problem() -> None:
    vocabulary = pytest.importorskip("taskyard.vocabulary")
    problems = pytest.importorskip("taskyard.wire.problems")
    missing = [refusal.name for refusal in vocabulary.Refusal if refusal not in problems.PROBLEMS]
    assert not missing, f"give each a row in wire/problems.py: {missing}"


def test_the_page_about_the_lifecycle_is_the_table() -> None:
    pytest.importorskip("taskyard.core.lifecycle")
    from tools import lifecycle_page

    assert lifecycle_page.PAGE.read_text() == lifecycle_page.page(), "run make docs"


def test_no_file_tells_of_the_machine_it_was_written_on() -> None:
    found = [
        f"{named(path)}:{number}"
        for path, number, line in texts(tracked_files())
        if MACHINE_PATHS.search(line) or REGISTRY_HOSTS.search(line)
    ]
    assert not found, f"a path or a host of one machine means nothing on another: {found}"


# --- dependencies ------------------------------------------------------------------------------------------


def constraints() -> dict[str, Version]:
    """What make installs, by name in lower case."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = (Requirement(line) for line in lines if line and not line.startswith("#"))
    return {
        requirement.name.lower().replace("_", "-"): Version(next(iter(requirement.specifier)).version)
        for requirement in pinned
    }


def test_no_dependency_is_older_than_its_known_holes() -> None:
    installed = constraints()
    old = {name: str(installed[name]) for name, floor in FLOORS.items() if installed[name] < Version(floor)}
    assert not old, f"run make lock: {old}"


def test_every_dependency_is_held_to_a_tested_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    installed = constraints()
    missing = [name for entry in wanted if (name := Requirement(entry).name.lower()) not in installed]
    assert not missing, f"run make lock: {missing}"
    wrong = [entry for entry in map(Requirement, wanted) if not entry.specifier.contains(installed[entry.name.lower()])]
    assert not wrong, f"constraints.txt and pyproject.toml disagree: {wrong}"
