"""What is answered: every fact of it, in both languages."""

import re
from typing import Any

import msgspec
import pytest

from taskyard.chat import replies
from taskyard.chat.parsed import Language, Missing, Parsed, ParsedCommand, ParsedTask, Question
from taskyard.chat.phrases import PHRASES
from taskyard.chat.replies import Acted, Because, Blocked, QueueFacts, TaskFacts
from taskyard.vocabulary import ChatCommand, Level, QueueState, Refusal, Status
from taskyard.vocabulary.reasons import Reason

ENGLISH, CHINESE = Language.ENGLISH, Language.CHINESE


def a_task(ref: str = "T-003", **more: Any) -> TaskFacts:
    known = {"text": "fetch the data", "status": Status.QUEUED, "queue": "local"}
    return TaskFacts(ref=ref, **{**known, **more})


def a_queue(**more: Any) -> QueueFacts:
    known = {"name": "local", "state": QueueState.OPEN, "waiting": 2, "running": 1, "done": 5}
    return QueueFacts(**{**known, **more})


def test_every_language_says_everything() -> None:
    assert set(PHRASES) == set(Language)
    for language, phrases in PHRASES.items():
        assert set(phrases.statuses) == set(Status)
        assert set(phrases.states) == set(QueueState)
        assert set(phrases.questions) == set(Missing)
        if language is not ENGLISH:
            # The hub says these in English itself.
            assert set(phrases.reasons) == set(Reason)
            assert set(phrases.levels) == set(Level)
            assert all(value for value in msgspec.structs.astuple(phrases))


def test_a_confirmation_has_all_that_was_decided() -> None:
    one = a_task(model="qwen2.5", position=2)
    two = a_task("T-004", text="plot\nit", status=Status.WAITING, depends_on=("T-001", "T-003"), was_known=True)
    assert replies.confirmation(ENGLISH, [one]) == (
        "Added 1 task:\n- T-003: fetch the data (queue local, model qwen2.5, position 2)"
    )
    assert replies.confirmation(CHINESE, [one, two]).splitlines() == [
        "已添加 2 个任务：",
        "- T-003：fetch the data（队列 local，模型 qwen2.5，位置 2）",
        "- T-004：plot it（队列 local，依赖 T-001，T-003，之前已有）",
    ]


def test_what_came_again_is_not_said_to_be_added() -> None:
    assert replies.confirmation(ENGLISH, [a_task(was_known=True)]) == (
        "This message was sent before; of it there is:\n- T-003: fetch the data (queue local)"
    )
    cancel = ParsedCommand(ChatCommand.CANCEL, "T-001")
    assert replies.not_again(ENGLISH, cancel) == "Not done again: cancel T-001"
    assert replies.not_again(CHINESE, cancel) == "不再重复执行：取消 T-001"


def test_a_confirmation_has_the_priority_and_the_goal_that_were_said() -> None:
    one = a_task(priority=Level.HIGH, goal="know the trend", position=1)
    assert replies.confirmation(ENGLISH, [one]).endswith(
        "(queue local, priority high, goal: know the trend, position 1)"
    )
    assert replies.confirmation(CHINESE, [one]).endswith("（队列 local，优先级 高，目标：know the trend，位置 1）")
    parsed = Parsed(CHINESE, (ParsedTask("画图", priority=9, goal="看趋势"),))
    assert replies.proposal(parsed).splitlines()[1] == "- #1：画图（优先级 9，目标：看趋势）"


def test_what_failed_is_listed_with_what_to_say() -> None:
    failed = a_task("T-009", status=Status.PERMANENTLY_FAILED, error="BOOM: no such table")
    queue = a_queue(failed=(failed,), failures=7)
    assert replies.queue_status(ENGLISH, [queue]).splitlines() == [
        "local: 1 running, 2 waiting, 5 done lately, 7 failed",
        "  nothing open",
        "  T-009 permanently failed: fetch the data (BOOM: no such table)",
        '  to try again: "retry T-009"',
    ]
    assert replies.queue_status(CHINESE, [queue]).splitlines() == [
        "local：1 个运行中，2 个等待中，最近完成 5 个，失败 7 个",
        "  没有未完成的任务",
        "  T-009 彻底失败：fetch the data（BOOM: no such table）",
        "  再试一次：“重试 T-009”",
    ]


def test_a_count_of_more_tasks_than_were_looked_at_says_so() -> None:
    assert replies.queue_status(ENGLISH, [a_queue(waiting=90, failures=10, is_cut=True)]).splitlines()[0] == (
        "local: 1 running, 90+ waiting, 5 done lately, 10+ failed"
    )


@pytest.mark.parametrize(
    ("code", "english", "chinese"),
    [
        (Refusal.TASK_NOT_FOUND, "It is so.", "你没有任务 T-003。"),
        (Refusal.INVALID_TRANSITION, "It is so.", "T-003 运行中，不能跳过。"),
        (Refusal.OVERLOADED, "It is so.", "暂时无法跳过（OVERLOADED），请稍后再试。"),
    ],
)
def test_a_refusal_is_in_the_language_of_the_answer(code: Refusal, english: str, chinese: str) -> None:
    no = Acted(command=ChatCommand.SKIP, ref="T-003", ok=False, detail="It is so.", code=code, status=Status.RUNNING)
    assert replies.detail_of(ENGLISH, no) == english
    assert replies.detail_of(CHINESE, no) == chinese


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_is_in_the_language_of_the_answer(reason: Reason) -> None:
    task = a_task(because=Because("It is so.", reason, 1, 2), failed=(("T-001", Status.STALE),))
    assert replies.task_status(ENGLISH, task).splitlines()[1] == "It is so."
    said = replies.task_status(CHINESE, task).splitlines()[1]
    assert re.search("[a-z{]", said) is None


def test_a_long_text_is_cut() -> None:
    line = replies.confirmation(ENGLISH, [a_task(text="x" * 1_000)]).splitlines()[1]
    assert line == f"- T-003: {'x' * 79}… (queue local)"


def test_a_proposal_names_what_is_not_there_yet_by_number() -> None:
    tasks = (ParsedTask("fetch it", "qwen2.5", "local"), ParsedTask("plot it", depends_on=(0, "T-009")))
    commands = (ParsedCommand(ChatCommand.CANCEL, "T-001"), ParsedCommand(ChatCommand.QUEUE, queue="local"))
    assert replies.proposal(Parsed(ENGLISH, tasks, commands)).splitlines() == [
        "This would add 2 tasks:",
        "- #1: fetch it (queue local, model qwen2.5)",
        "- #2: plot it (after #1, T-009)",
        "This would do: cancel T-001",
        "This would do: queue local",
    ]
    no = Acted(command=ChatCommand.CANCEL, ref="T-001", ok=False, detail="There is no such task of yours.")
    assert replies.proposal(Parsed(CHINESE, (), commands), {commands[0]: no}).splitlines() == [
        "取消 T-001：There is no such task of yours.",
        "将执行：查看队列 local",
    ]
    assert replies.proposal(Parsed(CHINESE, tasks[:1])).splitlines()[0] == "将添加 1 个任务："
    assert replies.proposal(Parsed(CHINESE, (), commands[:1])) == "将执行：取消 T-001"


@pytest.mark.parametrize(
    ("done", "said"),
    [
        (Acted(command=ChatCommand.CANCEL, ref="T-003", ok=True), "T-003 is cancelled"),
        (Acted(command=ChatCommand.RETRY, ref="T-003", ok=True), "T-003 is tried again"),
        (Acted(command=ChatCommand.SKIP, ref="T-003", ok=True), "T-003 is skipped"),
        (Acted(command=ChatCommand.CANCEL, ref="T-003", ok=True, is_stopping=True), "T-003 is asked to stop"),
        (
            Acted(command=ChatCommand.CANCEL, ref="T-003", ok=True, also=("T-004", "T-005")),
            "T-003 is cancelled, and with it T-004, T-005",
        ),
        (Acted(command=ChatCommand.SKIP, ref="T-003", ok=False, detail="It runs."), "skip T-003: It runs."),
        (Acted(command=ChatCommand.SKIP, ref="T-003", ok=False), "skip T-003: "),
    ],
)
def test_a_command_is_told_as_it_went(done: Acted, said: str) -> None:
    assert replies.acted(ENGLISH, done) == said


def test_a_queues_status_has_counts_and_what_is_open() -> None:
    tasks = (
        a_task("T-001", status=Status.RUNNING, lasted_ms=125_000),
        a_task("T-002"),
        a_task("T-003", status=Status.WAITING, depends_on=("T-002",)),
        a_task("T-004", status=Status.BLOCKED, failed=(("T-000", Status.STALE),)),
    )
    full = a_queue(tasks=tasks, more=3, state=QueueState.PAUSED)
    assert replies.queue_status(ENGLISH, [full, a_queue(name="far", waiting=0, running=0, done=0)]).splitlines() == [
        "local: 1 running, 2 waiting, 5 done lately, paused",
        "  T-001 running: fetch the data (for 2 min)",
        "  T-002 queued: fetch the data",
        "  T-003 waiting: fetch the data (after T-002)",
        "  T-004 blocked: fetch the data (T-000 ended as stale)",
        "  and 3 more",
        "far: 0 running, 0 waiting, 0 done lately",
        "  nothing open",
    ]
    assert replies.queue_status(CHINESE, [a_queue(state=QueueState.COOLING)]).splitlines() == [
        "local：1 个运行中，2 个等待中，最近完成 5 个，冷却中",
        "  没有未完成的任务",
    ]
    assert len(replies.queue_status(ENGLISH, [a_queue(tasks=tasks)]).splitlines()) == 5
    assert replies.queue_status(ENGLISH, []) == "Nothing of yours is open."


@pytest.mark.parametrize(
    ("lasted_ms", "said"), [(200, "1 s"), (59_000, "59 s"), (90_000, "2 min"), (7_200_000, "2 h"), (172_800_000, "2 d")]
)
def test_a_duration_is_in_its_largest_unit(lasted_ms: int, said: str) -> None:
    done = a_task(status=Status.COMPLETED, summary="42 rows", lasted_ms=lasted_ms)
    assert replies.task_status(ENGLISH, done) == f"T-003 is done: 42 rows (queue local, took {said})"


def test_a_task_that_ended_is_told_with_what_came_of_it() -> None:
    assert replies.task_status(CHINESE, a_task(status=Status.COMPLETED)) == "T-003 已完成：fetch the data（队列 local）"
    failed = a_task(status=Status.PERMANENTLY_FAILED, error="BOOM: no such table", tries=3)
    assert replies.task_status(ENGLISH, failed) == (
        'T-003 failed after 3 tries: BOOM: no such table (queue local). Say "retry T-003" to try again.'
    )
    unknown = a_task(status=Status.PERMANENTLY_FAILED, tries=1)
    assert replies.task_status(ENGLISH, unknown).startswith("T-003 failed after 1 try:  (queue local)")


def test_a_task_that_waits_is_told_with_why() -> None:
    assert replies.task_status(ENGLISH, a_task(position=2)) == (
        "T-003 is queued (queue local, position 2): fetch the data"
    )
    assert replies.task_status(CHINESE, a_task(because=Because("I changed my mind."))) == (
        "T-003 排队中（队列 local）：fetch the data\nI changed my mind."
    )


def test_who_has_only_blocked_tasks_is_told_what_would_help() -> None:
    stuck = [Blocked("T-002", ("T-001", "T-009"), ("T-009",)), Blocked("T-004", ("T-003",))]
    assert replies.all_blocked(ENGLISH, stuck).splitlines() == [
        "Every open task of yours is blocked. To go on:",
        '- T-002 needs T-001, T-009: say "retry T-009", or "skip T-002" or "cancel T-002"',
        '- T-004 needs T-003, which cannot be tried again: say "skip T-004" or "cancel T-004"',
    ]
    assert replies.all_blocked(CHINESE, stuck).splitlines()[1] == (
        "- T-002 需要 T-001，T-009：说“重试 T-009”，或“跳过 T-002”“取消 T-002”"
    )


@pytest.mark.parametrize("missing", Missing)
@pytest.mark.parametrize("language", Language)
def test_a_question_asks_for_one_thing(language: Language, missing: Missing) -> None:
    asked = replies.question(language, Question(missing, "gpt-9", tuple(f"m{number}" for number in range(20))))
    assert "{" not in asked
    assert asked.count("?") + asked.count("？") == 1
    assert "m12" not in asked


def test_of_two_that_were_named_one_is_asked_for() -> None:
    asked = Question(Missing.WHICH_MODEL, choices=("m1", "m2"))
    assert replies.question(ENGLISH, asked) == "Two are named. Which one should it be: m1, m2?"
    assert replies.question(CHINESE, asked) == "说了两个。要用哪个：m1，m2？"


def test_what_was_not_understood_is_answered_with_what_would_be() -> None:
    assert '"add task: …"' in replies.not_understood(ENGLISH)
    assert "任务状态" in replies.not_understood(CHINESE)
