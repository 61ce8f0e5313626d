"""Count the lines of code per directory: blank lines, comments and docstrings are left out.

`python -m tools.lines` counts this tree; `python -m tools.lines --since REV` tells how each differs from that commit.
"""

import argparse
import ast
import io
import subprocess
import sys
import tarfile
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tools.sections import ROOT

COUNTED: Final = ("src", "tests", "bench", "tools")
_NO_CODE: Final = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.lines", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--since", metavar="REV", help="a commit to compare with")
    asked = parser.parse_args(arguments)
    now = count(None)
    before = count(asked.since) if asked.since else now
    for name in COUNTED:
        print(f"{name:<6} {now[name]:7,}" + (f"  {now[name] - before[name]:+7,}" if asked.since else ""))
    return 0


def count(rev: str | None) -> Counter[str]:
    """Lines of code of each directory, at a commit or, without one, in the working tree."""
    lines: Counter[str] = Counter()
    for path, text in sources(rev):
        lines[path.partition("/")[0]] += code_lines(text)
    return lines


def sources(rev: str | None) -> Iterator[tuple[str, str]]:
    """Path and text of every Python file that git tracks, or would."""
    if rev is None:
        listed = git("ls-files", "--cached", "--others", "--exclude-standard", *COUNTED).decode().splitlines()
        for path in listed:
            if path.endswith(".py") and (ROOT / path).exists():
                yield path, (ROOT / path).read_text()
        return
    with tarfile.open(fileobj=io.BytesIO(git("archive", rev, *COUNTED))) as archive:
        for member in archive:
            if member.name.endswith(".py") and (file := archive.extractfile(member)):
                yield member.name, file.read().decode()


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout


def code_lines(text: str) -> int:
    """How many lines hold code."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - set(docstring_lines(ast.parse(text))))


def docstring_lines(tree: ast.AST) -> Iterator[int]:
    """Strings that stand alone document a module, a class, a function, or the field above them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
