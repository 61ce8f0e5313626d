"""Promise 1 on a full disk, the hub's or its server's: it answers 503, what runs goes on, nothing acknowledged is lost,
room is the cure."""

import os
import signal
from pathlib import Path

import pytest

from taskyard.sdk.client import Client
from taskyard.sdk.errors import Unavailable
from tests.support.live import (
    STUBBORN,
    LiveDaemon,
    LiveHub,
    LiveYard,
    get_status,
    live_yard,
    mounted,
    wait_online,
    wait_until,
)
from tests.support.postgres import TEMPLATE, a_cluster

DISK_MIB = 10
SERVER_MIB = 40
# An empty database takes a quarter of it.
TIMES_FULL = 3
RUNS_MS = 1_500
BODY = "x" * 20_000
SUBMISSIONS_MAX = 500
# The write-ahead log has room of its own that it uses up before it asks the disk for more.
RECOVERY_S = 20.0


def wait_journaled(daemon: LiveDaemon, what: str, count: int) -> None:
    line = f'"{what}"'.encode()
    wait_until(lambda: daemon.journal.read_bytes().count(line) == count, within_s=20, what=f"{count} of {what}")


def fill(room: Path) -> Path:
    """Until not another byte fits."""
    filler = room / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (64 * 1024, 512):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return filler


def submit_until_refused(client: Client, acknowledged: list[str]) -> Unavailable:
    for _ in range(SUBMISSIONS_MAX):
        try:
            task = client.submit(BODY, type="kept", scheduled_for="2099-01-01T00:00:00Z")
        except Unavailable as refused:
            return refused
        acknowledged.append(task.id)
    raise AssertionError(f"{SUBMISSIONS_MAX} submissions fitted on a full disk")


def fill_and_refuse(hub: LiveHub, room: Path, client: Client, acknowledged: list[str]) -> Path:
    """From the first refusal on, the hub says that it lives and is not ready."""
    filler = fill(room)
    refused = submit_until_refused(client, acknowledged)
    assert refused.status == 503
    assert refused.code in ("STORE_UNAVAILABLE", "OUTCOME_UNKNOWN")
    assert refused.retry_after is not None
    assert get_status(f"{hub.url}/healthz") == 200
    assert get_status(f"{hub.url}/readyz") == 503
    again = submit_until_refused(client, acknowledged)
    assert again.code == "STORE_UNAVAILABLE"
    return filler


def fill_again_and_again(yard: LiveYard, hub: LiveHub, room: Path) -> None:
    daemon = yard.daemon(hub)
    client, patient = hub.client(), hub.client(retry=STUBBORN)
    wait_online(client, 1)
    acknowledged: list[str] = []
    for count in range(1, TIMES_FULL + 1):
        running = client.submit("goes on", type="record", payload={"ms": RUNS_MS}).id
        wait_journaled(daemon, "start", count)
        filler = fill_and_refuse(hub, room, client, acknowledged)
        wait_journaled(daemon, "end", count)

        filler.unlink()
        wait_until(hub.is_ready, within_s=RECOVERY_S, what="a hub that recovers by itself")
        assert patient.task(running, wait_s=20).status == "completed"
        assert len(patient.task(running).attempts) == 1
        assert patient.submit("after", type="noop").wait(20).status == "completed"

    kept = [task.id for task in patient.tasks(type="kept")]
    assert set(acknowledged) <= set(kept)
    assert len(kept) - len(acknowledged) <= TIMES_FULL, "only what was answered with OUTCOME_UNKNOWN may be there too"


@pytest.mark.slow
def test_a_full_disk_refuses_new_work_loses_nothing_and_recovers_by_itself(yard: LiveYard) -> None:
    room = yard.directory / "yard"
    room.mkdir()
    hub = yard.hub(prefix=mounted(room, options=f"-t tmpfs -o size={DISK_MIB}m none"))
    fill_again_and_again(yard, hub, hub.seen_data)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount for a server that refuses to run as root")
def test_a_full_disk_of_the_server_refuses_new_work_loses_nothing_and_recovers_by_itself(tmp_path: Path) -> None:
    with a_cluster() as server, live_yard(tmp_path) as yard:
        # Given a server whose database lies on a small disk
        room = server.directory / "small"
        room.mkdir()
        owner = server.directory.stat().st_uid
        mount = f'mount -t tmpfs -o size={SERVER_MIB}m,uid={owner} none "$0" && exec "$@"'
        server.stop(signal.SIGINT)
        server.prefix = ("unshare", "--mount", "sh", "-c", mount, str(room))
        server.start()
        server.administer(f"CREATE TABLESPACE small LOCATION '{room}'")
        server.administer(f"CREATE DATABASE yard TEMPLATE {TEMPLATE} TABLESPACE small")
        hub = yard.hub(database=server.url("yard"))
        # When it is full, then the same holds as of the hub's own
        fill_again_and_again(yard, hub, server.seen(room))
