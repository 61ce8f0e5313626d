"""Every policy that watches attempts hears of each grant, each start and each end, once."""

import pytest

from taskyard.core import aftermath
from taskyard.core.state import Daemon, Turn
from taskyard.core.task import Attempt, Task
from tests.support.harness import HubHarness


def test_every_grant_every_start_and_every_end_is_heard_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[str, str, int, str]] = []

    def hears(what: str) -> aftermath.Hook:
        def hook(turn: Turn, task: Task, attempt: Attempt, daemon: Daemon) -> None:
            assert task.id in turn.state.begun, "its clock is still there"
            heard.append((what, task.id, attempt.number, attempt.status))

        return hook

    monkeypatch.setattr(aftermath, "ON_GRANT", (hears("granted"),))
    monkeypatch.setattr(aftermath, "ON_START", (hears("started"),))
    monkeypatch.setattr(aftermath, "ON_END", (hears("ended"),))
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.fail(task)
    hub.live(s=60, starting=True)
    hub.complete(task)
    assert heard == [
        ("granted", task.id, 1, "running"),
        ("started", task.id, 1, "running"),
        ("ended", task.id, 1, "failed"),
        ("granted", task.id, 2, "running"),
        ("started", task.id, 2, "running"),
        ("ended", task.id, 2, "success"),
    ]
