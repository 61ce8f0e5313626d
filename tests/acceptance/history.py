"""What processes did, read from what they wrote down, and whether it was allowed.

Daemons append a line when a recorded task starts and when it ends or is stopped; submitters keep what was acknowledged
to them; the fault driver keeps whom it hurt, and when. All by CLOCK_MONOTONIC, which the processes of a machine share,
so that the lines of different processes have one true order. Every check takes the history and answers with what
broke the rule: an empty list is a pass.
"""

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from tests.support.fleet import result_of

NS: Final = 1_000_000_000
SPOOL_NS: Final = 2 * NS
# From the end of a function until its result is in the daemon's journal, with a slow disk allowed for. Until then a
# kill may cost the result, and the attempt with it.
IN_FLIGHT_MIN: Final = 0.5
# Of the faults; one may always miss, since work can end between the look at it and the blow.


class Kind(StrEnum):
    HUB_KILL = "hub killed"
    DAEMON_KILL = "daemon killed"
    DAEMON_STOP = "daemon stopped"
    HUB_STOP = "hub stopped"
    HUB_RESTART = "hub restarted"
    DAEMON_RESTART = "daemon restarted"
    # Of the database server that is theirs alone.
    SERVER_KILL = "server killed"
    SERVER_STOP = "server stopped"
    SERVER_RESTART = "server restarted"
    # Of several hubs on one database.
    LEADER_KILL = "leader killed"
    LEADER_STOP = "leader stopped"
    LEADER_CUT = "leader cut off"
    SESSIONS_END = "sessions ended"
    HAND_OVER = "handed over"
    ANSWER_LOST = "answer lost"
    # Of a primary whose standby is promoted.
    SWITCHOVER = "switched over"
    PRIMARY_KILL = "primary killed"
    PRIMARY_CUT = "primary cut off"
    WAIT_CANCEL = "waits cancelled"


DAEMON_KINDS: Final = (Kind.DAEMON_KILL, Kind.DAEMON_STOP, Kind.DAEMON_RESTART)


@dataclass(frozen=True)
class Fault:
    kind: Kind
    pid: int
    began: int
    ended: int
    """When the process went on, or when the next one was there."""
    deaf_s: float = 0.0
    """From its beginning until a new task was accepted by every hub that was left; 0 where nobody looked."""


@dataclass
class Run:
    """One attempt as the process that ran it saw it."""

    task: str
    attempt: int
    pid: int
    daemon: str
    start: int
    end: int | None = None
    stopped: int | None = None
    seen: int = 0
    """How many results of other tasks it was given."""


@dataclass
class Submission:
    key: str
    task: str
    exclusive: str | None = None
    depends_on: tuple[str, ...] = ()
    ref: str = ""


@dataclass
class History:
    runs: list[Run] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    acknowledged: list[Submission] = field(default_factory=list)
    tasks: Mapping[str, Any] = field(default_factory=dict)
    """By id, as the hub answers them at the end, with their attempts."""
    events: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    """By task: place in the log and name, as the hub answers them at the end."""
    streamed: Sequence[tuple[str, str | None]] = ()
    """Place and task of each event that a reader of the stream saw, in its order."""
    left_open: Sequence[str] = ()
    """What the hub still counted as waiting, running or held when every task had ended."""
    reported: frozenset[str] = frozenset()
    """Tasks of which the hubs themselves said that the database lost them."""
    wake_ns: int = NS // 2
    """A process that was stopped finishes the step it was in before it can notice; this is how long that may take."""

    def deaths(self) -> dict[int, int]:
        return {f.pid: f.began for f in self.faults if f.kind is Kind.DAEMON_KILL}

    def hurt(self, pid: int, since: int, until: int) -> bool:
        """Whether this process was killed or stopped in that time, or had just come to."""
        return any(f.pid == pid and f.began <= until and f.ended + self.wake_ns >= since for f in self.faults)

    def was_deaf(self, since: int, until: int) -> bool:
        """Whether the hub was away in that time."""
        return any(f.kind not in DAEMON_KINDS and f.began <= until and f.ended >= since for f in self.faults)


def read_journals(paths: Iterable[Path]) -> list[Run]:
    runs: list[Run] = []
    for path in paths:
        began: dict[tuple[str, int, int], Run] = {}
        for line in path.read_bytes().split(b"\n")[:-1]:
            fact = json.loads(line)
            if fact["what"] == "boot":
                continue
            key = fact["task"], fact["attempt"], fact["pid"]
            if fact["what"] == "start":
                began[key] = Run(*key, daemon=fact["daemon"], start=fact["at"], seen=fact["seen"])
                runs.append(began[key])
            elif fact["what"] == "end":
                began[key].end = fact["at"]
            else:
                began[key].stopped = fact["at"]
    return runs


# --- the rules ---------------------------------------------------------------------------------------------


def lost_tasks(history: History) -> list[str]:
    """Everything acknowledged is there, and completed."""
    return [
        f"{asked.task} (key {asked.key}) is {'gone' if found is None else found.status}"
        for asked in history.acknowledged
        if asked.task not in history.reported
        and ((found := history.tasks.get(asked.task)) is None or found.status != "completed")
    ]


def doubled_keys(history: History) -> list[str]:
    """One task for each key, and one key for each task."""
    keys = Counter(asked.key for asked in history.acknowledged)
    ids = Counter(asked.task for asked in history.acknowledged)
    surplus = set(history.tasks) - set(ids)
    return [
        *(f"key {key} was answered {n} times" for key, n in keys.items() if n > 1),
        *(f"{task} was answered to {n} keys" for task, n in ids.items() if n > 1),
        *(f"{task} was never acknowledged to anybody" for task in surplus),
    ]


def completed_twice(history: History) -> list[str]:
    """One end each: in the log, and among the attempts."""
    broken = []
    for task_id, task in history.tasks.items():
        ends = sum(name == "task.completed" for _, name in history.events[task_id])
        successes = sum(str(attempt.status) == "success" for attempt in task.attempts)
        if (ends, successes) != (1, 1):
            broken.append(f"{task_id}: {ends} completions in the log, {successes} successful attempts")
    return broken


def started_twice(history: History) -> list[str]:
    """A task's attempt is begun by one process, once."""
    starts = Counter((run.task, run.attempt) for run in history.runs)
    return [f"{task} attempt {number} was started {n} times" for (task, number), n in starts.items() if n > 1]


def needless_restarts(history: History) -> list[str]:
    """A newer attempt starts only if something happened to the process that had the older one.

    An older one may even start after it: its process was stopped between taking it and beginning it. And a daemon
    itself stops exclusive work when its hub has been silent for so long that the lease may be over.
    """
    exclusive = {asked.task for asked in history.acknowledged if asked.exclusive}
    by_task: defaultdict[str, list[Run]] = defaultdict(list)
    for run in history.runs:
        by_task[run.task].append(run)
    broken = []
    for task_id, runs in by_task.items():
        runs.sort(key=lambda run: run.attempt)
        for older, newer in itertools.pairwise(runs):
            if task_id in exclusive and older.stopped is not None and history.was_deaf(older.start, older.stopped):
                continue
            if not history.hurt(older.pid, min(older.start, newer.start), max(older.start, newer.start)):
                broken.append(f"{task_id}: attempt {newer.attempt} began, though {older.daemon} had {older.attempt}")
    return broken


def begun_after_end(history: History) -> list[str]:
    """The attempt whose result the task has is the last one that is ever begun."""
    accepted: dict[str, int] = {}
    for run in history.runs:
        task = history.tasks.get(run.task)
        if task is not None and task.result == result_of(run.task, run.attempt, run.pid):
            accepted[run.task] = run.attempt
    return [
        f"{run.task}: attempt {run.attempt} began on {run.daemon}, though attempt {accepted[run.task]} had ended it"
        for run in history.runs
        if run.attempt > accepted.get(run.task, run.attempt)
    ]


def lost_results(history: History) -> list[str]:
    """What ended in a process that lived on is the result, or kept as late."""
    deaths = history.deaths()
    broken = []
    for run in history.runs:
        if run.end is None or deaths.get(run.pid, run.end + SPOOL_NS) < run.end + SPOOL_NS:
            continue
        task = history.tasks.get(run.task)
        kept = [] if task is None else [a for a in task.attempts if a.number == run.attempt]
        said = result_of(run.task, run.attempt, run.pid)
        accepted = task is not None and task.result == said and str(kept[0].status) == "success"
        if not accepted and not (kept and kept[0].late_result is not None):
            broken.append(f"{run.task} attempt {run.attempt} ended on {run.daemon}, and its result is nowhere")
    return broken


def wrong_results(history: History) -> list[str]:
    """A completed task has the answer of a run that ended, as that run gave it."""
    given = {result_of(run.task, run.attempt, run.pid) for run in history.runs if run.end is not None}
    return [f"{task.id} has {task.result!r}" for task in history.tasks.values() if task.result not in given]


def early_starts(history: History) -> list[str]:
    """A task starts after those it depends on ended, and is given their results."""
    first_end: dict[str, int] = {}
    for run in history.runs:
        if run.end is not None:
            first_end[run.task] = min(run.end, first_end.get(run.task, run.end))
    needs = {asked.task: asked.depends_on for asked in history.acknowledged}
    return [
        f"{run.task} began before what it waits for had ended, or without its result"
        for run in history.runs
        if run.seen != len(needs.get(run.task, ()))
        or any(first_end.get(need, run.start + 1) > run.start for need in needs.get(run.task, ()))
    ]


def overlaps(history: History) -> list[str]:
    """Of tasks that share an exclusive key, one runs at a time. A process that is stopped runs nothing."""
    keys = {asked.task: asked.exclusive for asked in history.acknowledged if asked.exclusive}
    by_key: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for run in history.runs:
        if run.task in keys:
            by_key[keys[run.task]] += [(*span, run.task) for span in _awake(history, run)]
    broken = []
    for key, spans in by_key.items():
        spans.sort()
        reach, holder = 0, ""
        for start, end, task_id in spans:
            if start < reach and task_id != holder:
                broken.append(f"{key}: {task_id} began {(reach - start) / 1e6:.1f} ms before {holder} had ended")
            if end > reach:
                reach, holder = end, task_id
    return broken


def _awake(history: History, run: Run) -> list[tuple[int, int]]:
    """When this run had a process that could do anything for it."""
    ended = run.end or run.stopped or history.deaths().get(run.pid, run.start)
    spans, start = [], run.start
    stops = sorted((f.began, f.ended) for f in history.faults if f.pid == run.pid and f.kind is Kind.DAEMON_STOP)
    for began, went_on in stops:
        if start < began < ended:
            spans.append((start, began))
        if began < ended and start < went_on + history.wake_ns:
            start = went_on + history.wake_ns
    return [*spans, (start, ended)] if start < ended else spans


def left_open(history: History) -> list[str]:
    """Nothing waits, runs or holds a slot once every task has ended."""
    return [*history.left_open]


def stream_breaks(history: History) -> list[str]:
    """A reader of the stream, cut off at any time, saw each event once, in order, and all of them."""
    places = [tuple(map(int, place.split("-"))) for place, _ in history.streamed]
    broken = [f"{a} was followed by {b}" for a, b in itertools.pairwise(places) if a >= b]
    if history.streamed:
        seen = {place for place, _ in history.streamed}
        kept = {place for events in history.events.values() for place, _ in events}
        broken += [f"event {place} was never sent" for place in sorted(kept - seen)]
    return broken


def idle_faults(history: History) -> list[str]:
    """The proof that the faults met work: else the run has shown nothing."""
    hit = sum(in_flight(history, fault) > 0 for fault in history.faults)
    if hit and hit >= min(len(history.faults) - 1, IN_FLIGHT_MIN * len(history.faults)):
        return []
    return [f"only {hit} of {len(history.faults)} faults met work in flight"]


def in_flight(history: History, fault: Fault) -> int:
    """How many attempts ran at that moment; for a daemon, those of its own."""
    is_hub = fault.kind not in DAEMON_KINDS
    return sum(
        run.start <= fault.began < (run.end or run.stopped or fault.began + 1)
        for run in history.runs
        if is_hub or run.pid == fault.pid
    )


def doubled_refs(history: History) -> list[str]:
    """A ref that was told to somebody names that task for ever, also if the task was lost."""
    named: defaultdict[str, set[str]] = defaultdict(set)
    for asked in history.acknowledged:
        named[asked.ref or asked.task].add(asked.task)
    return [f"{ref} was given to {sorted(ids)}" for ref, ids in named.items() if len(ids) > 1]


Rule = Callable[[History], list[str]]

RULES: Final[Mapping[str, Rule]] = {
    "acknowledged tasks lost": lost_tasks,
    "keys with other than one task": doubled_keys,
    "refs given twice": doubled_refs,
    "tasks completed twice": completed_twice,
    "attempts started twice": started_twice,
    "restarts of what still ran": needless_restarts,
    "starts after the end": begun_after_end,
    "results lost": lost_results,
    "results from nowhere": wrong_results,
    "starts before a dependency": early_starts,
    "overlaps of exclusive tasks": overlaps,
    "left open": left_open,
    "gaps or repeats in the stream": stream_breaks,
    "runs that proved nothing": idle_faults,
}


def violations(history: History, rules: Mapping[str, Rule] = RULES) -> dict[str, list[str]]:
    """By rule; only those that were broken."""
    found = {name: rule(history) for name, rule in rules.items()}
    return {name: broken for name, broken in found.items() if broken}
