"""Writes docs/why.md from the table of sentences, so that the page cannot say something else.

`tests/tidy` fails while the page and the table differ; `make docs` writes it again.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from taskyard.core.sentences import SENTENCES, SHORTFALLS

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "why.md"
BLANK: Final = re.compile(r"\{(\w+)\}")

# What a blank stands for, where its name does not say it.
SHOWN: Final = {
    "a_next": "a fourth",
    "or_finish": ", or T-038 finishing (about 2 min)",
    "finish": "T-038 finishing (about 2 min)",
    "plan": " of plan pro",
    "where": "",
    "before": "",
    "because": " (the wrong branch)",
    "sooner": "an earlier `scheduled_for`; once it was tried, trying it at once (`taskyard retry T-042`), "
    "and after a rate limit only waiting",
    "tasks": "T-038",
    "ways": "retrying T-038 (permanently_failed), which frees 3 tasks; or skipping or cancelling this task",
    "higher": "a higher priority",
    "or_higher": "a higher priority, or ",
    "or_critical": "priority `critical`, ",
    "used": "3",
    "limit": "3",
    "ahead": "3 of your tasks of its queue go",
    "alone": "",
    "until": "14:02:00 UTC",
    "since": "14:02:00 UTC",
    "misfits": "none of the daemons you may use has ever offered browser",
    "qualify": "mac-2 would qualify if it had browser",
    "servers": "the only daemon that could run it is mac-1 (full: 5 of 5)",
    "rescue": "T-038 finishing (about 2 min); mac-2 would qualify if it had browser",
    "missing": "browser",
    "active": "5",
    "slots": "5",
    "free_mb": "512",
    "needed_mb": "4096",
    "target": "mac-1",
    "held": "kept for another task",
}

HEAD: Final = """\
# Why is my task not running?

Made by `make docs` from the table in `src/taskyard/core/sentences.py`; change it there.

```sh
taskyard why T-042
taskyard why --daemon mac-2
taskyard status
```

The same is `GET /api/v1/tasks/{id}/why`, and for all of one's tasks together `GET /api/v1/why`. The answer names
*everything* that holds the task now, the most important first, each with its numbers, with its end if that
is known, and with what would help. "It would start now with …" is said only where that is so: one thing alone is in the
way, and nobody else waits for the same. Then come the daemons that were considered, one's own and the shared ones, with
all that speaks against each. The position counts among one's own ready tasks of the queue; the estimated start follows
from how long such tasks took lately, and is null where only a person can change something.

For an ended task the answer says how it ended and what was tried.

## Reasons

In the order in which they are told; `T-038`, `mac-2` and the numbers are examples.

| code | says | would help |
|---|---|---|"""


def page() -> str:
    return "\n".join(lines()) + "\n"


def lines() -> Iterator[str]:
    yield HEAD
    for reason, sentence in SENTENCES.items():
        says = "; or: ".join(shown(each) for each in (sentence.says, sentence.uncounted) if each)
        yield f"| `{reason}` | {sentence.lead}: {says} | {shown(sentence.helps) or 'waiting'} |"
    yield ""
    yield "## What a daemon lacks"
    yield ""
    yield "| code | says | it would qualify if |"
    yield "|---|---|---|"
    for lack, shortfall in SHORTFALLS.items():
        yield f"| `{lack}` | {shown(shortfall.says)} | {shown(shortfall.would)} |"


def shown(template: str) -> str:
    return BLANK.sub(lambda match: SHOWN.get(match[1], f"*{match[1]}*"), template)


if __name__ == "__main__":
    PAGE.write_text(page())
