"""One worker process for the harness: a daemon that runs `noop`. Started by `peer_taskyard.py`.

TASKYARD_DATA=… python taskyard_worker.py NAME SLOTS
"""

import sys

from probe import hit  # type: ignore[import-not-found]  # the harness puts its own directory on the path

from taskyard import Client, Daemon
from taskyard.daemon.task import Task


def main(name: str, slots: str) -> None:
    found = Client().credentials
    daemon = Daemon(found.hub, found.key, name=name, slots=int(slots))

    @daemon.task("noop")
    async def noop(task: Task) -> None:
        hit(task.payload)

    # What a worker has begun when the harness stops it is done at once; there is nothing to wait for.
    daemon.run(drain_s=1.0)


main(*sys.argv[1:])
