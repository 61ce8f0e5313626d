"""How every reason and every lack is said, in one place: the API, the command line and `docs/why.md` have it from here.

A rule (`limits.py`, `placement.py`) only gives a code with its numbers. The table turns that into a lead ("Waits for a
free slot"), a sentence and what would help, by filling in blanks. Its order is that of importance: what no waiting will
change comes first, and the first reason is what the summary tells. Sentences begin with an ordinary word in small
letters, so that they can stand alone or after a lead.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from taskyard.vocabulary.reasons import Lack, Reason

HOUR_MS: Final = 3_600_000
NAMES_MAX: Final = 4
# Of a list in a sentence; the rest is counted.


class Sentence(Struct, frozen=True):
    """What a reason says. Blanks: the numbers of its `Hold`, and what `why.py` knows besides."""

    lead: str
    says: str
    helps: str = ""
    """Something that would change it, as a noun; empty if only time does."""
    uncounted: str = ""
    """What it says instead where the rule gives no numbers, if it ever gives none."""
    unit: int = 1
    """What a rule counts by, where that is not what people count by."""
    is_cure: bool = False
    """Whether what helps is enough: if nothing else is in the way, the task starts by it."""
    passes: bool = True
    """Whether it goes away by itself, if not by a known instant then as other tasks end."""


SENTENCES: Final[dict[Reason, Sentence]] = {
    Reason.NO_DAEMON: Sentence(
        "Waits for a daemon",
        "no daemon of yours has ever connected, and none is shared",
        "starting one (`taskyard daemon`)",
        passes=False,
    ),
    Reason.NO_ELIGIBLE_DAEMON: Sentence(
        "No daemon can run it",
        "{misfits}",
        "{qualify}",
        passes=False,
    ),
    Reason.DEPENDENCY_FAILED: Sentence(
        "Blocked by a dependency",
        "it depends on {tasks}, and will not run without",
        "{ways}",
        passes=False,
    ),
    Reason.DEPENDENCY_UNFINISHED: Sentence(
        "Waits for other tasks",
        "{used} of {limit} tasks it depends on are done, and it still waits for {tasks}",
        "{finish}",
    ),
    Reason.NOT_BEFORE: Sentence(
        "Waits for its time",
        "{before}it may start from {until} on",
        "{sooner}",
    ),
    Reason.PREEMPTING: Sentence(
        "About to start",
        "another task of yours, {name}, was asked to save its work and make room for it",
        "the answer of its daemon",
    ),
    Reason.BREAKER_OPEN: Sentence(
        "Held by a breaker",
        "tasks of type {name} failed {used} times in a row ({limit} open the breaker), and none starts until {until}",
        "resetting the breaker once the cause is gone (`taskyard breakers reset {name}`)",
        uncounted="a person opened the breaker of type {name}, and no such task starts until {until}",
        is_cure=True,
    ),
    Reason.BREAKER_PROBING: Sentence(
        "Held by a breaker",
        "one task of type {name} tries whether such tasks succeed again, and the others wait for what it finds",
        "that one succeeding, or resetting the breaker (`taskyard breakers reset {name}`)",
    ),
    Reason.QUEUE_PAUSED: Sentence(
        "Its queue is paused",
        "queue {name} was paused, and starts nothing until it is resumed",
        "resuming it (an admin's `taskyard resume {name}`)",
        is_cure=True,
        passes=False,
    ),
    Reason.QUEUE_COOLING: Sentence(
        "Its queue cools down",
        "queue {name} was refused by its provider for coming too often{where}, and rests until {until}",
    ),
    Reason.QUEUE_PROBING: Sentence(
        "Its queue cools down",
        "queue {name} tries one task after a rate limit{where}, and the others wait for what it finds",
        "that one getting through",
    ),
    Reason.QUEUE_FULL: Sentence(
        "Waits for a place in its queue",
        "queue {name} runs {used} of {limit} tasks at a time{where}",
        "{a_next} place in that queue (an admin sets its `max_concurrent`){or_finish}",
        is_cure=True,
    ),
    Reason.USER_HOURS: Sentence(
        "Out of agent hours",
        "you have used {used} of {limit} hours of this month{plan}, which ends at {until}",
        "more hours: another plan, or an override by an admin",
        unit=HOUR_MS,
        is_cure=True,
    ),
    Reason.USER_CONCURRENCY: Sentence(
        "Waits for a free slot",
        "you run {used} of {limit} tasks{plan}",
        "{a_next} concurrent task{or_finish}",
        is_cure=True,
    ),
    Reason.SOURCE_CONCURRENCY: Sentence(
        "Waits for a free slot",
        "you run {used} of {limit} tasks of source {name}",
        "{a_next} concurrent task of that source{or_finish}",
        is_cure=True,
    ),
    Reason.LOW_CAP: Sentence(
        "Waits for a free slot",
        "you run {used} of {limit} low tasks, the most that run at a time however much is free",
        "{or_higher}{finish}",
    ),
    Reason.EXCLUSIVE_HELD: Sentence(
        "Waits for another task",
        "only one task of the key {name} runs at a time, and now it is {tasks}",
        "{finish}",
        is_cure=True,
    ),
    Reason.HUB_FULL: Sentence(
        "Waits for a free slot",
        "the hub runs {used} of {limit} tasks",
        "any task ending",
    ),
    Reason.WAITS_ALONE: Sentence(
        "Waits for an empty daemon",
        "its daemon died under it {used} times, so it runs alone, and none that could run it is empty",
        "a daemon with nothing to do{or_finish}",
    ),
    Reason.NO_FREE_SLOT: Sentence(
        "Waits for a daemon",
        "{servers}",
        "{rescue}",
    ),
    Reason.PRIORITY_SHARE: Sentence(
        "Waits for a free slot",
        "tasks of level {name} use {used} of the {limit} slots of their share{where}",
        "{a_next} slot in that share, another priority{or_finish}",
    ),
    Reason.CRITICAL_RESERVE: Sentence(
        "Waits for a free slot",
        "tasks that are not critical use {used} of the {limit} slots left to them{where}",
        "{or_critical}more slots{or_finish}",
    ),
    Reason.AWAITING_ACCEPT: Sentence(
        "Being handed over",
        "it was sent to {name}, which has until {until} to say that it took it",
    ),
    Reason.AWAITING_START: Sentence(
        "About to start",
        "it is with {name}, which has until {until} to start it",
    ),
    Reason.CANCELLING: Sentence(
        "Being cancelled",
        "it was asked to stop{because}, and {name} has not confirmed it yet",
        "the daemon's answer, or the end of its lease",
    ),
    Reason.BEHIND_OTHERS: Sentence(
        "Next in line",
        "{alone}{ahead} first",
        "{higher}",
    ),
}
"""In the order of importance."""

PRECEDENCE: Final[dict[Reason, int]] = {reason: place for place, reason in enumerate(SENTENCES)}


class Shortfall(Struct, frozen=True):
    """What a lack says of a daemon, and what would have to be so for it to be none: "it would qualify if …"."""

    says: str
    would: str


SHORTFALLS: Final[dict[Lack, Shortfall]] = {
    Lack.DAEMON_OFFLINE: Shortfall("offline since {since}", "it were online"),
    Lack.DAEMON_DRAINING: Shortfall("draining: it takes nothing new", "it did not drain"),
    Lack.DAEMON_NOT_YOURS: Shortfall("belongs to somebody else", "it were shared"),
    Lack.DAEMON_FULL: Shortfall("full: {active} of {slots}", "it had a free slot"),
    Lack.CAPABILITY_MISSING: Shortfall("has no {missing}", "it had {missing}"),
    Lack.DAEMON_EXCLUDED: Shortfall("excluded by the task", "the task did not exclude it"),
    Lack.DAEMON_AVOIDED: Shortfall("avoided until {until}: it did not take the task up", "it were not avoided"),
    Lack.NOT_TARGET: Shortfall("not {target}, which the task names", "the task did not name {target}"),
    Lack.MEMORY_SHORT: Shortfall("has {free_mb} MB free of the {needed_mb} MB needed", "it had the memory"),
    Lack.MODEL_NOT_SERVED: Shortfall("does not serve {model}", "it served {model}"),
    Lack.TYPE_NOT_SERVED: Shortfall("does not run tasks of type {type}", "it ran tasks of type {type}"),
    Lack.DAEMON_HELD: Shortfall("{held}", "it were empty and kept for nobody"),
}


# Filling in.


def filled(template: str, blanks: Mapping[str, object]) -> str:
    return template.format_map(blanks)


def alone(text: str) -> str:
    """As a sentence of its own."""
    return f"{text[:1].upper()}{text[1:]}."


def inside(sentence: str) -> str:
    """A sentence of its own as part of another."""
    return f"{sentence[:1].lower()}{sentence[1:-1]}"


def clock(ms: int, now_ms: int) -> str:
    """An instant as people say it: the time, with its date unless that is today's."""
    at, now = (datetime.fromtimestamp(each / 1000, UTC) for each in (ms, now_ms))
    return f"{at:%H:%M:%S} UTC" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M} UTC"


def span(ms: int) -> str:
    """A duration in its largest unit, rounded."""
    seconds = max(ms, 0) / 1000
    for unit_s, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit_s:
            return f"{round(seconds / unit_s)} {name}"
    return f"{max(1, round(seconds))} s"


def listed(names: Sequence[str]) -> str:
    """`a, b and c`; of very many the first few."""
    shown = [*names[:NAMES_MAX], f"{len(names) - NAMES_MAX} more"] if len(names) > NAMES_MAX + 1 else list(names)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


_ORDINALS: Final = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def a_next(used: int) -> str:
    """`a fourth`, after three."""
    number = used + 1
    if number < len(_ORDINALS):
        return f"{'an' if number == 8 else 'a'} {_ORDINALS[number]}"
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{'an' if number in (11, 18) or str(number)[0] == '8' else 'a'} {number}{suffix}"


def in_units(number: int | None, unit: int) -> float | int | None:
    """As people count it."""
    return number if number is None or unit == 1 else round(number / unit, 2)
