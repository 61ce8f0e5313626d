"""A damaged row of the past, in a real hub: an error that names the task, and work that goes on."""

import json
import urllib.request
from typing import Any

import pytest

from taskyard.sdk.errors import Damaged
from tests.support.damage import KINDS, Damager
from tests.support.live import LiveHub, LiveYard, taskyard


def read(hub: LiveHub, path: str) -> bytes:
    asked = urllib.request.Request(f"{hub.url}{path}", headers={"Authorization": f"Bearer {hub.key}"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        content: bytes = answer.read()
        return content


def ready(hub: LiveHub) -> Any:
    return json.loads(read(hub, "/readyz"))


def records(hub: LiveHub, *options: str) -> list[str]:
    """What the doctor says of them."""
    known = {"TASKYARD_DATABASE": hub.database} if hub.database else {}
    said = taskyard("doctor", "--data", str(hub.data), "--json", *options, **known)
    found = [finding for finding in json.loads(said.out) if finding["name"] == "records"]
    assert said.code == any(finding["state"] == "failed" for finding in found), said.out
    return [f"{finding['state']}: {finding['detail']}" for finding in found]


@pytest.mark.both_engines
def test_a_hub_that_meets_a_damaged_task_names_it_goes_on_and_says_so(yard: LiveYard) -> None:
    # Given ended tasks, the newest of which is damaged behind the hub's back
    hub = yard.hub()
    client = hub.client()
    tasks = [client.submit(f"task {number}", type="of nobody") for number in (1, 2)]
    for task in tasks:
        client.cancel(task.id)
    whole, hurt = tasks
    assert ready(hub) == {"status": "ready"}
    place = str(hub.data / "taskyard.db") if hub.database is None else hub.database
    damage = Damager(yard.engine, place)
    for kind in ("a column that is not UTF-8", "a record with other bytes"):
        damage.do(KINDS[kind], id=hurt.id)

    # When it is read, or named by a command
    for ask in (
        lambda: client.task(hurt.id),
        lambda: client.task("T-002"),
        lambda: client.retry(hurt.id),
        lambda: client.submit("later", type="of nobody", depends_on=[hurt.id]),
    ):
        with pytest.raises(Damaged) as refused:
            ask()
        assert (refused.value.status, refused.value.code) == (500, "RECORD_DAMAGED")
        assert f"task {hurt.id} (T-002)" in refused.value.detail
        assert "taskyard doctor --deep" in refused.value.detail

    # Then the others are read, a list shows it as damaged, and work is taken
    assert client.task(whole.id).status == "cancelled"
    assert [(task.ref, task.error and task.error.code) for task in client.tasks()] == [
        ("T-002", "RECORD_DAMAGED"),
        ("T-001", None),
    ]
    assert client.submit("go on", type="of nobody").status == "queued"

    # And the hub, its metrics and the doctor say that there is one
    assert ready(hub) == {"status": "ready", "damaged_records": 1}
    assert b"taskyard_damaged_records_total 1.0\n" in read(hub, "/metrics")
    assert (hub.data / "hub.log").read_text().count('"record.damaged"') == 1
    (plain,) = records(hub)
    assert plain.startswith("failed: ")
    (deep,) = records(hub, "--deep")
    assert hurt.id in deep

    # And the next hub starts beside it
    hub.restart()
    assert ready(hub) == {"status": "ready"}
    assert client.task(whole.id).status == "cancelled"
    assert hub.process.exit_code is None
