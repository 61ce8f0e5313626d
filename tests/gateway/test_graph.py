"""What a task is tied to, near and far, open and ended, and nothing of anybody else's."""

from typing import Any

import pytest

from taskyard.core.commands import HearEnded
from taskyard.gateway.rest import graph
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"


async def submit(client: Client, **fields: Any) -> str:
    made = await client.post(TASKS, {"input": "a", **fields})
    assert made.status == 201, made.body
    return str(made.json["ref"])


async def graph_of(client: Client, name: str, query: str = "") -> dict[str, Any]:
    response = await client.get(f"{TASKS}/{name}/graph{query}")
    assert response.status == 200, response.body
    answer: dict[str, Any] = response.json
    return answer


def refs(answer: dict[str, Any]) -> list[str]:
    return [node["ref"] for node in answer["nodes"]]


def edges(answer: dict[str, Any]) -> set[tuple[str, str, str]]:
    names = {node["id"]: node["ref"] for node in answer["nodes"]}
    return {(names[edge["from"]], names[edge["to"]], edge["kind"]) for edge in answer["edges"]}


async def test_a_task_alone_is_a_graph_of_one(ann: Client) -> None:
    await submit(ann, title="Alone", type="code")
    answer = await graph_of(ann, "T-001")
    [node] = answer["nodes"]
    assert (node["ref"], node["title"], node["status"], node["type"]) == ("T-001", "Alone", "queued", "code")
    assert (answer["edges"], answer["truncated"]) == ([], False)


async def test_what_has_no_title_is_told_by_how_its_input_begins(ann: Client) -> None:
    await submit(ann, input="\n  First line \nsecond" + "x" * 500)
    await submit(ann, input="y" * 500)
    assert (await graph_of(ann, "T-001"))["nodes"][0]["title"] == "First line"
    assert (await graph_of(ann, "T-002"))["nodes"][0]["title"] == "y" * 120


async def test_dependencies_are_shown_both_ways_the_nearest_first(ann: Client) -> None:
    await submit(ann)
    await submit(ann, depends_on=["T-001"])
    await submit(ann, depends_on=["T-002"])
    await submit(ann, depends_on=["T-002", "T-003"])
    await submit(ann)
    answer = await graph_of(ann, "T-003")
    assert refs(answer)[0] == "T-003"
    assert set(refs(answer)[1:3]) == {"T-002", "T-004"}
    assert refs(answer)[3:] == ["T-001"]
    assert edges(answer) == {
        ("T-001", "T-002", "dependency"),
        ("T-002", "T-003", "dependency"),
        ("T-002", "T-004", "dependency"),
        ("T-003", "T-004", "dependency"),
    }


async def test_parents_and_sub_tasks_are_shown_both_ways(ann: Client) -> None:
    await submit(ann)
    await submit(ann, parent_task_id="T-001")
    await submit(ann, parent_task_id="T-001")
    await submit(ann, parent_task_id="T-003")
    expected = {("T-001", "T-002", "subtask"), ("T-001", "T-003", "subtask"), ("T-003", "T-004", "subtask")}
    for name in ("T-001", "T-002", "T-004"):
        answer = await graph_of(ann, name)
        assert (refs(answer)[0], edges(answer)) == (name, expected)


async def test_what_has_ended_is_shown_too(hub: GatewayHub, ann: Client) -> None:
    await submit(ann)
    await submit(ann, depends_on=["T-001"])
    await submit(ann, parent_task_id="T-002")
    await ann.request("DELETE", f"{TASKS}/T-001")
    await ann.request("DELETE", f"{TASKS}/T-003")
    await hub.decide(HearEnded())
    assert not hub.state.tasks
    for name in ("T-001", "T-002", "T-003"):
        answer = await graph_of(ann, name)
        assert edges(answer) == {("T-001", "T-002", "dependency"), ("T-002", "T-003", "subtask")}
        assert {node["status"] for node in answer["nodes"]} == {"cancelled"}


async def test_an_open_one_is_found_however_far_away_and_an_ended_one_nearby(
    ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "AROUND", 2)
    await submit(ann)
    await submit(ann, depends_on=["T-001"], on_depends_fail="continue")
    for _ in range(5):
        await submit(ann)
    await submit(ann, depends_on=["T-001"])
    await submit(ann, depends_on=["T-001"])
    await ann.request("DELETE", f"{TASKS}/T-009")
    assert set(refs(await graph_of(ann, "T-001"))) == {"T-001", "T-002", "T-008"}
    # What names the other is found from its own side, wherever they lie
    assert set(refs(await graph_of(ann, "T-009"))) == {"T-009", "T-001", "T-002", "T-008"}


async def test_of_very_many_the_nearest_are_shown_and_it_says_so(ann: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "NODES_MAX", 5)
    await submit(ann)
    for _ in range(7):
        await submit(ann, depends_on=["T-001"])
    answer = await graph_of(ann, "T-001")
    assert (refs(answer), answer["truncated"]) == (["T-001", "T-002", "T-003", "T-004", "T-005"], True)
    assert len(answer["edges"]) == 4
    # As many as fit are all
    monkeypatch.setattr(graph, "NODES_MAX", 8)
    answer = await graph_of(ann, "T-001")
    assert (len(answer["nodes"]), answer["truncated"]) == (8, False)


async def test_a_long_chain_is_followed_so_far_and_no_further(ann: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "STEPS_MAX", 3)
    await submit(ann)
    for number in range(1, 6):
        await submit(ann, depends_on=[f"T-00{number}"])
    answer = await graph_of(ann, "T-001")
    assert (refs(answer), answer["truncated"]) == (["T-001", "T-002", "T-003", "T-004"], True)


async def test_a_graph_is_its_owners_alone(ann: Client, bob: Client, admin: Client) -> None:
    await submit(ann)
    made = (await ann.get(f"{TASKS}/T-001")).json
    for name in ("T-001", made["id"], "nothing"):
        response = await bob.get(f"{TASKS}/{name}/graph")
        assert (response.status, response.json["code"]) == (404, "TASK_NOT_FOUND")
    assert refs(await graph_of(admin, "T-001", "?user=ann")) == ["T-001"]
