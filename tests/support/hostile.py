"""Hostile children from outside: how to start them, and which of them are still there."""

import sys
from pathlib import Path
from typing import Final

from taskyard.daemon.process import tree
from tests.support.hostile_child import KINDS as _KINDS
from tests.support.hostile_child import MAY_END as _MAY_END
from tests.support.live import wait_until

KINDS: Final = tuple(_KINDS)
GONE_S: Final = 5.0
PROGRAM: Final = Path(__file__).with_name("hostile_child.py")


def command(kind: str, roll: Path) -> list[str]:
    return [sys.executable, "-I", "-S", str(PROGRAM), kind, str(roll)]


def enrolled(roll: Path) -> list[tree.Identity]:
    if not roll.exists():
        return []
    lines = [line.split() for line in roll.read_text().splitlines()]
    return [tree.Identity(int(pid), int(started)) for pid, started in lines]


def survivors(roll: Path) -> list[int]:
    return [one.pid for one in enrolled(roll) if tree.identify(one.pid) == one]


def let_end(rolls: Path) -> None:
    """Those that rest."""
    (rolls / _MAY_END).touch()


def wait_begun(roll: Path, within_s: float = 20.0) -> None:
    wait_until(lambda: enrolled(roll), within_s=within_s, what=f"work that wrote {roll.name}")


def wait_gone(roll: Path, within_s: float = GONE_S) -> None:
    """Raises `TooLate` if anybody is left."""
    wait_until(lambda: not survivors(roll), within_s=within_s, what=f"the end of all in {roll.name}")
