"""What a decision costs when very many wait: the pure core, without sockets or disk.

A decision is an attempt's end together with the start that follows from it, cut and forgotten as the hub does.

    python -m bench.policy [TASKS] [USERS]

prints microseconds per decision, bytes per waiting task, and milliseconds of `why`.
"""

import gc
import random
import resource
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

from taskyard.core.changes import UserRecord
from taskyard.core.commands import CompleteTask, Draft, SubmitTasks
from taskyard.core.daemon_commands import JoinDaemon
from taskyard.core.effects import Execute
from taskyard.core.hub import Core
from taskyard.core.settings import Depth, Limits, Queue, Rate, Settings
from taskyard.core.state import Now, State, User
from taskyard.core.task import Kind, Needs, Terms
from taskyard.core.why import why
from taskyard.hub.interpreter import settle
from taskyard.vocabulary import HUB_RATE, Level, SourceType

BATCH = 500
SLOTS = 100
DECISIONS = 4_000
START = 1_800_000_000_000
TYPES = ("analysis", "code", "report", "mail")
LEVELS = (Level.NORMAL, Level.NORMAL, Level.HIGH, Level.LOW)


def limited() -> Settings:
    """Every limit there is, none so low that it would decide the outcome."""
    rate = Rate(per_minute=10**9, per_hour=10**9)
    return Settings(
        limits=Limits(
            running_per_user=50,
            queue_depth=Depth(warning=10**8, critical=10**9),
            user_queue_depth=Depth(warning=10**8, critical=10**9),
            rate={**dict.fromkeys(SourceType, rate), HUB_RATE: rate},
        ),
        queues={
            "cloud": Queue(models=("m1", "m2"), max_concurrent=60),
            "local": Queue(models=("m3",), max_concurrent=30),
        },
    )


def a_yard(tasks: int, users: int, settings: Settings) -> tuple[Core, Now]:
    """So many ready tasks of so many users, of a few kinds each."""
    state = State(settings, cluster_id="c", epoch=1, seq=0)
    core, now = Core(state, random.Random(1)), Now(START, 1_000)
    for n in range(users):
        state.users[f"u{n}"] = User(
            UserRecord(f"u{n}", f"u{n}", START, plan="enterprise", overrides={"max_pending": 10**9}), 0
        )
    kinds = [Kind(Needs(type, model)) for type in TYPES for model in (None, "m1", "m3")]
    number = 0
    per_user = tasks // users
    for n in range(users):
        for first in range(0, per_user, BATCH):
            drafts = []
            for k in range(first, min(first + BATCH, per_user)):
                number += 1
                draft = Draft(f"01970000-0000-7000-8000-{number:012d}", kinds[k % len(kinds)], Terms(), b"{}")
                draft.level = LEVELS[k % len(LEVELS)]
                drafts.append(draft)
            core.handle(SubmitTasks(f"u{n}", drafts), now)
        core.forget(through_seq=core.cut(batch_id="b", now=now).seq)
    assert state.yard.waiting == tasks, f"{state.yard.waiting:,} of {tasks:,} tasks were taken in"
    return core, now


def decisions(core: Core, now: Now, count: int = DECISIONS) -> float:
    """Median CPU microseconds per decision."""
    turn = core.turn(now)
    core.decide(turn, JoinDaemon(1, "u0", "d0", "boot", "d0", shared=True, slots=SLOTS))
    core.dispatch(turn)
    running = [e for e in turn.effects if isinstance(e, Execute)]
    times, done = [], 0
    # Each user's first time is untimed: what is worked out once per user is no part of a decision.
    warm = len(core.state.users) // BATCH + 1
    while done < count + warm * BATCH:
        begun = time.process_time()
        for _ in range(BATCH):
            execute = running.pop(0)
            turn = core.turn(now)
            outcome = CompleteTask(execute.daemon_id, execute.task_id, execute.attempt, execute.session, b"{}")
            core.decide(turn, outcome)
            core.dispatch(turn)
            running += (e for e in turn.effects if isinstance(e, Execute))
            if done % 10 == 0:
                core.forget(through_seq=core.cut(batch_id="b", now=now).seq)
            done += 1
        times.append((time.process_time() - begun) / BATCH * 1e6)
    return statistics.median(times[warm:])


class Costs(NamedTuple):
    decision_us: float
    bytes_per_task: float
    why_ms: float


def measure(tasks: int, users: int) -> Costs:
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    core, now = a_yard(tasks, users, limited())
    settle()
    size = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / tasks
    took_us = decisions(core, now)
    return Costs(took_us, size, why_ms(core, now))


def why_ms(core: Core, now: Now) -> float:
    """The slowest of a few: the last task of the user with the most."""
    user = max(core.state.users.values(), key=lambda each: sum(lane.size for lane in each.lanes.values()))
    times = []
    for lane in list(user.lanes.values())[:10]:
        task = max(lane.tasks(), key=lambda each: each.id)
        begun = time.perf_counter()
        why(core.turn(now), task)
        times.append((time.perf_counter() - begun) * 1000)
    return max(times)


def decision_costs(tasks: int, users: int) -> Costs:
    """In a process of its own: memory is only counted upwards."""
    command = [sys.executable, "-m", "bench.policy", str(tasks), str(users)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return Costs(*(float(number) for number in said.split()))


def main() -> None:
    tasks, users = (int(a) for a in (sys.argv[1:] + ["10000", "100"][len(sys.argv) - 1 :]))
    sys.stdout.write(" ".join(f"{number:.2f}" for number in measure(tasks, users)) + "\n")


if __name__ == "__main__":
    main()
