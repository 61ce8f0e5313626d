"""The daemon that comes up with the hub is a process of its own."""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from taskyard.hub import local_daemon, observe
from taskyard.hub.local_daemon import LocalDaemon, holder_of


def test_one_that_never_started_has_nothing_to_stop(tmp_path: Path) -> None:
    asyncio.run(LocalDaemon(tmp_path).stop())


NOWHERE = "http://127.0.0.1:9"


async def test_it_dials_the_hub_that_started_it_with_the_key_it_was_given_and_stops_when_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given an environment that names another hub, and the hub's own key
    monkeypatch.setenv("TASKYARD_HUB", "http://127.0.0.1:1")
    monkeypatch.setenv("TASKYARD_KEY", "tyk_of_another_hub")
    monkeypatch.setenv("TASKYARD_ADMIN_KEY", "tyk_admin")
    daemon = LocalDaemon(tmp_path)

    # When it is started
    daemon.start(NOWHERE, "tyk_own")

    # Then it dials this hub, and has this key and no other
    log = tmp_path / "daemons" / "local" / "daemon.log"
    async with asyncio.timeout(60):
        while "dials" not in log.read_text():
            await asyncio.sleep(0.01)
    assert f"Daemon local dials {NOWHERE} " in log.read_text()
    assert daemon._process is not None
    environment = psutil.Process(daemon._process.pid).environ()
    assert {name: environment.get(name) for name in ("TASKYARD_HUB", "TASKYARD_KEY", "TASKYARD_ADMIN_KEY")} == {
        "TASKYARD_HUB": NOWHERE,
        "TASKYARD_KEY": "tyk_own",
        "TASKYARD_ADMIN_KEY": None,
    }
    await daemon.stop()
    assert "tyk_" not in log.read_text()
    assert os.stat(tmp_path / "daemons" / "local").st_mode & 0o777 == 0o700


async def test_one_that_does_not_listen_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deaf = tmp_path / "deaf"
    deaf.write_text("#!/bin/sh\ntrap '' TERM\necho up\nwhile :; do sleep 0.05; done\n")
    deaf.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(deaf))
    monkeypatch.setattr(local_daemon, "STOP_S", 0.05)
    daemon = LocalDaemon(tmp_path)
    daemon.start(NOWHERE, "tyk_own")
    log = tmp_path / "daemons" / "local" / "daemon.log"
    async with asyncio.timeout(30):
        while "up" not in log.read_text():
            await asyncio.sleep(0.01)
    await daemon.stop()
    assert daemon._process.returncode == -9


def test_its_log_begins_anew_when_it_is_too_long(tmp_path: Path) -> None:
    own = tmp_path / "daemons" / "local"
    own.mkdir(parents=True)
    with (own / "daemon.log").open("wb") as log:
        log.truncate(observe.FILE_BYTES_MAX + 1)

    async def scenario() -> None:
        daemon = LocalDaemon(tmp_path)
        daemon.start(NOWHERE, "tyk_own")
        await daemon.stop()

    asyncio.run(scenario())
    assert (own / "daemon.old.log").exists()
    assert (own / "daemon.log").stat().st_size < observe.FILE_BYTES_MAX


HOLDER = r"""
import fcntl, os, signal, sys
lock = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
fcntl.flock(lock, fcntl.LOCK_EX)
os.pwrite(lock, b"%d\n" % os.getpid(), 0)
print("held", flush=True)
signal.pause()
"""


def test_one_that_a_killed_hub_left_behind_is_stopped_with_the_hub_it_served_since(tmp_path: Path) -> None:
    own = tmp_path / "daemons" / "local"
    own.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(own / "lock")], stdout=subprocess.PIPE) as left_behind:
        assert left_behind.stdout.readline() == b"held\n"
        assert holder_of(own / "lock") == left_behind.pid
        daemon = LocalDaemon(tmp_path)
        daemon._process = subprocess.Popen([sys.executable, "-c", ""])
        daemon._process.wait()
        asyncio.run(daemon.stop())
        assert left_behind.wait(10) == -signal.SIGTERM


def test_one_that_was_left_behind_and_is_gone_before_it_is_told_to_stop_keeps_no_hub_from_stopping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a place that is held, by the number of somebody who is no more
    own = tmp_path / "daemons" / "local"
    own.mkdir(parents=True)
    monkeypatch.setattr(local_daemon, "STOP_S", 0.1)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with (own / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{gone.pid}\n")
        lock.flush()
        daemon = LocalDaemon(tmp_path)
        daemon._process = gone

        # Then the hub stops all the same
        asyncio.run(daemon.stop())


def test_a_lock_that_nobody_holds_names_nobody(tmp_path: Path) -> None:
    assert holder_of(tmp_path / "none") is None
    (tmp_path / "lock").write_text("1\n")
    assert holder_of(tmp_path / "lock") is None
