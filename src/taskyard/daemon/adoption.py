"""Work in processes, joined to the protocol: taken up again after a restart, and kept until its outcome is safe.

A process outlives its daemon. The next daemon of this directory lists it to the hub as running, also if it has ended
meanwhile: whoever follows it then finds its end and tells it. What an attempt leaves behind (its files, how it
ended) is what that is read from, so it stays until the hub or the journal has the outcome.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from taskyard.daemon.command.agent import start_of
from taskyard.daemon.orders import Key
from taskyard.daemon.process.processes import Processes
from taskyard.daemon.process.running import Running
from taskyard.daemon.protocol import Protocol as Machine
from taskyard.daemon.python_runner import ANY_TYPE
from taskyard.daemon.task import read_task
from taskyard.daemon.threads import off_loop

END_S: Final = 10.0
"""How long work that nobody can take up may take to be gone, before the hub hears that it is not there."""


class Program(Protocol):
    """Serves tasks with processes."""

    processes: Processes | None
    when_safe: Callable[[Key, Callable[[], None]], None]
    """Called at the end of an attempt, with what frees the rest of it."""

    def adopt(self, running: Running) -> None: ...


class Adoption:
    def __init__(self, processes: Processes, programs: Mapping[str, Program]) -> None:
        """Programs by the types they serve."""
        self._processes = processes
        self._programs = programs
        self._kept: dict[Key, Callable[[], None]] = {}
        self._releasing: set[asyncio.Task[None]] = set()

    async def begin(self, machine: Machine) -> None:
        """Before the daemon says hello."""
        self.admit()
        dropped = [running for running in await self._processes.open() if not self._is_taken_up(machine, running)]
        for running in dropped:
            running.stop(0)
            running.forget()
        if dropped:
            await asyncio.wait([asyncio.ensure_future(running.wait()) for running in dropped], timeout=END_S)

    def admit(self) -> None:
        """The programs there are now run theirs here."""
        for program in self._programs.values():
            program.processes = self._processes
            program.when_safe = self._kept.__setitem__

    def _is_taken_up(self, machine: Machine, running: Running) -> bool:
        how = running.exit
        if how is not None and (how.stopped or how.lost):
            return False  # nobody can say what it came to: it is lost, and the hub runs it again
        try:
            start = start_of(running)
            type_ = read_task(start.execute).type
        except (ValueError, RecursionError):
            return False  # what is written there is not what we wrote
        program = self._programs.get(type_) or self._programs.get(ANY_TYPE)
        if program is None or not machine.adopt(start):
            return False
        program.adopt(running)
        return True

    async def close(self) -> None:
        """Returns when nothing runs any more, and what may go of it is gone."""
        await self._processes.close()
        if self._releasing:
            await asyncio.wait(self._releasing)

    # --- told by the connection ----------------------------------------------------------------------------

    def settled(self, key: Key) -> None:
        if (release := self._kept.pop(key, None)) is not None:
            releasing = asyncio.create_task(off_loop(release))
            self._releasing.add(releasing)
            releasing.add_done_callback(self._releasing.discard)

    def lease_lasts_until(self, until_ms: int) -> None:
        self._processes.lease_lasts_until(until_ms)

    def let_go(self) -> None:
        self._processes.let_go()
