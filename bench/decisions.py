"""What the pure core costs per task, in CPU time, without sockets or disk: what a hub takes beyond it went elsewhere.

python -m bench.decisions [TASKS] [DAEMONS] [SLOTS]
"""

import random
import sys
import time

from taskyard.core.changes import UserRecord
from taskyard.core.commands import CompleteTask, Draft, SubmitTasks
from taskyard.core.daemon_commands import AcceptTask, JoinDaemon, StartTask
from taskyard.core.effects import Execute
from taskyard.core.hub import Core
from taskyard.core.settings import Settings
from taskyard.core.state import Now, State, User
from taskyard.core.task import Kind, Terms

BATCH = 500


def measure(tasks: int, daemons: int, slots: int) -> tuple[float, float]:
    """CPU microseconds per task: taken in, and run from grant to end."""
    state = State(Settings(), cluster_id="c", epoch=1, seq=0)
    core = Core(state, random.Random(1))
    state.users["u"] = User(UserRecord("u", "local", 0), 0)
    now = Now(1_800_000_000_000, 1_000)
    begun = time.process_time()
    for first in range(0, tasks, BATCH):
        drafts = [
            Draft(f"01970000-0000-7000-8000-{n:012d}", Kind(), Terms(), b"{}") for n in range(first, first + BATCH)
        ]
        core.handle(SubmitTasks("u", drafts), now)
        core.forget(through_seq=core.cut(batch_id="b", now=now).seq)
    taken_in = time.process_time() - begun
    turn = core.turn(now)
    for number in range(daemons):
        core.decide(turn, JoinDaemon(number + 1, "u", f"d{number}", "boot", f"d{number}", slots=slots))
    core.dispatch(turn)
    begun = time.process_time()
    while sent := [e for e in turn.effects if isinstance(e, Execute)]:
        turn = core.turn(now)
        for execute in sent:
            name = (execute.session, execute.daemon_id, execute.task_id, execute.attempt)
            core.decide(turn, AcceptTask(*name))
            core.decide(turn, StartTask(*name))
            core.decide(turn, CompleteTask(execute.daemon_id, execute.task_id, execute.attempt, execute.session, b"{}"))
        core.dispatch(turn)
        core.forget(through_seq=core.cut(batch_id="b", now=now).seq)
    return taken_in / tasks * 1e6, (time.process_time() - begun) / tasks * 1e6


def main() -> None:
    tasks, daemons, slots = (int(a) for a in (sys.argv[1:] + ["50000", "4", "64"][len(sys.argv) - 1 :]))
    taken_in, run = measure(tasks, daemons, slots)
    sys.stdout.write(f"taken in: {taken_in:.1f} µs, run: {run:.1f} µs of CPU per task\n")


if __name__ == "__main__":
    main()
