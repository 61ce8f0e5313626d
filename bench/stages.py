"""What each stage of a task's run costs the thread that decides, without sockets, event loop or disk.

python -m bench.stages [TASKS] [DAEMONS] [SLOTS]

Every daemon answers all it was given in one frame, so a round has as many tasks as there are slots.
"""

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from bench.load import PAYLOAD
from taskyard.core.changes import Batch, UserRecord
from taskyard.core.commands import Draft, SubmitTasks
from taskyard.core.daemon_commands import JoinDaemon
from taskyard.core.effects import Effect, Execute
from taskyard.core.hub import Core
from taskyard.core.lookups import missing
from taskyard.core.settings import Settings
from taskyard.core.state import Now, State, Turn, User
from taskyard.core.task import Kind, Terms
from taskyard.gateway.daemon_messages import Translator
from taskyard.hub.clock import read_clock
from taskyard.hub.inbox import Inbox
from taskyard.hub.interpreter import settle
from taskyard.hub.metrics import Metrics
from taskyard.hub.observe import Log
from taskyard.hub.release import Bodies, Frames, Parcel, packed
from taskyard.hub.tokens import Tokens
from taskyard.store.committer import Committer
from taskyard.store.port import Identity
from taskyard.wire import frames

T = TypeVar("T")

BATCH = 500
BODY = msgspec.json.encode({"type": "noop", "input": "export the assets", "payload": PAYLOAD})
NOW = Now(1_800_000_000_000, 1_000)


class Nowhere:
    def write(self, lines: bytes, /) -> None:
        """Whatever a log says is made, and not kept."""


class Line:
    """A hub's parts in the order in which a task passes them, each with a stopwatch."""

    def __init__(self, daemons: int, slots: int) -> None:
        state = State(Settings(), cluster_id="c", epoch=1, seq=0)
        state.users["u"] = User(UserRecord("u", "local", 0), 0)
        self._core = Core(state, random.Random(1))
        self._committer = Committer(durable_seq=0)
        self._bodies = Bodies()
        self._inbox = Inbox()
        self._frames = Frames(Identity("c", 1, 0), state.settings, Tokens(bytes(32)))
        self._log = Log(Nowhere())
        self._metrics = Metrics(read_clock)
        self._translators = {
            number: Translator(session=number, daemon_id=f"d{number}") for number in range(1, daemons + 1)
        }
        self._slots = slots
        self.seconds: Counter[str] = Counter()

    def fill(self, tasks: int) -> None:
        for first in range(0, tasks, BATCH):
            ids = (f"01970000-0000-7000-8000-{n:012d}" for n in range(first, first + BATCH))
            self._core.handle(SubmitTasks("u", [Draft(i, Kind(), Terms(), BODY) for i in ids]), NOW)
            self._commit([])
        self.seconds.clear()

    def run(self) -> int:
        """Until nothing is left to run; tells how many ran."""
        turn = self._core.turn(NOW)
        for number in self._translators:
            name = f"d{number}"
            self._core.decide(turn, JoinDaemon(number, "u", name, "boot", name, slots=self._slots))
        self._core.dispatch(turn)
        effects, ran = turn.effects, 0
        while any(isinstance(effect, Execute) for effect in effects):
            turn = self._core.turn(NOW)
            for number, frame in _answers(effects):
                ran += self._hear(number, frame)
            self._timed("decide", lambda turn=turn: self._decide(turn))  # type: ignore[misc]
            self._timed("dispatch", lambda turn=turn: self._core.dispatch(turn))  # type: ignore[misc]
            effects = turn.effects
            self._commit(effects)
        return ran

    def _hear(self, number: int, frame: bytes) -> int:
        messages = self._timed("decode", lambda: frames.decode_from_daemon(frame))
        translator, inbox = self._translators[number], self._inbox
        self._timed("translate", lambda: [inbox.hear(translator.command_of(message, 0)) for message in messages])
        return len(messages)

    def _decide(self, turn: Turn) -> None:
        core, inbox = self._core, self._inbox
        while (command := inbox.take(lambda: True)) is not None:
            assert missing(core.state, command) is None, "it is at hand"
            core.decide(turn, command)

    def _commit(self, effects: list[Effect]) -> None:
        core, committer = self._core, self._committer
        batch: Batch = self._timed("cut", lambda: core.cut(batch_id="b", now=NOW))
        self._timed("copy", lambda: committer.begin(batch, effects))
        release = committer.committed()
        parcel = self._timed("bodies", lambda: Parcel(release, self._bodies))
        contents = self._timed("frames", lambda: packed(parcel, self._frames))
        self._timed("join", lambda: [frames.join(messages) for messages in contents.outgoing.values()])
        self._timed("log", lambda: self._log.commit(batch))
        self._timed("metrics", lambda: self._metrics.observe(batch))
        self._timed("forget", lambda: core.forget(through_seq=batch.seq))

    def _timed(self, stage: str, work: Callable[[], T]) -> T:
        begun = time.thread_time()
        result = work()
        self.seconds[stage] += time.thread_time() - begun  # type: ignore[assignment]
        return result


def _answers(effects: list[Effect]) -> Iterator[tuple[int, bytes]]:
    """What each session's daemon says to what it was given."""
    said: dict[int, list[bytes]] = {}
    for effect in effects:
        if isinstance(effect, Execute):
            completed = frames.TaskCompleted(effect.task_id, effect.attempt, msgspec.Raw(b"true"))
            said.setdefault(effect.session, []).append(frames.encode(completed))
    for number, messages in said.items():
        yield number, frames.join(messages)


def main() -> None:
    tasks, daemons, slots = (int(a) for a in (sys.argv[1:] + ["40000", "4", "32"][len(sys.argv) - 1 :]))
    line = Line(daemons, slots)
    line.fill(tasks)
    settle()
    ran = line.run()
    for stage, seconds in line.seconds.items():
        sys.stdout.write(f"{stage:<12} {seconds / ran * 1e6:6.2f} µs\n")
    sys.stdout.write(f"{'in all':<12} {line.seconds.total() / ran * 1e6:6.2f} µs of a task's run\n")


if __name__ == "__main__":
    main()
