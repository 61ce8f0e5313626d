"""Tasks that their daemons did not survive."""

from taskyard.core.state import Daemon
from taskyard.core.task import Task
from tests.support.harness import HubHarness, Status, attempt_of


def kill(hub: HubHarness, task: Task) -> None:
    """The process of the daemon that runs it dies, and a new one comes back."""
    daemon = hub.state.daemons[attempt_of(task).daemon_id]
    old = daemon.record
    hub.disconnect(daemon)
    number = int(old.boot_id.partition("-")[2]) + 1
    hub.daemon(old.name, boot=f"boot-{number}", slots=old.slots)


def a_suspect(hub: HubHarness) -> Task:
    task = hub.run(hub.submit())
    for _ in range(3):
        kill(hub, task)
        if task.status is Status.SCHEDULED:
            hub.run(task)
    assert task.trouble is not None
    assert task.trouble.suspect
    return task


def two_busy_daemons(hub: HubHarness) -> tuple[Daemon, Daemon, Task]:
    """A suspect that waits, and two daemons that are never empty at the same time."""
    hub.daemon("a")
    task = a_suspect(hub)
    one, two = hub.daemon("b"), hub.daemon("c")
    for name in ("b", "c"):
        hub.run(hub.submit(target=name))
        hub.run(hub.submit(target=name))
    # Silence sends it back to the queue.
    hub.disconnect(hub.state.daemons["d-a"])
    for _ in range(8):
        hub.advance(s=5)
        for daemon in (one, two):
            hub.beat(daemon, *daemon.holding.values())
    assert task.status is Status.QUEUED
    return one, two, task
