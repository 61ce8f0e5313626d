"""Chat messages over HTTP: what they add and do, and what is answered."""

from typing import Any

import pytest

from taskyard.core.commands import CompleteTask, FailTask, Tick
from taskyard.core.daemon_commands import JoinDaemon, StartTask
from taskyard.core.settings import Queue, Settings
from taskyard.core.task import Failure
from taskyard.gateway.port import Unavailable
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub, refusing

pytestmark = pytest.mark.anyio
INTAKE = "/api/v1/intake"
TASKS = "/api/v1/tasks"
QUEUES = {
    "ollama-local": Queue(models=("ollama/llama3", "ollama/qwen2.5")),
    "ollama-remote": Queue(models=("ollama-remote/qwen3.5:27b",)),
}


@pytest.fixture
def settings() -> Settings:
    return Settings(queues=QUEUES)


async def said(client: Client, text: str, **more: Any) -> dict[str, Any]:
    answer = await client.post(INTAKE, {"text": text, **more})
    assert answer.status == 200, answer.json
    return dict(answer.json)


async def statuses(client: Client) -> dict[str, str]:
    return {task["ref"]: task["status"] for task in (await client.get(TASKS)).json}


# Tasks.


async def test_a_message_becomes_a_task_and_all_of_it_is_confirmed(ann: Client) -> None:
    answer = await said(ann, "use qwen2.5 to analyze the sales data", channel="slack")
    (task,) = answer["tasks"]
    assert (task["input"], task["model"], task["queue"]) == ("analyze the sales data", "ollama/qwen2.5", "ollama-local")
    assert (task["source"], task["queue_position"]) == ({"type": "user", "id": None, "channel": "slack"}, 1)
    assert answer["reply"] == (
        "Added 1 task:\n- T-001: analyze the sales data (queue ollama-local, model ollama/qwen2.5, position 1)"
    )
    assert (answer["understood"], answer["question"], answer["commands"]) == (True, None, [])


async def test_a_sequence_is_one_batch_with_dependencies(ann: Client) -> None:
    answer = await said(ann, "fetch the data, then plot it, and then mail it to Bob")
    first, second, third = answer["tasks"]
    assert (second["depends_on"], third["depends_on"]) == ([first["id"]], [second["id"]])
    assert [task["status"] for task in answer["tasks"]] == ["queued", "waiting", "waiting"]
    assert answer["parsed"][2] == {
        "input": "mail it to Bob",
        "model": None,
        "queue": None,
        "depends_on": [1],
        "priority": None,
        "goal": None,
    }
    assert answer["reply"].splitlines()[2] == "- T-002: plot it (queue default, after T-001)"


async def test_a_message_is_taken_whole_or_not_at_all(ann: Client) -> None:
    too_large = await ann.post(INTAKE, {"text": f"Fetch the data. Then plot it. Goal: {'数' * 30_000}"})
    assert (too_large.status, too_large.json["code"]) == (413, "TOO_LARGE")
    assert await statuses(ann) == {}


@pytest.mark.parametrize("dry_run", [True, False])
async def test_a_dependency_that_is_not_there_is_asked_about(ann: Client, bob: Client, dry_run: bool) -> None:
    await said(bob, "fetch the data")
    answer = await said(ann, "1. fetch the data\n2. plot it (depends on T-001)\n3. cancel T-001", dry_run=dry_run)
    assert (
        answer["question"]
        == answer["reply"]
        == ("You have no task T-001. Which task is meant? Name it by its ref, such as T-003.")
    )
    assert (answer["tasks"], answer["commands"], await statuses(ann)) == ([], [], {})
    assert (await said(ann, "画图，依赖 T-099"))["reply"] == "你没有任务 T-099。是哪个任务？请写出编号，例如 T-003。"


async def test_a_task_waits_for_one_that_is_there(ann: Client) -> None:
    first = (await said(ann, "fetch the data"))["tasks"][0]
    assert (await said(ann, "plot it, depends on T-001"))["tasks"][0]["depends_on"] == [first["id"]]


async def test_priority_and_goal_are_the_tasks_own(ann: Client) -> None:
    answer = await said(ann, "urgent: fetch the data. Goal: know the trend\n\nThen plot it with priority 3")
    assert [(task["priority"], task["goal"]) for task in answer["tasks"]] == [
        ("critical", "know the trend"),
        ("low", None),
    ]
    assert [(task["priority"], task["goal"]) for task in answer["parsed"]] == [
        ("critical", "know the trend"),
        (3, None),
    ]
    assert answer["reply"].splitlines()[1:] == [
        "- T-001: fetch the data. (queue default, priority critical, goal: know the trend, position 1)",
        "- T-002: plot it (queue default, after T-001, priority low)",
    ]


async def test_a_message_sent_twice_under_one_key_is_added_once(ann: Client) -> None:
    key = {"Idempotency-Key": "m1"}
    texts = {"text": "fetch the data, then plot it"}
    first, second = [(await ann.post(INTAKE, texts, headers=key)).json for _ in range(2)]
    assert [task["id"] for task in first["tasks"]] == [task["id"] for task in second["tasks"]]
    assert second["reply"].startswith("This message was sent before; of it there is:\n- T-001: fetch the data")
    assert len(await statuses(ann)) == 2


async def test_what_a_message_commanded_is_not_done_again_when_it_is_repeated(ann: Client) -> None:
    await said(ann, "fetch the data")
    message, key = {"text": "cancel T-001 and analyse the logs"}, {"Idempotency-Key": "m1"}
    first, second = [(await ann.post(INTAKE, message, headers=key)).json for _ in range(2)]
    assert [one["ok"] for one in first["commands"]] == [True]
    assert [one["ok"] for one in second["commands"]] == [None]
    assert "Not done again: cancel T-001" in second["reply"]


async def test_a_key_that_was_used_for_other_words_is_refused_without_one_that_was_never_sent(ann: Client) -> None:
    key = {"Idempotency-Key": "m1"}
    await ann.post(INTAKE, {"text": "fetch the data"}, headers=key)
    refused = await ann.post(INTAKE, {"text": "plot the data"}, headers=key)
    assert (refused.status, refused.json["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert "#0" not in refused.json["detail"]


async def test_a_dry_run_looks_for_the_tasks_that_are_named(ann: Client) -> None:
    await said(ann, "1. fetch the data\n2. plot the sales")
    await said(ann, "cancel T-001")
    answer = await said(ann, "cancel T-001 and T-002 and T-099", dry_run=True)
    assert answer["reply"].splitlines() == [
        "cancel T-001: T-001 is cancelled already.",
        "This would do: cancel T-002",
        "cancel T-099: There is no such task of yours.",
    ]
    assert [one["ok"] for one in answer["commands"]] == [False, None, False]


async def test_many_tasks_are_confirmed_and_the_first_told_their_place(ann: Client) -> None:
    answer = await said(ann, "\n".join(f"- check page {number}" for number in range(1, 13)))
    assert [task["queue_position"] for task in answer["tasks"]] == [*range(1, 11), None, None]


# What is not done.


async def test_a_dry_run_shows_what_would_be_done_and_does_nothing(ann: Client) -> None:
    await said(ann, "fetch the prices")
    answer = await said(ann, "cancel T-001. Use qwen2.5 to fetch the data, then plot it", dry_run=True)
    assert (answer["tasks"], answer["understood"]) == ([], True)
    assert answer["commands"] == [{"command": "cancel", "ref": "T-001", "queue": None, "ok": None, "detail": None}]
    assert [task["depends_on"] for task in answer["parsed"]] == [[], [0]]
    assert answer["reply"] == (
        "This would add 2 tasks:\n"
        "- #1: fetch the data (queue ollama-local, model ollama/qwen2.5)\n"
        "- #2: plot it (after #1)\n"
        "This would do: cancel T-001"
    )
    assert await statuses(ann) == {"T-001": "queued"}


@pytest.mark.parametrize("dry_run", [True, False])
async def test_a_question_is_asked_and_nothing_done(ann: Client, dry_run: bool) -> None:
    answer = await said(ann, "1. fetch the data\n2. use gpt-9 to plot it", dry_run=dry_run)
    assert answer["question"] == answer["reply"]
    assert answer["question"].startswith("No queue serves gpt-9. Which model should it be: ollama/llama3, ")
    assert (answer["understood"], answer["tasks"], await statuses(ann)) == (True, [], {})


@pytest.mark.parametrize("dry_run", [True, False])
async def test_conversation_is_not_understood_and_does_nothing(ann: Client, dry_run: bool) -> None:
    answer = await said(ann, "how are you?", dry_run=dry_run)
    assert (answer["understood"], answer["tasks"], answer["commands"]) == (False, [], [])
    assert "neither a task nor a command" in answer["reply"]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "text"),
        ({"text": "x" * 65_537}, "text"),
    ],
)
async def test_a_wrong_body_names_its_field(ann: Client, body: dict[str, Any], path: str) -> None:
    bad = await ann.post(INTAKE, body)
    assert (bad.status, bad.json["code"]) == (422, "INVALID_INPUT")
    assert path in bad.json["detail"]


# Commands.


async def test_commands_are_done_one_by_one_and_each_is_told(ann: Client) -> None:
    await said(ann, "fetch the data, then plot it")
    await said(ann, "write the docs")
    answer = await said(ann, "cancel T-001 and skip T-003 and retry T-099")
    assert [(one["command"], one["ref"], one["ok"]) for one in answer["commands"]] == [
        ("cancel", "T-001", True),
        ("skip", "T-003", True),
        ("retry", "T-099", False),
    ]
    assert answer["reply"] == (
        "T-001 is cancelled, and with it T-002\nT-003 is skipped\nretry T-099: There is no such task of yours."
    )
    assert await statuses(ann) == {"T-001": "cancelled", "T-002": "cancelled", "T-003": "skipped"}


async def test_what_the_status_of_a_task_does_not_allow_is_told_and_changes_nothing(ann: Client) -> None:
    await said(ann, "fetch the data")
    answer = await said(ann, "重试 T-001")
    (command,) = answer["commands"]
    assert command["ok"] is False
    assert command["detail"] == "T-001 排队中，不能重试。"
    assert answer["reply"] == f"重试 T-001：{command['detail']}"


async def test_a_running_task_is_asked_to_stop(hub: GatewayHub, ann: Client) -> None:
    await hub.decide(JoinDaemon(1, "u_ann", "d_1", "boot", "mac"))
    await said(ann, "fetch the data")
    assert (await said(ann, "cancel T-001"))["reply"] == "T-001 is asked to stop"


async def test_a_hub_that_cannot_answer_is_told_beside_what_was_done(
    hub: GatewayHub, ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await said(ann, "fetch the data")
    monkeypatch.setattr(hub, "ask", refusing(Unavailable("OVERLOADED", 1)))
    answer = await said(ann, "cancel T-001")
    assert answer["commands"][0]["ok"] is False
    assert "more to do than it can hold" in answer["reply"]


async def test_nobody_commands_what_is_anothers(ann: Client, bob: Client) -> None:
    await said(ann, "fetch the data")
    assert (await said(bob, "cancel T-001"))["commands"][0]["ok"] is False
    assert await statuses(ann) == {"T-001": "queued"}


async def test_an_admin_may_speak_for_another(admin: Client, ann: Client, bob: Client) -> None:
    answer = await admin.post(f"{INTAKE}?user=ann", {"text": "fetch the data"})
    assert (answer.status, await statuses(ann)) == (200, {"T-001": "queued"})
    assert (await bob.post(f"{INTAKE}?user=ann", {"text": "cancel T-001"})).status == 403


# Status.


async def test_the_status_of_all_names_each_queue_and_what_is_open_in_it(hub: GatewayHub, ann: Client) -> None:
    await hub.decide(JoinDaemon(1, "u_ann", "d_1", "boot", "mac", models=("ollama/llama3",)))
    await said(ann, "use llama3 to fetch the data, then plot it")
    answer = await said(ann, "task status")
    assert answer["commands"] == [{"command": "status", "ref": None, "queue": None, "ok": True, "detail": None}]
    assert answer["reply"].splitlines() == [
        "ollama-local: 1 running, 0 waiting, 0 done lately",
        "  T-001 scheduled: fetch the data",
        "ollama-remote: 0 running, 0 waiting, 0 done lately",
        "  nothing open",
        "default: 0 running, 1 waiting, 0 done lately",
        "  T-002 waiting: plot it (after T-001)",
    ]


async def test_one_queue_can_be_asked_for(ann: Client) -> None:
    await said(ann, "用远程总结日志")
    answer = await said(ann, "远程队列的状态")
    assert answer["reply"].splitlines() == [
        "ollama-remote：0 个运行中，1 个等待中，最近完成 0 个",
        "  T-001 排队中：总结日志",
    ]
    assert answer["commands"][0]["queue"] == "ollama-remote"


async def test_a_long_line_is_cut(ann: Client) -> None:
    await said(ann, "\n".join(f"- check page {number}" for number in range(1, 13)))
    lines = (await said(ann, "queue status"))["reply"].splitlines()
    assert (lines[-3:]) == ["  T-009 queued: check page 9", "  T-010 queued: check page 10", "  and 2 more"]


async def test_what_is_done_in_a_message_shows_in_its_status(ann: Client) -> None:
    answer = await said(ann, "fetch the data. What's the status?")
    assert "default: 0 running, 1 waiting, 0 done lately" in answer["reply"]


async def test_the_status_of_a_task_says_why_it_waits(ann: Client) -> None:
    await said(ann, "fetch the data")
    answer = await said(ann, "why is T-001 not running?")
    first, because = answer["reply"].splitlines()
    assert first == "T-001 is queued (queue default): fetch the data"
    assert "no daemon of yours has ever connected" in because
    unknown = await said(ann, "status of T-009")
    assert (unknown["commands"][0]["ok"], unknown["reply"]) == (False, "status T-009: There is no such task of yours.")


async def test_a_chinese_answer_is_in_chinese(ann: Client) -> None:
    await said(ann, "总结日志，然后画图")
    assert (await said(ann, "T-001 为什么没运行？"))["reply"].splitlines()[1] == (
        "你还没有守护进程连接过，也没有共享的守护进程。"
    )
    assert (await said(ann, "T-002 怎么样了"))["reply"].splitlines()[1] == "它依赖的 1 个任务已完成 0 个。"
    assert (await said(ann, "取消 T-009"))["reply"] == "取消 T-009：你没有任务 T-009。"
    assert (await said(ann, "取消 T-009", dry_run=True))["reply"] == "取消 T-009：你没有任务 T-009。"


async def test_a_running_task_is_told_in_the_language_of_the_message(hub: GatewayHub, ann: Client) -> None:
    await said(ann, "fetch the data")
    await hub.decide(JoinDaemon(1, "u_ann", "d_1", "boot", "mac"))
    task_id = (await ann.get(f"{TASKS}/T-001")).json["id"]
    await hub.decide(StartTask(1, "d_1", task_id, 1))
    assert "It runs on mac since " in (await said(ann, "is T-001 done?"))["reply"]
    assert (await said(ann, "T-001 怎么样了"))["reply"] == "T-001 运行中（队列 default，已 1 秒）：fetch the data"


async def test_why_an_imported_task_was_skipped_is_told_as_it_was_written(ann: Client) -> None:
    record = {"id": "a", "input": "fetch it", "status": "skipped", "skipped_reason": "Bob has it."}
    assert (await ann.post("/api/v1/import", {"origin": "there", "tasks": [record]})).status == 200
    assert (await said(ann, "is T-001 done?"))["reply"] == "T-001 is skipped (queue default): fetch it\nBob has it."


async def test_a_dry_run_of_a_question_asks_it_of_nothing(ann: Client) -> None:
    answer = await said(ann, "task status", dry_run=True)
    assert (answer["reply"], answer["commands"][0]["ok"]) == ("This would do: status", None)


async def finish(hub: GatewayHub, ann: Client, *, well: bool) -> None:
    await hub.decide(JoinDaemon(1, "u_ann", "d_1", "boot", "mac"))
    task_id = (await ann.get(f"{TASKS}/T-001")).json["id"]
    await hub.decide(StartTask(1, "d_1", task_id, 1))
    hub.wall_ms += 120_000
    if well:
        await hub.decide(CompleteTask("d_1", task_id, 1, 1, summary="42 rows"))
    else:
        await hub.decide(FailTask("d_1", task_id, 1, Failure("INVALID_INPUT", "no such table"), 1))


async def test_a_task_that_is_done_is_told_with_its_summary(hub: GatewayHub, ann: Client) -> None:
    await said(ann, "fetch the data")
    await finish(hub, ann, well=True)
    answer = await said(ann, "is T-001 done?")
    assert answer["reply"] == "T-001 is done: 42 rows (queue default, took 2 min)"
    assert "default: 0 running, 0 waiting, 1 done lately" in (await said(ann, "queue status"))["reply"]


async def test_a_task_that_failed_is_told_with_what_to_say(hub: GatewayHub, ann: Client) -> None:
    await said(ann, "fetch the data")
    await finish(hub, ann, well=False)
    assert (await said(ann, "T-001 怎么样了"))["reply"] == (
        "T-001 在 1 次尝试后失败：INVALID_INPUT: no such table（队列 default）。说“重试 T-001”可再试一次。"
    )


async def test_who_has_only_blocked_tasks_is_told_what_would_help(hub: GatewayHub, ann: Client) -> None:
    # Given a failed task, one that needs it, and one that needs that
    await said(ann, "fetch the data, then plot it, then mail it")
    await finish(hub, ann, well=False)

    # Then every status says so, and what to do about the root of it
    answer = await said(ann, "task status")
    assert answer["reply"].endswith(
        "Every open task of yours is blocked. To go on:\n"
        '- T-002 needs T-001: say "retry T-001", or "skip T-002" or "cancel T-002"'
    )
    assert "T-002 blocked: plot it (after T-001, T-001 ended as permanently failed)" in answer["reply"]
    assert "default: 0 running, 2 waiting, 0 done lately, 1 failed" in answer["reply"]
    assert "  T-001 permanently failed: fetch the data (INVALID_INPUT: no such table)" in answer["reply"]

    # When that is done, it is said no more
    assert "blocked" not in (await said(ann, "retry T-001"))["reply"]


async def test_what_can_never_be_tried_again_is_not_advised(hub: GatewayHub, ann: Client) -> None:
    deadline = "2027-01-15T08:00:10Z"
    await ann.post(TASKS, {"input": "a", "deadline": deadline, "requirements": {"estimated_duration": 1}})
    await said(ann, "plot it, depends on T-001")
    hub.wall_ms += 20_000
    await hub.decide(Tick())
    assert (await said(ann, "task status"))["reply"].splitlines()[-1] == (
        '- T-002 needs T-001, which cannot be tried again: say "skip T-002" or "cancel T-002"'
    )


async def test_a_reason_names_tasks_by_their_refs(hub: GatewayHub, ann: Client) -> None:
    deadline = "2027-01-15T08:00:10Z"
    await ann.post(TASKS, {"input": "a", "deadline": deadline, "requirements": {"estimated_duration": 1}})
    first = (await ann.get(f"{TASKS}/T-001")).json["id"]
    hub.wall_ms += 20_000
    await hub.decide(Tick())
    await said(ann, "plot it, depends on T-001")
    for text in ("task status", "is T-002 done?"):
        answer = await said(ann, text)
        assert first not in answer["reply"]
        assert "T-001" in answer["reply"]
