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

pytestmark = pytest.mark.takes(15)

DISK_MIB = 10
SERVER_MIB = 40
# An empty database takes a quarter of it.
TIMES_FULL = 2
RUNS_MS = 1_500
BODY = "x" * 20_000
SUBMISSIONS_MAX = 500
# The write-ahead log has room of its own that it uses up before it asks the disk for more.
RECOVERY_S = 60.0
SHUT_S = 60.0


def wait_journaled(daemon: LiveDaemon, what: str, count: int) -> None:
    line = f'"{what}"'.encode()
    wait_until(lambda: daemon.journal.read_bytes().count(line) == count, within_s=60, what=f"{count} of {what}")


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


class Submitter:
    """Hands in what does not fit on a full disk, and keeps how it was answered."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.acknowledged: list[str] = []
        self.unknown = 0

    def until_refused(self) -> Unavailable:
        for _ in range(SUBMISSIONS_MAX):
            try:
                task = self._client.submit(BODY, type="kept", scheduled_for="2099-01-01T00:00:00Z")
            except Unavailable as refused:
                self.unknown += refused.code == "OUTCOME_UNKNOWN"
                return refused
            self.acknowledged.append(task.id)
        raise AssertionError(f"{SUBMISSIONS_MAX} submissions fitted on a full disk")


def refuse(hub: LiveHub, submitter: Submitter) -> None:
    """A hub whose commit failed says that it lives and is not ready, and does not try with the next one."""
    refused = submitter.until_refused()
    assert refused.status == 503
    assert refused.code in ("STORE_UNAVAILABLE", "OUTCOME_UNKNOWN")
    assert refused.retry_after is not None
    assert get_status(f"{hub.url}/healthz") == 200

    def is_shut() -> bool:
        submitter.until_refused()
        return get_status(f"{hub.url}/readyz") == 503 and submitter.until_refused().code == "STORE_UNAVAILABLE"

    # Where a task does not fit, the small commit may by which a hub finds out that there is room: from a tenth of
    # a second on it may be ready again, and try the next task.
    wait_until(is_shut, within_s=SHUT_S, what="a hub that is not ready")


def fill_again_and_again(yard: LiveYard, hub: LiveHub, room: Path) -> None:
    daemon = yard.daemon(hub)
    client, patient = hub.client(), hub.client(retry=STUBBORN)
    wait_online(client, 1)
    submitter = Submitter(client)
    for count in range(1, TIMES_FULL + 1):
        running = client.submit("goes on", type="record", payload={"ms": RUNS_MS}).id
        wait_journaled(daemon, "start", count)
        filler = fill(room)
        refuse(hub, submitter)
        wait_journaled(daemon, "end", count)

        filler.unlink()
        wait_until(hub.is_ready, within_s=RECOVERY_S, what="a hub that recovers by itself")
        assert patient.task(running, wait_s=20).status == "completed"
        assert len(patient.task(running).attempts) == 1
        assert patient.submit("after", type="noop").wait(20).status == "completed"

    kept = [task.id for task in patient.tasks(type="kept")]
    assert set(submitter.acknowledged) <= set(kept)
    surplus = len(kept) - len(submitter.acknowledged)
    assert surplus <= submitter.unknown, "only what was answered with OUTCOME_UNKNOWN may be there too"


@pytest.mark.slow
def test_a_full_disk_refuses_new_work_loses_nothing_and_recovers_by_itself(tmp_path: Path) -> None:
    with live_yard(tmp_path) as yard:
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
