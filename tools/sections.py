"""The sections of the test suite: how each is run, what its coverage is measured of, and how long it may take.

The budgets stand in `tests/README.md`, where people read them; `tests/tidy` adds them up.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

ROOT: Final = Path(__file__).resolve().parent.parent
TESTS: Final = ROOT / "tests"
BUDGETS: Final = TESTS / "README.md"

CORES: Final = 2
"""Processes of a section that computes."""
WAITERS: Final = 6
"""Processes of a section that mostly waits: for processes to start, leases to end, pages to be drawn."""


class Section(Struct, frozen=True):
    name: str
    processes: int = CORES
    measured: tuple[str, ...] = ()
    """The packages whose coverage it is measured for: those whose rules it tests."""
    command: tuple[str, ...] = ()
    """What runs instead of pytest."""
    is_quick: bool = False

    @property
    def sources(self) -> str:
        return ",".join(f"src/taskyard/{package}" for package in self.measured)


# Cheapest first, so that a mistake shows early.
SECTIONS: Final = (
    Section("check", processes=1, command=("make", "check")),
    Section("web", processes=1, command=("python", "-m", "tools.web", "test")),
    Section("wire", measured=("wire",), is_quick=True),
    Section("chat", measured=("chat",), is_quick=True),
    Section("core", measured=("core", "vocabulary"), is_quick=True),
    Section("store", processes=4, measured=("store", "files"), is_quick=True),
    Section("hub", processes=4, measured=("hub",), is_quick=True),
    # Most shapes of requests and answers are seen only where something is decoded into them.
    Section("gateway", processes=4, measured=("gateway", "mcp", "wire"), is_quick=True),
    Section("daemon", processes=WAITERS, measured=("daemon",), is_quick=True),
    Section("sdk", measured=("sdk",), is_quick=True),
    Section("cli", processes=4, measured=("cli", "mcp"), is_quick=True),
    Section("seeds"),
    Section("simulation"),
    Section("acceptance", processes=WAITERS),
    Section("dashboard", processes=4),
)
# `make check` runs tidy; support has no tests of its own.
_ELSEWHERE: Final = frozenset({"tidy", "support"})

# The least percentage of lines and branches that a package's own section visits.
GATES: Final[Mapping[str, tuple[int, Sequence[str]]]] = {
    "core and words": (100, ("core", "vocabulary")),
    "wire": (100, ("wire",)),
    "chat": (100, ("chat",)),
    "store": (90, ("store", "files")),
    "shells": (90, ("hub", "gateway", "mcp", "daemon", "sdk", "cli")),
}

_BUDGET: Final = re.compile(r"^\| `(\w+)` \| (\d+) \|", re.MULTILINE)


def sections() -> Iterator[Section]:
    """Every section, in order. A directory with tests that nobody listed is one too, so none can be forgotten."""
    yield from SECTIONS
    found = {path.relative_to(TESTS).parts[0] for path in TESTS.glob("*/**/test_*.py")}
    listed = {section.name for section in SECTIONS}
    yield from (Section(name) for name in sorted(found - listed - _ELSEWHERE))


def budgets() -> dict[str, int]:
    """Seconds that each section may take on two cores."""
    return {name: int(seconds) for name, seconds in _BUDGET.findall(BUDGETS.read_text())}
