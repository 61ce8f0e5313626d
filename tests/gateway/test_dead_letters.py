"""Dead letters: patterns and verdicts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from taskyard.gateway.app import GatewayApp
from taskyard.vocabulary import Scope
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"
LETTERS = "/api/v1/dead-letters"


@pytest.fixture
async def owner(hub: GatewayHub, app: GatewayApp) -> Client:
    """Has three dead letters: two failed alike, one otherwise."""
    client = Client(app, await hub.a_key(await hub.a_user("ann"), Scope.TASKS, Scope.DAEMON))
    async with client.daemon() as daemon:
        for message in ("no file 17", "no file 42", "not allowed"):
            await client.post(TASKS, {"input": message})
            (execute,) = await daemon.hear()
            error: dict[str, Any] = {"code": "INVALID_INPUT", "message": message}
            about = {"task_id": execute["task"]["id"], "attempt": 1}
            daemon.say({"type": "task.failed", **about, "error": error})
            await daemon.hear()
    return client


async def test_alike_failures_share_a_pattern(owner: Client) -> None:
    last, *alike = (await owner.get(LETTERS)).json
    assert last["error"]["message"] == "not allowed"
    assert last["failure_reason"] == "INVALID_INPUT: not allowed"
    assert last["pattern"]["same_error"] == 1
    assert [one["pattern"]["same_error"] for one in alike] == [2, 2]
    assert alike[0]["pattern"]["same_daemon"] == "mac-1"
    fingerprint = alike[0]["pattern"]["fingerprint"]
    assert len((await owner.get(f"{LETTERS}?fingerprint={fingerprint}")).json) == 2


async def test_a_list_of_dead_letters_goes_on(owner: Client) -> None:
    page = await owner.get(f"{LETTERS}?limit=2")
    following = page.headers["link"].partition("<")[2].partition(">")[0]
    assert [one["ref"] for one in page.json + (await owner.get(following)).json] == ["T-003", "T-002", "T-001"]


async def test_a_verdict_is_kept_with_its_reason(owner: Client) -> None:
    response = await owner.post(f"{LETTERS}/T-003/review", {"verdict": "discard", "reason": "not needed"})
    assert (response.status, response.json["status"]) == (200, "cancelled")
    (review,) = (await owner.get(f"{LETTERS}/T-003/reviews")).json
    assert (review["action"], review["new"]) == ("dead_letter.discard", "not needed")
    again = await owner.post(f"{LETTERS}/T-003/review", {"verdict": "discard", "reason": "again"})
    assert again.status in (400, 409)


async def test_one_verdict_takes_a_whole_pattern(owner: Client) -> None:
    fingerprint = (await owner.get(LETTERS)).json[1]["pattern"]["fingerprint"]
    body = {"fingerprint": fingerprint, "verdict": "discard", "reason": "known"}
    response = await owner.post(f"{LETTERS}/review", body)
    assert len(response.json["reviewed"]) == 2
    assert [one["ref"] for one in (await owner.get(LETTERS)).json] == ["T-003"]


async def test_an_admin_decides_about_a_pattern_of_everybodys_as_it_was_listed(owner: Client, admin: Client) -> None:
    alike, other = (await admin.get(f"{LETTERS}/patterns?user=*")).json
    body = {"fingerprint": alike["fingerprint"], "verdict": "discard", "reason": "known"}
    # Their own, if they name nobody
    assert (await admin.post(f"{LETTERS}/review", body)).json == {"reviewed": [], "rejected": []}
    assert len((await admin.post(f"{LETTERS}/review?user=*", body)).json["reviewed"]) == alike["count"]
    left = (await admin.get(f"{LETTERS}/patterns?user=*")).json
    assert [one["fingerprint"] for one in left] == [other["fingerprint"]]
    assert (await owner.post(f"{LETTERS}/review?user=*", body)).status == 403


@pytest.mark.parametrize(("verdict", "missing"), [("wait", "until"), ("escalate", "to")])
async def test_a_verdict_needs_its_particulars(owner: Client, verdict: str, missing: str) -> None:
    response = await owner.post(f"{LETTERS}/T-003/review", {"verdict": verdict, "reason": "x"})
    assert (response.status, response.json["errors"][0]["path"]) == (422, missing)


async def test_anothers_dead_letters_are_not_seen(owner: Client, bob: Client) -> None:
    assert (await bob.get(LETTERS)).json == []
    assert (await bob.post(f"{LETTERS}/T-003/review", {"verdict": "retry", "reason": "r"})).status == 404


async def test_patterns_are_told_with_a_sample_the_most_frequent_first(owner: Client, bob: Client) -> None:
    alike, other = (await owner.get(f"{LETTERS}/patterns")).json
    letters = {one["ref"]: one for one in (await owner.get(LETTERS)).json}
    assert (alike["pattern"], alike["code"], alike["count"]) == ("no file …", "INVALID_INPUT", 2)
    assert (alike["sample_id"], alike["sample_message"]) == (letters["T-002"]["id"], "no file 42")
    assert (alike["type"], alike["same_daemon"]) == ("general", "mac-1")
    pattern = letters["T-001"]["pattern"]
    assert alike["fingerprint"] == pattern["fingerprint"]
    assert (alike["first_at"], alike["last_at"]) == (pattern["first_at"], pattern["last_at"])
    assert (other["pattern"], other["count"]) == ("not allowed", 1)
    assert (await bob.get(f"{LETTERS}/patterns")).json == []


async def test_one_verdict_for_those_that_are_named(owner: Client, bob: Client, admin: Client) -> None:
    verdict = {"verdict": "discard", "reason": "seen"}
    letters = {one["ref"]: one["id"] for one in (await owner.get(LETTERS)).json}
    body = {**verdict, "ids": ["T-001", letters["T-003"], letters["T-001"], "T-099"]}
    # What is another's is as unknown as what is not there
    assert (await bob.post(f"{LETTERS}/review", body)).json == {
        "reviewed": [],
        "rejected": list(dict.fromkeys(body["ids"])),
    }
    answer = (await owner.post(f"{LETTERS}/review", body)).json
    assert answer == {"reviewed": [letters["T-001"], letters["T-003"]], "rejected": ["T-099"]}
    assert [one["ref"] for one in (await owner.get(LETTERS)).json] == ["T-002"]
    again = (await owner.post(f"{LETTERS}/review", {**verdict, "ids": ["T-001"]})).json
    assert again == {"reviewed": [], "rejected": [letters["T-001"]]}
    everybodys = {**verdict, "ids": [letters["T-002"]]}
    assert (await admin.post(f"{LETTERS}/review?user=*", everybodys)).json["reviewed"] == [letters["T-002"]]


@pytest.mark.parametrize("named", [{}, {"fingerprint": "a", "ids": ["b"]}, {"ids": []}, {"ids": ["a"] * 501}])
async def test_a_verdict_for_many_says_for_which(owner: Client, named: dict[str, Any]) -> None:
    response = await owner.post(f"{LETTERS}/review", {"verdict": "retry", "reason": "r", **named})
    assert (response.status, response.json["code"]) == (422, "INVALID_INPUT")


@pytest.mark.parametrize("reason", [{}, {"reason": ""}, {"reason": " \n"}])
async def test_a_verdict_without_a_reason_is_refused(owner: Client, reason: dict[str, str]) -> None:
    response = await owner.post(f"{LETTERS}/T-003/review", {"verdict": "retry", **reason})
    assert (response.status, response.json["code"]) == (422, "INVALID_INPUT")
    assert "reason" in response.json["detail"]
    assert (await owner.get(f"{TASKS}/T-003")).json["status"] == "permanently_failed"


async def test_the_last_verdict_is_on_the_task_and_among_the_dead_letters(owner: Client) -> None:
    verdict = {"verdict": "escalate", "to": "bob", "reason": "needs a plane"}
    answer = (await owner.post(f"{LETTERS}/T-003/review", verdict)).json
    assert {name: answer["review"][name] for name in verdict} == verdict
    assert (await owner.get(f"{TASKS}/T-003")).json["review"] == answer["review"]
    listed = {one["ref"]: one["review"] for one in (await owner.get(LETTERS)).json}
    assert (listed["T-003"], listed["T-002"]) == (answer["review"], None)


async def test_the_verdicts_of_a_day_are_those_of_ones_own_tasks(hub: GatewayHub, owner: Client, bob: Client) -> None:
    # Given a verdict that waits, and another one a day later
    today = datetime.fromtimestamp(hub.now_ms() / 1000, UTC)
    tomorrow, later = today + timedelta(days=1), today + timedelta(days=3)
    until = later.isoformat().replace("+00:00", "Z")
    await owner.post(f"{LETTERS}/T-003/review", {"verdict": "wait", "until": until, "reason": "later"})
    hub.wall_ms += 86_400_000
    await owner.post(f"{LETTERS}/T-002/review", {"verdict": "discard", "reason": "old"})

    async def reasons(client: Client, day: datetime) -> list[str]:
        return [one["new"] for one in (await client.get(f"{LETTERS}/reviews?date={day.date()}")).json]

    # Then each is in the log of its day, and in nobody else's
    assert await reasons(owner, today) == ["later"]
    assert await reasons(owner, tomorrow) == ["old"]
    assert [one["new"] for one in (await owner.get(f"{LETTERS}/reviews")).json] == ["old"]
    assert await reasons(owner, today - timedelta(days=1)) == []
    assert await reasons(bob, today) == []
    (waits,) = (await owner.get(f"{LETTERS}/reviews?date={today.date()}")).json
    assert datetime.fromisoformat(waits["until"]) == later
    assert (await owner.get(f"{LETTERS}/reviews?date=yesterday")).status == 422
