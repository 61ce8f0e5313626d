"""Daemon and hub are killed between an agent's exit and its acknowledgement: no result is lost, nothing runs twice.

`python -m tests.acceptance.kept_work --kills N`: so many kills on each engine.

Every other kill is sure to fall there: its victim is stopped while the agents end, and killed then. The others fall
shortly after an end, wherever that is.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from taskyard.sdk.client import Client
from taskyard.vocabulary import ENDED
from tests.acceptance.faults import LEASE_S, settings
from tests.support.agent_daemon import AgentDaemon
from tests.support.engines import Engine
from tests.support.live import STUBBORN, LiveHub, LiveYard, live_yard, wait_online, wait_until

AGENTS: Final = 3
WAIT_S: Final = 60.0
SOON_S: Final = 0.06
"""Within which most acknowledgements fall."""


@dataclass
class Kills:
    """What was killed, and what came of the work."""

    number: Counter[str] = field(default_factory=Counter)
    tasks: int = 0
    broken: list[str] = field(default_factory=list)


class KeptWork:
    def __init__(self, live: LiveYard, seed: int, lease_s: float = LEASE_S) -> None:
        self._dice = random.Random(seed)
        self._directory = live.directory
        self._hub: LiveHub = live.hub(settings=settings(lease_s))
        self._daemon = AgentDaemon(self._hub, live.directory)
        self.kills = Kills()

    def run(self, kills: int) -> Kills:
        self._daemon.start()
        try:
            with self._hub.client(retry=STUBBORN) as client:
                wait_online(client, 1)
                for number in range(kills):
                    self._kill(client, number)
        finally:
            self._daemon.end()
        return self.kills

    def _kill(self, client: Client, number: int) -> None:
        victim = self._hub if number % 2 else self._daemon
        is_sure = number % 4 < 2
        go = f"go-{number}"
        ids = [client.submit(go).id for _ in range(AGENTS)]
        wait_until(lambda: self._all("start", ids), within_s=WAIT_S, what="agents at work")
        if is_sure:
            victim.process.pause()
        (self._directory / go).touch()
        wait_until(lambda: self._all("end", ids), within_s=WAIT_S, what="agents that ended", every_s=0.002)
        if not is_sure:
            time.sleep(self._dice.uniform(0.0, SOON_S))
        victim.process.kill()
        victim.start()
        self.kills.number["hub" if victim is self._hub else "daemon"] += 1
        for id in ids:
            self._judge(client, id)

    def _all(self, what: str, ids: Sequence[str]) -> bool:
        noted = self._daemon.noted(what)
        return all(id in noted for id in ids)

    def _judge(self, client: Client, id: str) -> None:
        wait_until(lambda: client.task(id).status in ENDED, within_s=WAIT_S, what=f"the end of {id} at the hub")
        task = client.task(id)
        self.kills.tasks += 1
        runs = self._daemon.noted("start")[id]
        if task.status != "completed" or task.result != {"answer": id}:
            self.kills.broken.append(f"{id}: its result is lost: {task.status}, {task.result}, {task.error}")
        if runs != 1 or len(task.attempts) != 1:
            told = [f"{attempt.status}: {attempt.error}" for attempt in task.attempts]
            self.kills.broken.append(f"{id}: ran {runs} times: {told}")


def run(directory: Path, *, kills: int, seed: int, engine: Engine) -> Kills:
    with live_yard(directory, engine) as live:
        return KeptWork(live, seed).run(kills)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.kept_work")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    is_broken = False
    for engine in (Engine.SQLITE, Engine.POSTGRES):
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="taskyard-kept-") as directory:
            kills = run(Path(directory), kills=asked.kills, seed=asked.seed, engine=engine)
        took_s = time.monotonic() - began
        print(f"{engine}: {dict(kills.number)} killed, {kills.tasks} tasks, broken {len(kills.broken)}, {took_s:.0f} s")
        print(*kills.broken, sep="\n")
        is_broken = is_broken or bool(kills.broken)
    return 1 if is_broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
