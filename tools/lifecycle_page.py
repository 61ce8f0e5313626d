"""Writes docs/lifecycle.md from the transition table, so that the page cannot say something else.

`tests/tidy` fails while the page and the table differ; `make docs` writes it again.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from taskyard.core.lifecycle import BEGINNINGS, EVENT_OF, TRANSITIONS

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "lifecycle.md"


def page() -> str:
    return "\n".join(lines()) + "\n"


def lines() -> Iterator[str]:
    yield "# The life of a task"
    yield ""
    yield "Made by `make docs` from the table in `src/taskyard/core/lifecycle.py`; change it there."
    yield ""
    yield f"A task begins as one of {listed(BEGINNINGS)}. It then moves only as the table says."
    yield ""
    yield "| status | event when it is reached | leads to |"
    yield "|---|---|---|"
    for status, following in TRANSITIONS.items():
        yield f"| `{status}` | `{EVENT_OF[status]}` | {listed(following) or 'nothing: it has ended'} |"
    yield ""
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield from (f"    [*] --> {status}" for status in BEGINNINGS)
    yield from (f"    {status} --> {after}" for status, following in TRANSITIONS.items() for after in following)
    yield from (f"    {status} --> [*]" for status, following in TRANSITIONS.items() if not following)
    yield "```"


def listed(statuses: tuple[str, ...]) -> str:
    return ", ".join(f"`{status}`" for status in statuses)


if __name__ == "__main__":
    PAGE.write_text(page())
