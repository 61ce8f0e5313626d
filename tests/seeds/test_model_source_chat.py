"""Queues by model source, the chat part: what a message is for, what becomes of it, and what is answered."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from taskyard.chat.parsed import Missing, Parsed, Source, Sources
from taskyard.chat.parser import parse
from taskyard.core.commands import CompleteTask, FailTask
from taskyard.core.daemon_commands import JoinDaemon, StartTask
from taskyard.core.settings import Queue, Settings
from taskyard.core.task import Failure
from taskyard.vocabulary import ChatCommand
from tests.support.engines import Engine, opener
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

QUEUES = {
    "ollama-local": ("ollama/llama3", "ollama/qwen2.5", "ollama/mistral"),
    "ollama-remote": ("ollama-remote/qwen3.5:27b", "ollama-remote/llama3:70b"),
    "cloud-nvidia": ("nvidia/z-ai/glm5", "nvidia/llama3"),
}
SOURCES = Sources(tuple(Source(name, models) for name, models in QUEUES.items()))


def read(text: str) -> Parsed:
    return parse(text, SOURCES)


# When a message is a task


@pytest.mark.parametrize(
    "text",
    [
        "add task: analyse the logs",
        "new task: analyse the logs",
        "queue this: analyse the logs",
        "do this for me: analyse the logs",
        "handle this: analyse the logs",
        "用 qwen3.5 分析这个",
        "用远程模型处理这份日志",
    ],
)
def test_what_asks_for_work_is_a_task(text: str) -> None:
    assert len(read(text).tasks) == 1


@pytest.mark.parametrize("text", ["task status", "show queue", "队列状态", "show status", "show queue ollama-local"])
def test_what_asks_how_things_stand_is_a_status_check(text: str) -> None:
    assert [one.command for one in read(text).commands] in ([ChatCommand.STATUS], [ChatCommand.QUEUE])
    assert read(text).tasks == ()


@pytest.mark.parametrize(
    "text",
    [
        "what is the capital of France?",
        "which model is the fastest?",
        "remind me to call the bank at five",
        "schedule a meeting for Monday",
        "search the web for the weather in Paris",
    ],
)
def test_simple_questions_mere_dates_and_single_searches_are_none(text: str) -> None:
    assert not read(text).is_understood


# Step by step


def test_numbers_bullets_and_sequence_words_separate_tasks() -> None:
    for text in ("1. 分析数据\n2. 写报告", "- 分析数据\n- 写报告", "分析数据，然后写报告", "分析数据 and then 写报告"):
        assert [task.input for task in read(text).tasks] == ["分析数据", "写报告"]


@pytest.mark.parametrize("word", ["然后", "after that, ", "based on that, ", "next, "])
def test_a_word_that_points_back_makes_the_task_depend_on_the_one_before(word: str) -> None:
    assert [task.depends_on for task in read(f"Analyse the sales data. {word}write a report.").tasks] == [(), (0,)]


@pytest.mark.parametrize("word", ["然后", "After that, ", "Based on that, "])
def test_and_without_one_before_it_is_asked_which(word: str) -> None:
    parsed = read(f"{word}write a report")
    assert parsed.question is not None
    assert parsed.question.missing is Missing.AFTER_WHAT


def test_a_dependency_can_be_named_and_there_can_be_several() -> None:
    assert read("write a report, depends on T-003 and T-004").tasks[0].depends_on == ("T-003", "T-004")


@pytest.mark.parametrize(
    ("text", "model", "queue"),
    [
        ("用 qwen2.5 分析数据", "ollama/qwen2.5", "ollama-local"),
        ("use nvidia/z-ai/glm5 to analyse the data", "nvidia/z-ai/glm5", "cloud-nvidia"),
        ("send to remote: analyse the data", "ollama-remote/qwen3.5:27b", "ollama-remote"),
        ("用远程分析数据", "ollama-remote/qwen3.5:27b", "ollama-remote"),
        ("analyse the data", None, None),
    ],
    ids=["model", "full name", "source", "source in Chinese", "neither"],
)
def test_a_model_decides_the_queue_a_source_its_first_model_and_nothing_the_default(
    text: str, model: str | None, queue: str | None
) -> None:
    (task,) = read(text).tasks
    assert (task.model, task.queue) == (model, queue)


def test_a_model_of_two_sources_is_the_first_ones_unless_the_source_is_named() -> None:
    assert read("use llama3 to write a poem").tasks[0].model == "ollama/llama3"
    assert read("use llama3 on nvidia to write a poem").tasks[0].model == "nvidia/llama3"


def test_a_model_in_no_source_is_asked_about() -> None:
    parsed = read("use gpt-9 to analyse the data")
    assert parsed.question is not None
    assert (parsed.question.missing, parsed.question.about) == (Missing.WHICH_MODEL, "gpt-9")
    assert "ollama/mistral" in parsed.question.choices


@pytest.mark.parametrize("verb", ["cancel", "retry", "skip"])
def test_control_commands_name_a_task(verb: str) -> None:
    (command,) = read(f"{verb} T-001").commands
    assert (command.command.value, command.ref) == (verb, "T-001")


# The answers


@pytest.fixture
def hub(engine: Engine, tmp_path: Path) -> Iterator[GatewayHub]:
    settings = Settings(queues={name: Queue(models=models) for name, models in QUEUES.items()})
    made = GatewayHub(settings, store=opener(engine, tmp_path)())
    yield made
    made.close()


@pytest.fixture(params=Engine)
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.param
    return found


async def said(ann: Client, text: str) -> dict[str, Any]:
    answer = await ann.post("/api/v1/intake", {"text": text})
    assert answer.status == 200, answer.json
    return dict(answer.json)


@pytest.mark.anyio
async def test_a_task_is_confirmed_with_ref_queue_model_text_dependency_and_position(ann: Client) -> None:
    assert "T-001" in (await said(ann, "analyse the sales data"))["reply"]
    one = (await said(ann, "use qwen2.5 to analyse the sales data"))["reply"]
    assert all(
        fact in one for fact in ("T-002", "ollama-local", "ollama/qwen2.5", "analyse the sales data", "position 1")
    )
    assert "after T-001" in (await said(ann, "generate a report, depends on T-001"))["reply"]


@pytest.mark.anyio
async def test_several_are_confirmed_together_each_with_what_it_depends_on(ann: Client) -> None:
    lines = (await said(ann, "analyse the data, then generate a report, then send it to the team"))[
        "reply"
    ].splitlines()
    assert "3" in lines[0]
    assert ["after" in line for line in lines[1:]] == [False, True, True]
    assert ("after T-001" in lines[2], "after T-002" in lines[3]) == (True, True)


@pytest.mark.anyio
async def test_refs_are_counted_across_queues(ann: Client) -> None:
    answer = await said(ann, "- use qwen2.5 to tag the photos\n- use glm5 to rename the files")
    assert [task["ref"] for task in answer["tasks"]] == ["T-001", "T-002"]


@pytest.mark.anyio
async def test_the_status_has_every_queue_with_counts_and_its_tasks(hub: GatewayHub, ann: Client) -> None:
    hub.decide(JoinDaemon(1, "u_ann", "d_1", "boot", "mac"))
    await said(ann, "use llama3 to analyse the data, then use llama3 to write a report")
    lines = (await said(ann, "task status"))["reply"].splitlines()
    assert [line.split(":")[0] for line in lines if not line.startswith(" ")] == [*QUEUES, "default"]
    assert lines[0] == "ollama-local: 1 running, 0 waiting, 0 done lately"
    assert "  T-002 waiting: write a report (after T-001)" in lines


@pytest.mark.anyio
async def test_a_task_that_is_done_is_told_with_summary_queue_and_duration(hub: GatewayHub, ann: Client) -> None:
    task_id = await begun(hub, ann)
    hub.decide(CompleteTask("d_1", task_id, 1, 1, summary="42 rows"))
    assert (await said(ann, "is T-001 done?"))["reply"] == "T-001 is done: 42 rows (queue default, took 2 min)"


@pytest.mark.anyio
async def test_a_task_that_failed_is_told_with_tries_queue_error_and_what_to_say(hub: GatewayHub, ann: Client) -> None:
    task_id = await begun(hub, ann)
    hub.decide(FailTask("d_1", task_id, 1, Failure("INVALID_INPUT", "no such table"), 1))
    told = (await said(ann, "what happened to T-001?"))["reply"]
    assert all(fact in told for fact in ("1 try", "queue default", "no such table", '"retry T-001"'))
    assert (await said(ann, "retry T-001"))["commands"][0]["ok"]


async def begun(hub: GatewayHub, ann: Client) -> str:
    """A task that has run for two minutes."""
    hub.decide(JoinDaemon(1, "u_ann", "d_1", "boot", "mac"))
    task_id: str = (await said(ann, "analyse the data"))["tasks"][0]["id"]
    hub.decide(StartTask(1, "d_1", task_id, 1))
    hub.wall_ms += 120_000
    return task_id


@pytest.mark.anyio
async def test_who_has_only_blocked_tasks_is_told_with_suggestions(hub: GatewayHub, ann: Client) -> None:
    task_id = await begun(hub, ann)
    await said(ann, "write a report, depends on T-001")
    hub.decide(FailTask("d_1", task_id, 1, Failure("INVALID_INPUT", "no such table"), 1))
    told = (await said(ann, "show status"))["reply"].splitlines()[-1]
    assert all(advice in told for advice in ('"retry T-001"', '"skip T-002"', '"cancel T-002"'))


@pytest.mark.anyio
async def test_twenty_tasks_of_one_message_keep_their_order(ann: Client) -> None:
    answer = await said(ann, "\n".join(f"{number}. check page {number}" for number in range(1, 26)))
    assert [task["input"] for task in answer["tasks"]] == [f"check page {number}" for number in range(1, 26)]


@pytest.mark.anyio
async def test_cancel_in_a_chat_ends_a_task_and_skip_leaves_it_out(ann: Client) -> None:
    await said(ann, "- analyse the data\n- write a report")
    await said(ann, "cancel T-001 and skip T-002")
    statuses = {task["ref"]: task["status"] for task in (await ann.get("/api/v1/tasks")).json}
    assert statuses == {"T-001": "cancelled", "T-002": "skipped"}
