"""A backup is put in a hub's place while its daemon works on: the daemon proves what is missing."""

import shutil

import pytest

from taskyard.vocabulary import EPOCHS_PER_ERA, REFS_PER_ERA
from tests.acceptance.test_settings_change import await_said
from tests.support.live import LONG_LEASES, LiveYard, taskyard, wait_online, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.takes(8)]

ACCEPTS = f'{LONG_LEASES}[cluster]\non_rewind = "accept"\n'
SOON_S = 60.0


def test_a_hub_on_a_file_that_is_told_to_accept_goes_on_in_a_new_era_by_itself(yard: LiveYard) -> None:
    # Given a hub whose daemon has seen commits that its backup lacks
    hub = yard.hub(settings=ACCEPTS)
    backup = yard.directory / "backup.db"
    with hub.client() as client:
        yard.daemon(hub)
        wait_online(client, 1)
        first = client.submit("kept", type="sleep", payload={"ms": 1})
        assert taskyard("backup", str(backup), "--data", str(hub.data)).code == 0
        lost = [client.submit("lost", type="sleep", payload={"ms": 1}) for _ in range(2)]
        for task in lost:
            wait_until(lambda id=task.id: client.task(id).status == "completed", within_s=SOON_S, what="it is done")
    assert hub.process.terminate() == 0

    # When the backup takes the place of the file
    for file in hub.data.glob("taskyard.db*"):
        file.unlink()
    shutil.copy(backup, hub.data / "taskyard.db")
    hub.start()

    # Then the daemon proves it, and the same process serves on in a new era, in which no ref is given again
    told = await_said(hub, "hub.rewound", 1)["data"]
    assert "that daemon d1" in told["reason"]
    wait_until(lambda: await_said(hub, "hub.started", 3), within_s=SOON_S, what="it serves again")
    hub.wait_ready()
    with hub.client() as client:
        assert await_said(hub, "hub.started", 3)["data"]["epoch"] == EPOCHS_PER_ERA
        task = client.submit("after", type="sleep", payload={"ms": 1})
        assert int(task.ref.removeprefix("T-")) > REFS_PER_ERA
        assert task.ref not in {first.ref, *(one.ref for one in lost)}
        assert "rewind.accepted" in {entry.action for entry in client.audit()}
