"""The same for many tasks at once: each by itself, foreseen or done."""

from typing import Any

import pytest

from taskyard.gateway.app import GatewayApp
from taskyard.gateway.port import Unavailable
from taskyard.vocabulary import Level, Refusal, Scope
from tests.support.gateway_client import Client, Response
from tests.support.gateway_hub import GatewayHub, refusing

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"
BULK = f"{TASKS}/bulk"
NOWHERE = "01970000-0000-7000-8000-000000000001"


async def submit(client: Client, **fields: Any) -> str:
    made = await client.post(TASKS, {"input": "a", **fields})
    assert made.status == 201, made.body
    return str(made.json["id"])


async def act(client: Client, action: str, *ids: str, query: str = "", **fields: Any) -> Response:
    return await client.post(f"{BULK}{query}", {"action": action, "ids": list(ids), **fields})


async def status_of(client: Client, name: str) -> str:
    return str((await client.get(f"{TASKS}/{name}")).json["status"])


def oks(response: Response) -> list[bool]:
    return [result["ok"] for result in response.json["results"]]


def codes(response: Response) -> list[str | None]:
    return [result["code"] for result in response.json["results"]]


async def test_many_are_cancelled_with_a_reason_and_each_is_told_of(ann: Client) -> None:
    ids = [await submit(ann) for _ in range(3)]
    response = await act(ann, "cancel", *ids, reason="not needed")
    assert response.status == 200
    assert response.json["counts"] == {"ok": 3, "refused": 0, "also": 0}
    assert [(one["id"], one["task_id"], one["ref"], one["status"]) for one in response.json["results"]] == [
        (id_, id_, f"T-00{n}", "cancelled") for n, id_ in enumerate(ids, start=1)
    ]
    events = (await ann.get(f"{TASKS}/T-001/events")).json
    assert events[-1]["data"] == {"reason": "not needed"}


async def test_what_one_is_refused_keeps_no_other_from_it(ann: Client, bob: Client) -> None:
    gone, waiting, foreign = await submit(ann), await submit(ann), await submit(bob)
    await ann.request("DELETE", f"{TASKS}/{gone}")
    response = await act(ann, "cancel", gone, waiting, foreign, NOWHERE, "T-099", "no name")
    assert oks(response) == [False, True, False, False, False, False]
    assert codes(response) == ["INVALID_TRANSITION", None, *["TASK_NOT_FOUND"] * 4]
    # What is another's is answered as what never was
    foreign_result, unknown_result = response.json["results"][2:4]
    assert {**foreign_result, "id": ""} == {**unknown_result, "id": ""}
    assert await status_of(bob, foreign) == "queued"
    assert response.json["results"][0]["detail"] == "T-001 is cancelled already."


async def test_tasks_are_named_by_ref_or_id_and_one_under_two_names_is_done_once(ann: Client) -> None:
    id_ = await submit(ann)
    response = await act(ann, "cancel", "T-001", id_, "t-001", "T-001")
    assert [one["id"] for one in response.json["results"]] == ["T-001", id_, "t-001"]
    assert (oks(response), response.json["counts"]["ok"]) == ([True, True, True], 3)


async def test_what_depends_on_the_cancelled_is_told_besides(ann: Client) -> None:
    first = await submit(ann)
    second = await submit(ann, depends_on=[first])
    third = await submit(ann, depends_on=[second])
    stubborn = await submit(ann, depends_on=[first], on_depends_fail="continue")
    response = await act(ann, "cancel", first)
    assert (response.json["also"], response.json["counts"]["also"]) == ([second, third], 2)
    assert await status_of(ann, stubborn) == "queued"


async def test_whoever_cancels_a_task_and_what_depends_on_it_is_refused_neither(ann: Client) -> None:
    first = await submit(ann)
    second = await submit(ann, depends_on=[first])
    third = await submit(ann, depends_on=[second])
    response = await act(ann, "cancel", first, second)
    assert (oks(response), response.json["also"]) == ([True, True], [third])


async def test_many_are_given_another_priority_up_to_the_keys_ceiling(hub: GatewayHub, app: GatewayApp) -> None:
    bound = Client(app, await hub.a_key(await hub.a_user("eve"), Scope.TASKS, max_priority=Level.NORMAL))
    ids = [await submit(bound, priority="low") for _ in range(2)]
    response = await act(bound, "reprioritise", *ids, priority="critical")
    assert oks(response) == [True, True]
    assert [(await bound.get(f"{TASKS}/{id_}")).json["priority"] for id_ in ids] == ["normal", "normal"]
    # Who asked is told what came of it, not what was asked for
    assert [one["priority"] for one in response.json["results"]] == ["normal", "normal"]
    assert oks(await act(bound, "reprioritise", *ids, priority=2)) == [True, True]


async def test_many_are_skipped_and_brought_back(ann: Client) -> None:
    ids = [await submit(ann) for _ in range(2)]
    assert oks(await act(ann, "skip", *ids, reason="later")) == [True, True]
    assert (await ann.get(f"{TASKS}/{ids[0]}")).json["skipped_reason"] == "later"
    response = await act(ann, "retry", *ids)
    assert (oks(response), [one["status"] for one in response.json["results"]]) == ([True, True], ["queued"] * 2)
    assert codes(await act(ann, "retry", *ids)) == ["INVALID_TRANSITION"] * 2


async def test_a_preview_says_what_would_happen_and_changes_nothing(hub: GatewayHub, ann: Client) -> None:
    gone, first = await submit(ann), await submit(ann)
    second = await submit(ann, depends_on=[first])
    await ann.request("DELETE", f"{TASKS}/{gone}")
    before = hub.identity.seq
    previews = {
        action: await act(ann, action, gone, first, NOWHERE, preview=True, priority="high")
        for action in ("cancel", "skip", "retry", "reprioritise")
    }
    assert hub.identity.seq == before
    assert {action: oks(preview) for action, preview in previews.items()} == {
        "cancel": [False, True, False],
        "skip": [False, True, False],
        "retry": [False, False, False],
        "reprioritise": [False, True, False],
    }
    assert previews["cancel"].json["also"] == [second]
    assert previews["skip"].json["also"] == []
    assert all(preview.json["preview"] for preview in previews.values())
    # And then it does happen, in the same words
    foreseen, done = previews["cancel"].json, (await act(ann, "cancel", gone, first, NOWHERE)).json
    for word in ("ok", "code", "detail"):
        assert [one[word] for one in done["results"]] == [one[word] for one in foreseen["results"]]
    assert done["also"] == foreseen["also"]


async def test_a_preview_of_both_ends_of_a_dependency_leaves_the_chosen_out_of_the_others(ann: Client) -> None:
    first = await submit(ann)
    second = await submit(ann, depends_on=[first])
    response = await act(ann, "cancel", first, second, preview=True)
    assert (oks(response), response.json["also"]) == ([True, True], [])


async def test_an_admin_acts_on_everybodys_by_id(ann: Client, bob: Client, admin: Client) -> None:
    ids = [await submit(ann), await submit(bob)]
    assert codes(await act(admin, "cancel", *ids)) == ["TASK_NOT_FOUND"] * 2
    assert oks(await act(admin, "cancel", ids[0], ids[1], "T-001", query="?user=*")) == [True, True, False]
    assert (await act(ann, "cancel", *ids, query="?user=*")).status == 403


async def test_a_store_that_is_away_is_told_for_each(
    hub: GatewayHub, ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [await submit(ann) for _ in range(2)]
    monkeypatch.setattr(hub, "ask", refusing(Unavailable(Refusal.STORE_UNAVAILABLE, 1)))
    response = await act(ann, "cancel", *ids)
    assert (response.status, codes(response)) == (200, ["STORE_UNAVAILABLE"] * 2)
    assert [one["status"] for one in response.json["results"]] == ["queued"] * 2


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"action": "cancel", "ids": []}, "ids"),
        ({"action": "cancel", "ids": ["x"] * 501}, "ids"),
        ({"action": "explode", "ids": ["x"]}, "action"),
        ({"action": "reprioritise", "ids": ["x"]}, "priority"),
        ({"action": "cancel", "ids": ["x" * 256]}, "ids[0]"),
    ],
)
async def test_what_makes_no_sense_is_refused_as_a_whole(ann: Client, body: dict[str, Any], path: str) -> None:
    response = await ann.post(BULK, body)
    assert (response.status, response.json["code"]) == (422, "INVALID_INPUT")
    assert path.partition("[")[0] in response.json["errors"][0]["path"] + response.json["detail"]
