"""Processes of a daemon for tests: one that is launched, what it said, who keeps it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from taskyard.daemon.orders import Key
from taskyard.daemon.process import tree
from taskyard.daemon.process.launching import PLAIN, Launch, Limits, Sandbox, Stream
from taskyard.daemon.process.places import Places
from taskyard.daemon.process.processes import Processes
from taskyard.daemon.process.running import Running
from tests.support import hostile
from tests.support.live import wait_until

PATIENCE_S = 60.0
ONE: Key = ("t1", 1)
PATH = {"PATH": "/usr/bin:/bin"}

Scenario = Callable[[Processes], Awaitable[None]]


def play(directory: Path, scenario: Scenario) -> None:
    async def main() -> None:
        processes = Processes(directory)
        await processes.open()
        try:
            async with asyncio.timeout(PATIENCE_S):
                await scenario(processes)
        finally:
            await processes.close()

    asyncio.run(main())


def shell(
    script: str,
    directory: Path,
    *,
    key: Key = ONE,
    stdin: bytes = b"",
    limits: Limits | None = None,
    sandbox: Sandbox = PLAIN,
) -> Launch:
    argv = ["/bin/sh", "-c", script]
    limits = limits or Limits()
    return Launch(key=key, argv=argv, env=PATH, cwd=str(directory), stdin=stdin, limits=limits, sandbox=sandbox)


async def said(running: Running) -> dict[Stream, bytes]:
    texts = dict.fromkeys(Stream, b"")
    async for chunk in running:
        texts[chunk.stream] += chunk.data
    return texts


def keeper_of(directory: Path) -> tree.Identity:
    card = Places(directory).card()
    assert card is not None
    return tree.Identity(card.pid, card.started)


def wait_gone(keeper: tree.Identity) -> None:
    wait_until(lambda: tree.identify(keeper.pid) != keeper, within_s=30, what="the end of the keeper")


def a_hostile(kind: str, roll: Path, key: Key = ONE, limits: Limits | None = None) -> Launch:
    argv = hostile.command(kind, roll)
    return Launch(key=key, argv=argv, env=PATH, cwd=str(roll.parent), limits=limits or Limits())
