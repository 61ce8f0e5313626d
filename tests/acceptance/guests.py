"""The hub that tests share, and each test as a user of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

from taskyard.sdk.client import Client
from taskyard.sdk.retry import NEVER, RetryPolicy
from tests.support.live import LONG_LEASES, Door, LiveDaemon, LiveHub

SETTINGS: Final = f"""\
{LONG_LEASES}
[retry]
delay_s = 0.1
[queues.local]
models = ["ollama/qwen2.5"]
[queues.remote]
models = ["remote/qwen3.5"]
[queues.tiny]
models = ["small", "large"]
[queues.busy]
models = []
"""
_NUMBERS: Final = count(1)


class Guest:
    """A hub as one of its users enters it."""

    def __init__(self, hub: LiveHub) -> None:
        self._hub = hub
        self.url, self.port, self.pid = hub.url, hub.port, hub.process.pid
        with hub.client() as admin:
            self.user = admin.add_user(f"guest-{next(_NUMBERS)}").id
            self.key = str(admin.add_key(self.user, name="test", scopes=["tasks", "daemon"]).key)

    def client(self, *, retry: RetryPolicy = NEVER, key: str | None = None, timeout_s: float = 10.0) -> Client:
        return self._hub.client(retry=retry, key=key or self.key, timeout_s=timeout_s)


@contextmanager
def fleet_at_work(door: Door, directory: Path, *, slots: int = 4) -> Iterator[LiveDaemon]:
    """A daemon of `tests/support/fleet.py`."""
    daemon = LiveDaemon(door, directory, "d1", slots)
    daemon.start()
    try:
        yield daemon
    finally:
        daemon.process.end()
