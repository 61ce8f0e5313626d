"""Settings that change while the hub runs: the file is looked at now and then, and at once on SIGHUP.

A good file is applied whole, in order with all other decisions; a bad one is reported and changes nothing. A file that
is gone means the defaults. One that is just being written looks different from one look to the next: it is left alone
until it does not.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from taskyard.core.settings import Settings
from taskyard.core.yard_commands import RefuseSettings
from taskyard.gateway import port
from taskyard.gateway.port import Unavailable
from taskyard.hub.observe import Log
from taskyard.hub.settings import BadSettings, FileSettings, core_settings, names_changed
from taskyard.hub.yard import CannotStart
from taskyard.sdk.standard_error import tell

LOOK_S: Final = 0.5

Stamp = tuple[int, int, int] | None
"""By what a changed file is recognised; None: there is none."""


NEVER: Final = (-1, -1, -1)


def stamp_of(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Source(Protocol):
    """What the settings are read from."""

    @property
    def file(self) -> Path: ...

    def read(self) -> FileSettings:
        """Raises `BadSettings` or `CannotStart`."""


class Hub(port.Hub, Protocol):
    """Whose settings change."""

    async def change_settings(self, settings: Settings, names: tuple[str, ...]) -> None:
        """Raises `Unavailable`."""


class Reload:
    """Looks after one file for one hub."""

    def __init__(
        self,
        source: Source,
        hub: Hub,
        log: Log,
        *,
        now: FileSettings,
        stamp: Stamp,
        told: asyncio.Event,
        adopt: Callable[[FileSettings], None],
    ) -> None:
        """`now` holds, as the file said when it had this stamp; `adopt` is for all that stands around the core.

        Whoever sets `told` has it looked at at once, also if it looks the same.
        """
        self._source = source
        self._hub = hub
        self._log = log
        self._now = now
        self._judged = self._seen = stamp
        self._told = told
        self._adopt = adopt
        warn_of_plans(hub, log)

    async def run(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._told.wait()
            is_told = self._told.is_set()
            self._told.clear()
            await self.look(is_told=is_told)

    async def look(self, *, is_told: bool = False) -> None:
        stamp = stamp_of(self._source.file)
        is_settled, self._seen = stamp == self._seen, stamp
        if not is_told and (stamp == self._judged or not is_settled):
            return
        try:
            await self._judge()
            self._judged = stamp
        except Unavailable:
            # The store is away: they are judged again at the next look, and until then nothing has changed.
            self._judged = NEVER

    async def _judge(self) -> None:
        try:
            new = self._source.read()
        except (BadSettings, CannotStart) as bad:
            await self._refuse(str(bad))
            return
        names = names_changed(self._now, new)
        if not names:
            self._log.say("settings.unchanged")
            return
        await self._hub.change_settings(core_settings(new), names)
        self._adopt(new)
        self._now = new
        warn_of_plans(self._hub, self._log)

    async def _refuse(self, reason: str) -> None:
        tell(f"taskyard: {reason}\n")
        try:
            await self._hub.ask(RefuseSettings(reason))
        except Unavailable:
            self._log.say("settings.refused", level="error", reason=reason)


def warn_of_plans(hub: Hub, log: Log) -> None:
    """Users whose plan is in no settings have the limits of those without one."""
    missing = Counter(user.plan for user in hub.directory.users() if user.plan not in (None, *hub.settings.plans))
    for plan, count in missing.items():
        log.say("settings.plan_missing", level="warning", plan=plan, users=count)
