"""Promise 1 on a full disk: the hub answers 503, what runs goes on, nothing acknowledged is lost, room is the cure."""

from pathlib import Path

import pytest

from taskyard.sdk.client import Client
from taskyard.sdk.errors import Unavailable
from tests.support.live import STUBBORN, LiveDaemon, LiveHub, LiveYard, get_status, mounted, wait_online, wait_until

DISK_MIB = 10
TIMES_FULL = 3
RUNS_MS = 1_500
BODY = "x" * 20_000
SUBMISSIONS_MAX = 500
# The write-ahead log has room of its own that it uses up before it asks the disk for more.
RECOVERY_S = 20.0


def wait_journaled(daemon: LiveDaemon, what: str, count: int) -> None:
    line = f'"{what}"'.encode()
    wait_until(lambda: daemon.journal.read_bytes().count(line) == count, within_s=20, what=f"{count} of {what}")


def fill(hub: LiveHub) -> Path:
    """Until not another byte fits."""
    filler = hub.seen_data / "filler"
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


def fill_and_refuse(hub: LiveHub, client: Client, acknowledged: list[str]) -> Path:
    """From the first refusal on, the hub says that it lives and is not ready."""
    filler = fill(hub)
    refused = submit_until_refused(client, acknowledged)
    assert refused.status == 503
    assert refused.code in ("STORE_UNAVAILABLE", "OUTCOME_UNKNOWN")
    assert refused.retry_after is not None
    assert get_status(f"{hub.url}/healthz") == 200
    assert get_status(f"{hub.url}/readyz") == 503
    again = submit_until_refused(client, acknowledged)
    assert again.code == "STORE_UNAVAILABLE"
    return filler


@pytest.mark.slow
def test_a_full_disk_refuses_new_work_loses_nothing_and_recovers_by_itself(yard: LiveYard) -> None:
    room = yard.directory / "yard"
    room.mkdir()
    hub = yard.hub(prefix=mounted(room, options=f"-t tmpfs -o size={DISK_MIB}m none"))
    daemon = yard.daemon(hub)
    client, patient = hub.client(), hub.client(retry=STUBBORN)
    wait_online(client, 1)
    acknowledged: list[str] = []
    for count in range(1, TIMES_FULL + 1):
        running = client.submit("goes on", type="record", payload={"ms": RUNS_MS}).id
        wait_journaled(daemon, "start", count)
        filler = fill_and_refuse(hub, client, acknowledged)
        wait_journaled(daemon, "end", count)

        filler.unlink()
        wait_until(hub.is_ready, within_s=RECOVERY_S, what="a hub that recovers by itself")
        assert patient.task(running, wait_s=20).status == "completed"
        assert len(patient.task(running).attempts) == 1
        assert patient.submit("after", type="noop").wait(20).status == "completed"

    kept = [task.id for task in patient.tasks(type="kept")]
    assert set(acknowledged) <= set(kept)
    assert len(kept) - len(acknowledged) <= TIMES_FULL, "only what was answered with OUTCOME_UNKNOWN may be there too"
