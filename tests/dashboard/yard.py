"""A yard for the browser tests, and what its people can do there without a browser."""

import sys
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import BrowserContext

from taskyard.sdk.client import Client
from tests.support.live import LiveHub, LiveYard, Process, environment, wait_online, wait_until

SETTLED_S: Final = 60.0

SETTINGS: Final = """\
[lease]
heartbeat_s = 0.4
accept_s = 30
cancel_grace_s = 2

[retry]
delay_s = 0.1
delay_max_s = 0.2

[limits.rate.user]
per_minute = 100000
per_hour = 100000
"""
"""Fast where a person would wait; slow where a busy machine would lose work; everything else as by default."""
PATIENT: Final = """
[breakers]
half_open_after = 1800
cooldown = 3600
"""
"""A breaker that was opened stays open for as long as anybody looks."""


class Yard:
    """One hub and its daemons, for all tests of a module."""

    def __init__(
        self,
        live: LiveYard,
        *,
        settings: str = SETTINGS,
        port: int | None = None,
        prepare: Callable[[Path], None] = lambda _: None,
    ) -> None:
        """`prepare` is called with the data directory before the hub starts."""
        self._live = live
        self._crew: list[Process] = []
        self.hub: LiveHub = live.hub(settings=settings, port=port, start=False)
        prepare(self.hub.data)
        self.hub.start()
        self.client: Client = self.hub.client()

    @property
    def url(self) -> str:
        return self.hub.url

    def crew(self, name: str = "d1", *, slots: int = 4, wait: bool = True, **words: Sequence[str]) -> Process:
        """A daemon that does what its tasks say, once it is there; `words` are `can`, `models` and `types`."""
        command = [
            *(sys.executable, "-m", "tests.dashboard.crew", "--name", name, "--slots", str(slots), "--shared"),
            *("--data", str(self._live.directory / name)),
            *(f"--{option}={','.join(values)}" for option, values in words.items()),
        ]
        env = environment(TASKYARD_HUB=self.hub.url, TASKYARD_KEY=self.hub.key)
        process = Process(command, output=self._live.directory / f"{name}.out", env=env)
        self._crew.append(process)
        if wait:
            wait_online(self.client, len(self._crew))
        return process

    def submit(self, title: str, **options: Any) -> Any:
        """A task of the owner's."""
        script = options.pop("script", None)
        if script is not None:
            options["payload"] = script
        return self.client.submit(options.pop("input", f"{title}."), title=title, **options)

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        return wait_until(condition, within_s=SETTLED_S, what=what)

    def until_status(self, task: str, *statuses: str) -> Any:
        """The task, once it stands so."""

        def stands() -> Any:
            found = self.client.task(task)
            return found if found.status in statuses else None

        return self.until(stands, f"{task} {' or '.join(statuses)}")

    def person(self, name: str, *, plan: str | None = None, scopes: Sequence[str] = ("tasks",)) -> str:
        """A new user's key."""
        self.client.add_user(name, plan=plan)
        return str(self.client.add_key(name, name="browser", scopes=list(scopes)).key)

    def link(self) -> str:
        """The one that the hub printed when it last started; it signs in once."""

        def printed() -> str | None:
            words = self.hub.process.said.split()
            links = [word for word in words if word.startswith(f"{self.url}/?ticket=")]
            return links[-1] if links else None

        return str(self.until(printed, "a sign-in link"))

    def sign_in(self, context: BrowserContext, key: str | None = None) -> None:
        """As the page's form does it, but without the form."""
        answer = context.request.post(
            f"{self.url}/api/v1/session", data={"key": key or self.hub.key}, headers={"X-Taskyard-Request": "1"}
        )
        assert answer.status == 204, answer.text()

    def get(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an address, to whoever asks."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=10) as answer:
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()

    def end(self) -> None:
        """Its daemons are killed: asked to leave, they would first finish what they run."""
        for process in self._crew:
            process.kill()
