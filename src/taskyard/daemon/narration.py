"""What a daemon in a terminal says of its work: a line when some begins and one when it ends, never what is in it.

Errors are told by their code alone: what an agent says of its failure may quote what it was given. Work that ends by
the thousand is told in part, since a terminal is slower than a daemon.
"""

from collections.abc import Callable
from typing import Final

from taskyard.daemon.connection import Connection, Keeper, Runner, logger
from taskyard.daemon.journal import Journal
from taskyard.daemon.orders import Key, Start, Stop
from taskyard.daemon.protocol import Ended
from taskyard.daemon.protocol import Protocol as Machine
from taskyard.daemon.python_runner import Work
from taskyard.wire.frames import TaskCompleted, TaskFailed

LINES_MAX: Final = 20
"""In a second; of more it is said how many there were."""
NAME_CHARS_MAX: Final = 60


class Narration:
    """Called on the loop, with whose clock it counts."""

    def __init__(self, say: Callable[[str], None], clock_s: Callable[[], float]) -> None:
        self._say = say
        self._clock_s = clock_s
        self._begun: dict[Key, tuple[str, float]] = {}
        self._second = 0
        self._said = 0
        self._left_out = 0

    def begins(self, start: Start) -> None:
        task, (task_id, number) = start.task, start.key
        name = task_id if task is None or not task.ref else task.ref
        self._begun[start.key] = name, self._clock_s()
        kind = "" if task is None else f" {task.type[:NAME_CHARS_MAX]},"
        self._tell(f"{name} begins:{kind} attempt {number}")

    def ends(self, message: Ended) -> None:
        name, lasted = self._over((message.task_id, message.attempt))
        match message:
            case TaskCompleted():
                self._tell(f"{name} is done after {lasted}")
            case TaskFailed():
                self._tell(f"{name} failed after {lasted}: {message.error.code[:NAME_CHARS_MAX]}")
            case _:
                self._tell(f"{name} is given back after {lasted}")

    def stops(self, key: Key, why: str) -> None:
        name, lasted = self._over(key)
        self._tell(f"{name} stopped after {lasted}: {why}")

    def _over(self, key: Key) -> tuple[str, str]:
        name, at_s = self._begun.pop(key, (key[0], self._clock_s()))
        return name, f"{self._clock_s() - at_s:.1f} s"

    def _tell(self, line: str) -> None:
        second = int(self._clock_s())
        if second != self._second:
            self._second, self._said = second, 0
        if self._said == LINES_MAX:
            self._left_out += 1
            return
        if self._left_out:
            self._say(f"… {self._left_out} more lines came too fast")
            self._left_out = 0
        self._said += 1
        self._say(line)


class _Heard(Runner):
    """Another one, of whose starts it is told."""

    def __init__(self, runner: Runner, narration: Narration) -> None:
        self._runner = runner
        self._narration = narration

    def start(self, start: Start) -> None:
        self._narration.begins(start)
        self._runner.start(start)

    def stop(self, stop: Stop) -> None:
        self._runner.stop(stop)

    def close(self) -> None:
        self._runner.close()


class NarratedConnection(Connection):
    """A class of its own, so that a daemon which nobody watches pays nothing for it."""

    def __init__(self, machine: Machine, journal: Journal, *, hub: str, key: str, keeper: Keeper | None = None) -> None:
        super().__init__(machine, journal, hub=hub, key=key, keeper=keeper)
        self._narration = Narration(lambda line: logger.info("%s", line), self._loop.time)

    async def serve(self, make_runner: Callable[[Work], Runner]) -> None:
        await super().serve(lambda work: _Heard(make_runner(work), self._narration))

    def ended(self, message: Ended) -> None:
        self._narration.ends(message)
        super().ended(message)

    def stopped(self, key: Key) -> None:
        ending = self.machine.live[key].ending
        self._narration.stops(key, "by itself" if ending is None else ending.replace("_", " "))
        super().stopped(key)
