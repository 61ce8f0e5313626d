"""What a script's first line asks for. Where that is missing, the system says that the script is."""

import shutil
from pathlib import Path
from typing import Final

LINE_BYTES_MAX: Final = 256
# Of a first line the system reads no more.


def lack_of(program: str) -> str | None:
    """What a script asks for in its first line and cannot have; None: nothing, or it is no script that can be read."""
    path = shutil.which(program)
    name = "" if path is None else _interpreter(_first_line(Path(path)))
    if not name or shutil.which(name) is not None:
        return None
    if name.endswith("\r"):
        return f"its first line asks for {name!r}: save it with the line ends of Unix, without a carriage return"
    return f"its first line asks for {name}, which is not a program on this machine: install that, or correct the line"


def _first_line(path: Path) -> str:
    """Without its mark; empty if it has none."""
    try:
        with path.open("rb") as file:
            head = file.read(LINE_BYTES_MAX)
    except OSError:
        return ""
    return head[2:].split(b"\n")[0].decode(errors="replace") if head.startswith(b"#!") else ""


def _interpreter(line: str) -> str:
    """Of `/usr/bin/env -S python3 -u` it is `python3`."""
    # A carriage return is no space here: the system takes it for a part of the name.
    first, *others = line.replace("\t", " ").strip(" ").split(" ")
    if Path(first).name != "env":
        return first
    named = (word for word in others if word and not word.startswith("-") and "=" not in word)
    return next(named, first)
