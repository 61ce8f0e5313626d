"""While nobody leads because commits are missing: everybody who asks is told which, and what to do."""

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse_text

from taskyard.core.eras import Lack
from taskyard.hub import switchboard
from taskyard.sdk.retry import RetryPolicy
from taskyard.store.port import Identity
from taskyard.store.rewind import Missing, Sighting
from tests.gateway.test_events import EVENTS, TASKS, begun, parsed
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
MISSING = Missing(Sighting("hub h_2", Identity("c_1", 4, 358, "t", "b")), Lack(3, is_exact=True))
SAID = "This database lacks 3 commits that hub h_2 saw; the last was commit 358 of epoch 4: it is an older copy."


@pytest.fixture(autouse=True)
def prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switchboard, "HOLD_S", 0.05)


def stop(hub: GatewayHub) -> None:
    """As a hub of several does, when its leader learns of it."""
    hub.lead.guard.stop(MISSING)
    hub.disconnect()
    hub.missing = hub.lead.missing


async def metric(client: Client) -> dict[str, float]:
    response = await client.get("/metrics")
    assert response.status == 200
    return {sample.name: sample.value for family in parse_text(response.body.decode()) for sample in family.samples}


async def test_readiness_and_every_refusal_say_what_is_missing_and_the_command(hub: GatewayHub, ann: Client) -> None:
    assert (await ann.get("/readyz")).status == 200
    stop(hub)
    for answer in (await ann.get("/readyz"), await ann.post(TASKS, {"input": "a"}), await ann.get("/api/v1/queues")):
        assert (answer.status, answer.json["code"]) == (503, "HUB_REWOUND")
        assert answer.json["detail"].startswith(SAID)
        assert "`taskyard up --accept-rewind`" in answer.json["detail"]
        assert int(answer.headers["retry-after"]) > RetryPolicy().retry_after_s_max, "clients tell it at once"
    # What needs no leader is answered all the same
    assert (await ann.get(TASKS)).status == 200


async def test_the_metric_counts_what_is_missing_also_while_nobody_has_figures(hub: GatewayHub, admin: Client) -> None:
    assert (await metric(admin))["taskyard_missing_commits"] == 0
    stop(hub)
    values = await metric(admin)
    assert values["taskyard_missing_commits"] == 3
    assert "taskyard_tasks_running" not in values


async def test_a_reader_of_events_hears_why_before_the_stream_ends(hub: GatewayHub, admin: Client) -> None:
    async with admin.stream(f"{EVENTS}?user=*") as stream:
        await begun(stream)
        stop(hub)
        [(id, told)] = parsed(await stream.chunk())
    assert (id, told["event"], told["data"]["missing_commits"]) == (None, "hub.rewound", 3)
    assert told["data"]["reason"].startswith(SAID)
