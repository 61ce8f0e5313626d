"""A yard with tasks in every state moves SQLite → file → PostgreSQL → file → SQLite, by the command, and loses nothing.

`python -m tests.acceptance.moved_yard --tasks 20000` does it with so many tasks and with a quarter of them, spoils the
file at 200 places each way, and prints what it saw: rows a second and memory of each copy.
"""

import argparse
import contextlib
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.message import Message
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from taskyard.cli.main import run
from taskyard.sdk.client import Client
from taskyard.sdk.hooks import HookRecord
from taskyard.vocabulary import Status
from taskyard.wire.imports import Import
from tests.acceptance.hook_flood import TEMPLATE, Sender
from tests.support.engines import Engine
from tests.support.live import (
    LONG_LEASES,
    ROOT,
    STUBBORN,
    LiveHub,
    LiveYard,
    environment,
    live_yard,
    wait_online,
    wait_until,
)
from tests.support.postgres import new_yard

WAIT_S: Final = 600.0
COPY_S: Final = 3600.0
PIECE: Final = 1000
ROWS_PER_S_MIN: Final = 10_000
GROWTH_KB_MAX: Final = 16 * 1024
# Of a copy's memory with four times as many tasks. Caches of a bounded size fill by some MB; 15,000 more tasks as
# Python holds them would be three times this.

LEGS: Final = ("SQLite to a file", "the file to PostgreSQL", "PostgreSQL to a file", "the file to SQLite")

LASTING: Final = frozenset(Status) - {Status.FAILED, Status.TIMEOUT, Status.SCHEDULED}
"""The states that a task stays in. It leaves the others in the commit in which it came to them, or in the next."""

OWN_KEY: Final = "local admin"
SLOTS: Final = 4
ANNS: Final = 2
"""The tasks of a user who is no admin."""
WORK_MS: Final = 6_000
"""How long what is under way goes on: into the copying, and with few tasks beyond it."""

_MEASURED: Final = """
import re, resource, sys, time
from taskyard.cli.main import run
began = time.monotonic()
code = run(sys.argv[1:])
seconds = time.monotonic() - began
status = open("/proc/self/status").read()
used = resource.getrusage(resource.RUSAGE_SELF)
print("\\n", seconds, used.ru_utime + used.ru_stime, re.search(r"VmHWM:\\s+(\\d+)", status)[1], file=sys.stderr)
sys.exit(code)
"""
"""Runs a command and says what it took. A process's own peak is read, since getrusage counts that of its parent too."""


class Copy(NamedTuple):
    """One run of `taskyard copy`."""

    rows: int
    digest: str
    seconds: float
    cpu_s: float
    peak_kb: int

    def __str__(self) -> str:
        rate = f"{self.rows / self.seconds:,.0f} a second, CPU {self.cpu_s:.1f} s"
        return f"{self.rows:,} rows in {self.seconds:.1f} s ({rate}), {self.peak_kb / 1024:.0f} MB at most"


class Known(NamedTuple):
    """What anybody knew of the yard before it moved."""

    key: str
    """Of a user who is no admin."""
    hook: HookRecord
    logged: str
    """A task with a log."""
    cookie: str
    """Of a browser that is signed in."""
    seen: dict[str, Any]


def copied(source: str, target: str) -> Copy:
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, "copy", "--from", source, "--to", target, "--json"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        timeout=COPY_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    answer = json.loads(done.stdout)
    seconds, cpu_s, peak_kb = done.stderr.decode().splitlines()[-1].split()
    return Copy(sum(answer["counts"].values()), answer["digest"], float(seconds), float(cpu_s), int(peak_kb))


# --- a yard with a past ---


def carried(number: int, now: datetime, *, is_archived: bool) -> dict[str, Any]:
    """One of the many, as it stood elsewhere; some depend on one before."""
    at = (now - timedelta(hours=2, seconds=number)).isoformat()
    task: dict[str, Any] = {"id": f"t{number}", "input": f"Do {number} é", "created_at": at}
    ended = {**task, "completed_at": at, "attempts": [{"daemon": "d", "status": "success", "started_at": at}]}
    unserved = {"requirements": {"capabilities": ["nobody-has-this"]}}
    kinds: tuple[dict[str, Any], ...] = (
        {**ended, "status": "completed", "result": {"n": number}, "metadata": {"x": "y" * 200}},
        {**ended, "status": "permanently_failed", "error": {"code": "BOOM", "message": "it broke"}},
        {**ended, "status": "completed", "archived": is_archived, "decision_report": {"decision": "d"}},
        {**ended, "status": "skipped", "skipped_reason": "not needed"},
        {**ended, "status": "cancelled", "cancel_reason": "the wrong branch"},
        {**ended, "status": "stale"},
        {**task, **unserved, "idempotency_key": f"key {number}"},
        {**task, "depends_on": [f"t{number - 1}"]},
        {**task, "depends_on": [f"t{number - 7}"]},
        {**task, "not_before": (now + timedelta(days=30)).isoformat()},
    )
    return kinds[number % len(kinds)]


def fill(client: Client, tasks: int, *, archives: bool) -> None:
    """With an archive it takes a minute: a hub puts tasks there when it sweeps."""
    now = datetime.now(UTC)
    for first in range(0, tasks, PIECE):
        records = [carried(number, now, is_archived=archives) for number in range(first, min(first + PIECE, tasks))]
        client.import_piece(msgspec.json.decode(msgspec.json.encode({"origin": "o", "tasks": records}), type=Import))
    if archives:
        there = len(range(2, tasks, 10))
        wait_until(lambda: _archived(client) == there, within_s=WAIT_S, what="what belongs in the archive", every_s=1)


def _archived(client: Client) -> int:
    return sum(1 for _ in client.tasks(archived=True))


def recorded(ms: int) -> dict[str, Any]:
    return {"type": "record", "input": "Write it down", "payload": {"ms": ms, "says": "é\nworking"}}


def lived(yard: LiveYard, hub: LiveHub, client: Client, tasks: int, *, archives: bool) -> Known:
    """Fill the yard, let a daemon work in it, and leave it with work under way and in line."""
    ann = client.add_user("ann", plan="pro", overrides={"max_pending": 500})
    key = str(client.add_key(ann.id, name="laptop", scopes=["tasks"]).key)
    client.put_queue("gpu", models=["llama3"], max_concurrent=2)
    client.pause_queue("gpu")
    client.add_schedule("weekly", {"input": "Look back"}, every="1w")
    client.add_template("review", {"input": "Review {{what}} for {{team}}"}, defaults={"team": "é"})
    hook = client.add_hook("prs", provider="github", template=TEMPLATE)
    in_turn = min(tasks // 8, PIECE - SLOTS)
    fill(client, tasks - 2 * in_turn - SLOTS - ANNS, archives=archives)
    yard.daemon(hub, slots=SLOTS)
    wait_online(client, 1)
    done = [task.id for task in client.submit_batch([recorded(0)] * in_turn).tasks]
    wait_until(lambda: _statuses(client, done) == {"completed"}, within_s=WAIT_S, what="work that is done", every_s=0.5)
    with hub.client(key=key) as anns:
        anns.submit("for ann", depends_on=[anns.submit("first", scheduled_for="2099-01-01T00:00:00Z").ref])
    cookie, before = cookie_of(hub), seen(client, done[0])
    under_way = [*[recorded(WORK_MS)] * (SLOTS - 1), {**recorded(WORK_MS), "type": "count"}]
    client.submit_batch([*under_way, *[recorded(0)] * in_turn])
    wait_until(lambda: _states(client) >= LASTING, within_s=WAIT_S, what="tasks in every state")
    return Known(key, hook, done[0], cookie, before)


def _statuses(client: Client, ids: Sequence[str]) -> set[str]:
    """Of the first and the last: they are taken in turn."""
    return {client.task(ids[0]).status, client.task(ids[-1]).status}


def _states(client: Client) -> set[str]:
    return {status for status, count in client.counts().by_status.items() if count}


def seen(client: Client, logged: str) -> dict[str, Any]:
    """What does not change while a yard moves and its daemons work on. A hub in a new directory makes itself a key."""
    found = {
        "users": client.users(),
        "keys": [key for user in client.users() for key in client.keys(user.id) if key.name != OWN_KEY],
        "hooks": client.hooks(),
        "schedules": client.schedules(),
        "templates": client.templates(),
        "log": client.log(logged),
        "task": client.task(logged),
        "failed": list(client.tasks(status="permanently_failed")),
        "archive": list(client.tasks(archived=True)),
        "audit": [entry for entry in client.audit() if entry.action != "key.create"],
    }
    return {name: msgspec.to_builtins(each) for name, each in found.items()}


class Unmoved(urllib.request.HTTPRedirectHandler):
    """The cookie is in the answer that leads on."""

    def redirect_request(self, *_: Any) -> None:
        return None


def cookie_of(hub: LiveHub) -> str:
    """A browser's, by the link that the hub printed."""
    link = re.findall(r"sign in +(\S+)", hub.process.said)[-1]
    opener = urllib.request.build_opener(Unmoved)
    try:
        headers: Message = opener.open(link).headers
    except urllib.error.HTTPError as answer:
        headers = answer.headers
    return str(headers["set-cookie"]).partition(";")[0]


# --- the move, and what is found after it ---


class Moved(NamedTuple):
    first: Path
    """The file that was written from SQLite."""
    tasks: int
    copies: list[Copy]


def moved(yard: LiveYard, hub: LiveHub, url: str) -> Moved:
    """SQLite → file → PostgreSQL → file → SQLite, while no hub runs."""
    first, second, back = yard.directory / "first.jsonl", yard.directory / "second.jsonl", yard.directory / "back"
    way = [f"sqlite:{hub.data}", str(first), url, str(second), f"sqlite:{back}"]
    copies = [copied(source, target) for source, target in pairwise(way)]
    assert len({copy.digest for copy in copies}) == 1
    with first.open("rb") as one, second.open("rb") as other:
        headers = [json.loads(file.readline())[1] for file in (one, other)]
        assert [{**header, "written_at": 0} for header in headers] == [{**headers[0], "written_at": 0}] * 2
        assert all(line == same for line, same in zip_longest(one, other)), "the two files differ"
    tasks = sum(headers[0]["counts"][kind] for kind in ("active_tasks", "ended_tasks", "archived_tasks"))
    return Moved(first, tasks, copies)


def check_the_new_place(yard: LiveYard, hub: LiveHub, known: Known) -> None:
    """Everybody finds what they know, keys and secrets are good, and work was done once."""
    with hub.client(retry=STUBBORN, timeout_s=60) as client:
        found = seen(client, known.logged)
        assert found == known.seen, [name for name, each in found.items() if each != known.seen[name]]
        request = urllib.request.Request(f"{hub.url}/api/v1/users/me", headers={"cookie": known.cookie})
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 200
        with hub.client(key=known.key) as anns:
            assert anns.me().name == "ann"
        sender = Sender(hub, known.hook)
        assert sender.send("one", secret="wrong")[1]["code"] == "BAD_SIGNATURE"
        assert sender.send("one")[0] == 202
        wait_until(lambda: not _unfinished(client), within_s=WAIT_S, what="work that is done", every_s=0.2)
        tried = Counter(len(task.attempts) for task in map(client.task, _recorded(client)))
    lines = [json.loads(line) for daemon in yard.daemons for line in daemon.journal.read_text().splitlines()]
    for what in ("start", "end"):
        times = Counter(line["task"] for line in lines if line["what"] == what)
        assert set(times.values()) == {1}, [task for task, count in times.items() if count > 1]
    assert set(tried) == {1}


def _recorded(client: Client) -> list[str]:
    """The first and the last of the tasks that write down what they do."""
    ids = [task.id for task in client.tasks(type="record")]
    return [ids[0], ids[-1]]


def _unfinished(client: Client) -> bool:
    return any(next(client.tasks(type="record", status=status), None) for status in ("queued", "scheduled", "running"))


# --- files that are not what was written ---


def spoilt(file: Path, times: int, dice: random.Random) -> int:
    """Cut a copy of the file and change it, at so many places each; how often it was refused and nothing taken."""
    copy = file.with_name("spoilt.jsonl")
    shutil.copy(file, copy)
    size, refused = copy.stat().st_size, 0
    with copy.open("r+b", buffering=0) as content:
        for place in (dice.randrange(size) for _ in range(times)):
            byte = os.pread(content.fileno(), 1, place)[0]
            os.pwrite(content.fileno(), bytes([(byte + dice.randrange(1, 256)) % 256]), place)
            refused += is_refused(copy)
            os.pwrite(content.fileno(), bytes([byte]), place)
        for place in sorted((dice.randrange(size) for _ in range(times)), reverse=True):
            content.truncate(place)
            refused += is_refused(copy)
    return refused


def is_refused(file: Path) -> bool:
    """By the command, in this process: there are many of them, and each start takes half a second."""
    target = file.with_name("nothing")
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        code = run(["copy", "--from", str(file), "--to", f"sqlite:{target}"])
    return code == 1 and f"{file}, line " in said.getvalue() and not target.exists()


# --- all of it ---


def check_a_move(yard: LiveYard, tasks: int, *, goes_on: Engine, archives: bool = False) -> Moved:
    """A yard of so many tasks moves, and a hub goes on with what is in PostgreSQL or in the last directory."""
    hub, url = yard.hub(settings=LONG_LEASES), new_yard()
    with hub.client(retry=STUBBORN, timeout_s=60) as client:
        known = lived(yard, hub, client, tasks, archives=archives)
    assert hub.process.terminate() == 0
    move = moved(yard, hub, url)
    yard.engine = goes_on
    database = url if goes_on is Engine.POSTGRES else None
    name = "elsewhere" if database else "back"
    new = yard.hub(name, settings=LONG_LEASES, database=database, port=hub.port, fellows=(hub,))
    check_the_new_place(yard, new, known)
    return move


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.moved_yard")
    parser.add_argument("--tasks", type=int, default=20_000)
    parser.add_argument("--spoil", type=int, default=200, help="how often the file is cut, and how often changed")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    peaks: list[list[int]] = []
    for tasks in (asked.tasks // 4, asked.tasks):
        with tempfile.TemporaryDirectory(prefix="taskyard-move-") as directory, live_yard(Path(directory)) as yard:
            move = check_a_move(yard, tasks, goes_on=Engine.SQLITE, archives=True)
            yard.close()
            peaks.append([copy.peak_kb for copy in move.copies])
            print(f"{move.tasks:,} tasks in every state, {move.first.stat().st_size / 1e6:.1f} MB as a file")
            for name, copy in zip(LEGS, move.copies, strict=True):
                print(f"  {name}: {copy}")
            print("  The files are equal but for the time; keys, secrets and logs are as they were; nothing ran twice.")
            if tasks == asked.tasks:
                refused = spoilt(move.first, asked.spoil, random.Random(asked.seed))
                print(f"  Refused {refused} of {2 * asked.spoil} files that were cut or changed; nothing was taken.")
    growth_kb = max(late - early for early, late in zip(*peaks, strict=True))
    print(f"Memory with four times as many tasks: at most {growth_kb / 1024:.0f} MB more.")
    slowest = min(copy.rows / copy.seconds for copy in move.copies)
    print(f"The slowest copy: {slowest:,.0f} rows a second.")
    return 0 if refused == 2 * asked.spoil and growth_kb <= GROWTH_KB_MAX and slowest >= ROWS_PER_S_MIN else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
