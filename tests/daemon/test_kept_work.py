"""Processes without their daemon: exclusive ones end with the lease, the others wait for the next daemon."""

import asyncio
import os
from pathlib import Path

import pytest

from taskyard.daemon.clock import now_ms
from taskyard.daemon.orders import Key
from taskyard.daemon.process.launching import Launch
from taskyard.daemon.process.processes import Processes

pytestmark = pytest.mark.slow

PATIENCE_S = 60.0
ONE: Key = ("t1", 1)
TWO: Key = ("t2", 1)


def sleeping(key: Key, directory: Path, *, exclusive: bool = False, script: str = "sleep 60") -> Launch:
    argv = ["/bin/sh", "-c", script]
    return Launch(key=key, argv=argv, env={"PATH": "/usr/bin:/bin"}, cwd=str(directory), exclusive=exclusive)


@pytest.mark.parametrize("is_daemon_there", [True, False])
def test_exclusive_work_is_gone_when_the_lease_ends_and_other_work_goes_on(
    tmp_path: Path, is_daemon_there: bool
) -> None:
    async def main() -> None:
        # Given two processes, of which one must not outlive the lease, and a lease that was renewed once
        daemon = Processes(tmp_path / "p")
        await daemon.open()
        alone = await daemon.launch(sleeping(ONE, tmp_path, exclusive=True))
        other = await daemon.launch(sleeping(TWO, tmp_path))
        daemon.lease_lasts_until(now_ms() + 60_000)
        daemon.lease_lasts_until(now_ms() + 400)

        # When nobody renews it, because the hub is silent or the daemon is gone
        if not is_daemon_there:
            daemon.let_go()
            daemon = Processes(tmp_path / "p")
            alone, other = sorted(await daemon.open(), key=lambda running: running.key)
        how = await alone.wait()

        # Then the one was killed and the other runs
        assert how.stopped
        assert other.exit is None
        await daemon.close()

    asyncio.run(asyncio.wait_for(main(), PATIENCE_S))


def test_whoever_waits_for_work_that_was_let_go_is_cancelled_and_the_next_daemon_hears_its_end(tmp_path: Path) -> None:
    async def main() -> None:
        first = Processes(tmp_path / "p")
        await first.open()
        running = await first.launch(sleeping(ONE, tmp_path, script="read line < fifo; exit 7"))
        waiting = asyncio.create_task(running.wait())
        await asyncio.sleep(0)
        first.let_go()
        assert isinstance((await asyncio.gather(waiting, return_exceptions=True))[0], asyncio.CancelledError)

        second = Processes(tmp_path / "p")
        [adopted] = await second.open()
        await asyncio.to_thread((tmp_path / "fifo").write_text, "go\n")
        assert (await adopted.wait()).code == 7
        adopted.forget()
        await second.close()

    os.mkfifo(tmp_path / "fifo")
    asyncio.run(asyncio.wait_for(main(), PATIENCE_S))
