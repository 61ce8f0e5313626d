"""What messages mean: a corpus of them, the rules one by one, and what no message may do."""

import time
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskyard.chat.drafts import TASKS_MAX
from taskyard.chat.parsed import Language, Missing, Parsed, ParsedTask, Question, Source, Sources
from taskyard.chat.parser import MESSAGE_CHARS_MAX, parse
from taskyard.vocabulary import Level
from tests.chat.messages import lines_of, shown, sources_of

CONFIGURATION, *CORPUS = lines_of("corpus.jsonl")
SOURCES: Final = sources_of(CONFIGURATION["queues"], CONFIGURATION["default_queue"])
NOTHING: Final = Sources()


def read(text: str, sources: Sources = SOURCES) -> Parsed:
    return parse(text, sources)


def inputs(text: str) -> list[str]:
    return [task.input for task in read(text).tasks]


# The corpus.


@pytest.mark.parametrize("message", CORPUS, ids=[f"{one['kind']}: {one['text'][:40]!r}" for one in CORPUS])
def test_every_message_of_the_corpus_means_what_it_says(message: dict[str, Any]) -> None:
    parsed = read(message["text"])
    assert shown(parsed) == {"tasks": message["tasks"], "commands": message["commands"]}
    assert (None if parsed.question is None else parsed.question.missing.value) == message.get("asks")


def test_the_corpus_is_of_every_kind() -> None:
    kinds = {one["kind"] for one in CORPUS}
    assert kinds == {
        *("task", "list", "sequence", "model", "source", "dependency", "command", "status", "half", "mixed", "chatter"),
    }
    assert len(CORPUS) >= 150


# Tasks.


def test_capitals_change_nothing_but_the_text() -> None:
    assert read("FIX IT, THEN USE GLM5 TO SHIP IT").tasks == (
        ParsedTask("FIX IT"),
        ParsedTask("SHIP IT", "nvidia/z-ai/glm5", "cloud-nvidia", (0,)),
    )


def test_an_answer_is_in_the_language_there_is_more_of() -> None:
    assert read("cancel T-001").language is Language.ENGLISH
    assert read("取消 T-001").language is Language.CHINESE
    assert read("用 qwen2.5 to analyze the sales data of last week").language is Language.ENGLISH
    assert read("").language is Language.ENGLISH


def test_quotes_around_all_of_a_message_are_none_of_it() -> None:
    assert inputs('"fix the build"') == inputs("“fix the build”") == ["fix the build"]
    assert inputs('fix "a" and "b"') == ['fix "a" and "b"']


@pytest.mark.parametrize(
    "text",
    [
        "write a test named 'first this then that'",
        "explain `a then b` in the docs",
        "summarize https://example.com/and/then/next",
        "document this:\n```\nthen_do(it)\nthen x\n```",
    ],
)
def test_what_is_quoted_separates_nothing(text: str) -> None:
    assert inputs(text) == [text]


def test_courtesies_are_taken_off_but_not_without_an_end() -> None:
    assert inputs("Hi team, sorry, if you have time, could you please fix the build? Thanks a lot!") == [
        "fix the build"
    ]
    assert inputs("ok, " * 7 + "fix the build") == []


def test_adverbs_before_a_verb_do_not_hide_it_but_not_without_an_end() -> None:
    assert inputs("today, quickly fix the build") == ["today, quickly fix the build"]
    assert inputs("quickly simply carefully finally always again today fix the build") == []


@pytest.mark.parametrize(
    "text",
    [
        "please frobnicate the widgets",
        "Please take a look at the logs",
        "could you give me a summary of the talk?",
        "please use Python to plot it",
    ],
)
def test_after_please_nearly_everything_is_work(text: str) -> None:
    assert len(inputs(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "please",
        "please wait",
        "please be careful",
        "please give me a minute",
        "can you help me with something?",
        "could you help me?",
        "can you running?",
        "please i beg of you",
        "帮我一下",
        "请",
        "帮我查一下天气",
        "麻烦现在",
    ],
)
def test_but_not_what_one_asks_of_a_person(text: str) -> None:
    assert read(text) == Parsed(read(text).language)


@pytest.mark.parametrize(
    ("text", "is_task"),
    [
        ("test login flow", True),
        ("test the login flow", True),
        ("test test_login.py", True),
        ("review Anna's patch", True),
        ("email Bob the numbers", True),
        ("code review is at three", False),
        ("design review at 3pm tomorrow", False),
        ("review meeting at 3pm", False),
        ("design something new", True),
        ("design ideas", False),
        ("release of the new version", False),
        ("report: all is well", False),
        ("test", False),
        ("deploy is done", False),
    ],
)
def test_a_word_that_may_be_a_noun_is_a_verb_by_what_follows_it(text: str, is_task: bool) -> None:
    assert bool(inputs(text)) is is_task


def test_a_verb_alone_is_half_a_sentence_but_not_after_another() -> None:
    assert read("summarise").question == read("总结").question == Question(Missing.WHAT)
    assert inputs("先总结，再翻译，最后发布") == ["总结", "翻译", "发布"]


# Lists.


def test_an_item_has_all_that_is_indented_below_it() -> None:
    assert inputs("- fix the menu\n  on phones\n\n  and tablets\n- ship it") == [
        "fix the menu\n  on phones\n  and tablets",
        "ship it",
    ]


def test_numbers_on_one_line_are_a_list_only_in_order() -> None:
    assert inputs("compare 1. 2. and 1. 3. of the paper") == []
    assert inputs("fix 2) and 1) of the review") == ["fix 2) and 1) of the review"]
    assert inputs("(一)整理发票 (二)核对账目") == ["整理发票", "核对账目"]


def test_a_list_without_a_heading_is_of_tasks_if_half_of_it_is() -> None:
    assert inputs("- fix the menu\n- the footer") == ["fix the menu", "the footer"]
    assert inputs("- milk\n- eggs\n- fix the menu") == []


def test_a_text_after_a_list_is_one_of_its_own() -> None:
    assert inputs("- fix the menu\n- ship it\nAlso, write the docs") == ["fix the menu", "ship it", "write the docs"]


def test_a_heading_may_lack_what_all_items_need() -> None:
    assert read("use gpt-9 for these:\n- fix the menu\n- ship it").question == Question(
        Missing.WHICH_MODEL, "gpt-9", tuple(model for source in SOURCES.queues for model in source.models)
    )

    assert read("put these in the gpu queue:\n- fix the menu\n- ship it").question == Question(
        Missing.WHICH_QUEUE, "gpu", (*CONFIGURATION["queues"], "default")
    )


def test_what_stands_before_a_heading_is_read_too() -> None:
    parsed = read("Cancel T-001.\nPlease do these:\n- fix the menu\n- ship it")
    assert ([command.ref for command in parsed.commands], len(parsed.tasks)) == (["T-001"], 2)


# Sequences.


@pytest.mark.parametrize(
    "text",
    [
        "summarize what happened after that meeting",
        "write a script using this template",
        "plan the release next week",
        "list what changed since then in the wiki",
        "find out what he did then",
        "fix the build, then don't touch it",
        "clean up after this is done badly",
    ],
)
def test_a_word_of_sequence_separates_only_what_is_something_to_do(text: str) -> None:
    assert len(inputs(text)) == 1


def test_after_that_needs_no_comma_if_a_verb_follows() -> None:
    assert inputs("fetch the data after that plot it") == ["fetch the data", "plot it"]


def test_a_sentence_that_begins_with_then_and_asks_for_nothing_belongs_to_the_task() -> None:
    assert inputs("Fix the menu. Then it looks right.") == ["Fix the menu. Then it looks right."]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Fix the login with glm5. It is broken.", "Fix the login. It is broken."),
        ("Fix the login (glm5)! It is broken.", "Fix the login! It is broken."),
        ("Fix the login with glm5; it is broken.", "Fix the login; it is broken."),
        ("Fix the login with glm5.", "Fix the login"),
        ("修复登录，用 glm5。 它坏了。", "修复登录。 它坏了。"),
    ],
)
def test_a_sentence_ends_where_it_did_without_the_model_it_named(text: str, left: str) -> None:
    (task,) = read(text).tasks
    assert (task.input, task.model) == (left, "nvidia/z-ai/glm5")


@pytest.mark.parametrize(
    "text",
    [
        "Fix the bug, but not with llama3. It is too slow.",
        "Fix the bug, but don't use llama3. It is too slow.",
        "Fix the bug, not on remote. It is too slow.",
        "Fix the bug and never with llama3.",
        "修复登录，不要用 llama3。它太慢。",
        "修复登录，别用 llama3。",
    ],
)
def test_a_model_or_a_queue_that_is_ruled_out_is_not_chosen_and_stays_in_the_text(text: str) -> None:
    (task,) = read(text).tasks
    assert (task.input.replace("。 ", "。"), task.model, task.queue) == (text, None, None)


@pytest.mark.parametrize(
    "text",
    ["cancel T-001 T-002", "cancel T-001/T-002", "取消 T-001 T-002", "cancel T-001, T-002", "cancel T-001 and 2"],
)
def test_tasks_are_named_one_beside_the_other(text: str) -> None:
    assert [command.ref for command in read(text).commands] == ["T-001", "T-002"]


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("cancel T-001 if T-002 fails", Missing.AT_ONCE),
        ("cancel T-001 when T-002 is done", Missing.AT_ONCE),
        ("cancel T-001 tomorrow", Missing.AT_ONCE),
        ("retry T-001 in 5 minutes", Missing.AT_ONCE),
        ("skip T-001, unless it runs", Missing.AT_ONCE),
        ("取消 T-001 如果 T-002 失败", Missing.AT_ONCE),
        ("cancel T-001 or T-002", Missing.WHICH_TASK),
        ("cancel T-001 to T-003", Missing.WHICH_TASK),
    ],
)
def test_a_command_that_is_not_meant_for_this_moment_or_these_tasks_is_asked_about(text: str, asks: Missing) -> None:
    parsed = read(text)
    assert parsed.commands == ()
    assert parsed.question is not None
    assert parsed.question.missing is asks


@pytest.mark.parametrize("text", ["cancel T-001 now", "cancel T-001 if possible", "cancel T-001, it is obsolete"])
def test_a_command_for_this_moment_is_one(text: str) -> None:
    assert [command.ref for command in read(text).commands] == ["T-001"]


def test_an_abbreviation_ends_no_sentence() -> None:
    assert inputs("fix the lists, e.g. the menu. then ship it") == ["fix the lists, e.g. the menu.", "ship it"]


def test_after_what_was_commanded_nothing_waits_but_for_a_retry() -> None:
    assert read("cancel T-001, then fix the menu").tasks == (ParsedTask("fix the menu"),)
    assert read("retry T-001, then fix the menu").tasks == (ParsedTask("fix the menu", depends_on=("T-001",)),)
    assert read("retry T-001. Fix the menu.").tasks == (ParsedTask("Fix the menu."),)


def test_a_long_text_that_was_pasted_belongs_to_the_request_before_it() -> None:
    text = "Summarise this: " + "Then the king left. " * 400
    assert inputs(text) == [text.strip()]
    endless = "summarise this: " + "x" * 9_000 + ", then fix the menu"
    assert inputs(endless) == [endless]


# Dependencies.


def test_a_number_is_a_place_in_the_list_and_without_one_a_ref() -> None:
    assert read("ship it, depends on 7").tasks[0].depends_on == ("T-007",)
    assert read("1. fix it\n2. ship it, depends on 1").tasks[1].depends_on == (0,)
    assert read("1. fix it\n2. ship it, depends on the previous one").tasks[1].depends_on == (0,)


@pytest.mark.parametrize("text", ["1. fix it (depends on 1)\n2. ship it", "fix it, depends on the previous one"])
def test_a_task_that_cannot_be_told_is_asked_about(text: str) -> None:
    assert read(text).question == Question(Missing.WHICH_TASK)


def test_what_waits_is_said_of_the_last_task_or_of_all() -> None:
    assert [task.depends_on for task in read("- fix it\n- ship it\nThey all depend on T-009").tasks] == [("T-009",)] * 2
    assert read("fix the menu, then ship it. It depends on T-009.").tasks[1].depends_on == (0, "T-009")


def test_more_phrases_than_anybody_says_are_left_in_the_text() -> None:
    (task,) = read("fix it " + " ".join(f"(depends on T-{number})" for number in range(1, 8))).tasks
    assert len(task.depends_on) == 5
    assert task.input == "fix it (depends on T-6) (depends on T-7)"


# Models and queues.


def test_where_no_queue_lists_models_any_is_taken() -> None:
    assert read("use gpt-4o to fix it", NOTHING).tasks == (ParsedTask("fix it", "gpt-4o"),)
    assert read("use the default queue to fix it", NOTHING).tasks == (ParsedTask("fix it", queue="default"),)
    assert read("use Python to fix it", NOTHING).tasks == (ParsedTask("use Python to fix it"),)


def test_the_most_exact_name_decides_then_the_order() -> None:
    sources = Sources((Source("a", ("x/qwen:7b",)), Source("b", ("qwen",)), Source("c", ("command-r", "y/qwen"))))
    assert read("use qwen to fix it", sources).tasks[0].queue == "b"
    assert read("use x/qwen:7b to fix it", sources).tasks[0].model == "x/qwen:7b"
    assert read("use command-r to fix it", sources).tasks[0].queue == "c"


def test_a_queues_name_has_parts_but_none_that_mean_anything() -> None:
    sources = Sources((Source("my-gpu-queue-1", ("m1",)),))
    assert read("send to gpu: fix it", sources).tasks[0].queue == "my-gpu-queue-1"
    assert read("send to 1: fix it", sources).tasks == (ParsedTask("send to 1: fix it"),)


def test_a_model_with_a_size_is_a_model_whatever_its_name() -> None:
    assert read("use foo:27b to fix it").question is not None


@pytest.mark.parametrize(
    "text", ["fix it (glm5)", "fix it [glm5].", "@glm5 fix it", "fix it, via glm5", "fix it (use glm5)"]
)
def test_a_model_may_be_a_mere_remark(text: str) -> None:
    assert read(text).tasks == (ParsedTask("fix it", "nvidia/z-ai/glm5", "cloud-nvidia"),)


def test_brackets_that_hold_something_else_stay() -> None:
    assert inputs("fix it (soon)") == ["fix it (soon)"]


def test_what_is_said_of_no_task_goes_to_the_first_model_of_a_default_source() -> None:
    sources = Sources((Source("near", ("m1",)), Source("far", ("m2", "m3"))), "far")
    assert read("fix it", sources).tasks == (ParsedTask("fix it", "m2", "far"),)
    assert read("use m1 to fix it", sources).tasks == (ParsedTask("fix it", "m1", "near"),)
    assert read("fix it", Sources((Source("far"),), "far")).tasks == (ParsedTask("fix it"),)


@pytest.mark.parametrize(
    "text",
    [
        "send a mail using the remote server",
        "use the cloud storage to store the backups",
        "restart it on the local machine",
        "用远程服务器部署应用",
        "用本地文件更新数据库",
    ],
)
def test_a_word_that_describes_another_is_no_queue(text: str) -> None:
    (task,) = read(text).tasks
    assert (task.input, task.queue) == (text, None)


def test_a_queue_goes_by_its_name_backwards() -> None:
    assert read("fix the menu with the remote ollama").tasks[0].queue == "ollama-remote"


# What holds for a task, and is said once.


def test_what_is_said_before_the_tasks_holds_for_all_of_them() -> None:
    parsed = read("Use glm5. High priority. Fix the menu, then ship it.")
    assert {(task.model, task.priority) for task in parsed.tasks} == {("nvidia/z-ai/glm5", Level.HIGH)}
    assert read("High priority. Cancel T-001.").question == Question(Missing.WHAT)


def test_an_item_may_differ_from_its_heading() -> None:
    tasks = read("Use glm5 for these, low priority:\n- urgent: fix it with mistral\n- ship it").tasks
    assert [(task.model, task.priority) for task in tasks] == [
        ("ollama/mistral", Level.CRITICAL),
        ("nvidia/z-ai/glm5", Level.LOW),
    ]


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("use glm5 to fix it with mistral", Missing.WHICH_MODEL),
        ("fix it with glm5 or mistral", Missing.WHICH_MODEL),
        ("用 glm5 或者 mistral 分析日志", Missing.WHICH_MODEL),
        ("use glm5 to fix it. Use mistral.", Missing.WHICH_MODEL),
        ("Use glm5. Use mistral. Fix it.", Missing.WHICH_MODEL),
        ("send to remote: fix it on nvidia", Missing.WHICH_QUEUE),
        ("urgent: fix it, low priority", Missing.WHICH_PRIORITY),
        ("priority 9: fix it with priority 3", Missing.WHICH_PRIORITY),
    ],
)
def test_what_is_said_twice_and_differs_is_asked_about(text: str, asks: Missing) -> None:
    question = read(text).question
    assert question is not None
    assert (question.missing, question.about, len(question.choices)) == (asks, "", 2)


def test_what_is_said_twice_and_alike_is_said() -> None:
    assert read("use Qwen 2.5 to fix it with qwen2.5").tasks[0].model == "ollama/qwen2.5"
    assert read("high priority: fix it, high priority").tasks == (ParsedTask("fix it", priority=Level.HIGH),)


@pytest.mark.parametrize("number", [0, 11, 999])
def test_a_priority_that_is_none_is_asked_about(number: int) -> None:
    assert read(f"fix it, priority {number}").question == Question(Missing.WHICH_PRIORITY, str(number))


@pytest.mark.parametrize(
    ("words", "level"),
    [
        ("not urgent", Level.LOW),
        ("very urgent", Level.CRITICAL),
        ("top priority", Level.CRITICAL),
        ("highest priority", Level.CRITICAL),
        ("lowest priority", Level.LOW),
        ("normal priority", Level.NORMAL),
        ("asap", Level.HIGH),
        ("it's important", Level.HIGH),
        ("[p0]", Level.CRITICAL),
        ("(P3)", Level.LOW),
        ("不着急", Level.LOW),
        ("非常紧急", Level.CRITICAL),
        ("普通优先级", Level.NORMAL),
        ("优先级最低", Level.LOW),
    ],
)
def test_a_priority_has_many_words(words: str, level: Level) -> None:
    assert read(f"fix the menu, {words}").tasks == (ParsedTask("fix the menu", priority=level),)


@pytest.mark.parametrize(
    "text",
    [
        "fix the critical bug",
        "sort the high priority tickets",
        "explain what low priority means in the docs",
        "write 'urgent: fix it' on the wall",
        "修复紧急漏洞",
        "列出高优先级的工单",
    ],
)
def test_a_priority_that_is_somethings_else_stays_in_the_text(text: str) -> None:
    assert read(text).tasks == (ParsedTask(text),)


def test_a_remark_before_a_request_comes_along_but_no_pleasantry_and_no_question() -> None:
    assert inputs("The menu is red. It was blue. Fix the menu.") == ["The menu is red. It was blue. Fix the menu."]
    assert inputs("Hope you are well. How are you? Fix the menu.") == ["Fix the menu."]
    assert inputs("希望你一切都好。修复登录。") == ["修复登录。"]


def test_what_is_told_before_a_list_is_told_to_each_of_its_tasks() -> None:
    text = "The server is db-2. Please do these:\n- check the disk\n- clean the logs"
    assert inputs(text) == ["The server is db-2. check the disk", "The server is db-2. clean the logs"]
    assert inputs("The server is db-2. Fix it, then ship it") == ["The server is db-2. Fix it", "ship it"]


def test_a_list_that_is_told_is_what_a_request_after_it_is_about() -> None:
    text = "Notes from today:\n- sales are up\n- churn is down\nSummarize these notes."
    assert inputs(text) == [text]


def test_a_long_remark_before_a_long_list_is_too_much() -> None:
    listed = "Please do these:\n" + "\n".join(f"- fix page {number}" for number in range(100))
    assert len(inputs(f"The server is {'slow ' * 100}. {listed}")) == 100
    assert read(f"The server is {'slow ' * 5_000}. {listed}").question == Question(Missing.FEWER)


# What no message may do.


def test_a_message_that_is_too_long_is_asked_to_be_shorter() -> None:
    assert read("x" * (MESSAGE_CHARS_MAX + 1)).question == Question(Missing.SHORTER)
    assert read("fix it " + "x" * (MESSAGE_CHARS_MAX - 7)).question is None


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"- fix page {number}" for number in range(TASKS_MAX + 1)),
        "fix page 0" + "".join(f", then fix page {number}" for number in range(TASKS_MAX + 1)),
        "\n\n".join(f"Add task: fix page {number}." for number in range(TASKS_MAX + 5)) + "\n- and that\n- and this",
        "cancel T-1" + "".join(f" and skip T-{number}" for number in range(TASKS_MAX + 1)),
    ],
    ids=["list", "sequence", "texts", "commands"],
)
def test_a_message_of_too_many_tasks_is_asked_to_have_fewer(text: str) -> None:
    assert read(text).question == Question(Missing.FEWER)


def test_as_many_tasks_as_one_message_may_have_are_taken() -> None:
    assert len(read("\n".join(f"- fix page {number}" for number in range(TASKS_MAX))).tasks) == TASKS_MAX


def test_a_question_is_the_first_that_comes_up_and_nothing_else_is_done() -> None:
    parsed = read("cancel it. Use gpt-9 to fix the menu.\n- ship it\n- mail it\nCancel T-001.")
    assert parsed == Parsed(question=Question(Missing.WHICH_TASK))


def test_only_conversation_is_not_understood() -> None:
    assert not read("how are you?").is_understood
    assert all(read(text).is_understood for text in ("fix the menu", "cancel T-001", "cancel it"))


PIECES: Final = (
    *("use", "qwen2.5", "to", ",", ".", "?", "!", ";", ":", "\n", "-", "1.", "2.", "(1)", "①", "then", "next"),
    *("after that", "and", "T-001", "T-2", "depends on", "cancel", "retry", "skip", "status", "show", "queue"),
    *("remote", "用", "远程", "然后", "接着", "依赖", "取消", "重试", "帮我", "分析", "数据", "把", "发到"),
    *("urgent:", "high priority", "priority 9", "紧急：", "优先级 3", "goal:", "目标：", "or", "或者"),
    *("the", "it", "this", '"', "'", "`", "```", "[", "]", "(", ")", "@", "#", "please", "thanks", "hi"),
    *("analyze", "write", "report", "。", "、", "先", "再", "all of them", "once done", "完成后", "第1个"),
    *("#3", "task 3", "\t", "\x01", "gpt-9", "ollama/llama3", "ü", "😀", "\u2028", "in order", "for these"),
)


def is_sound(parsed: Parsed) -> bool:
    """A question or something to do, never both; every task says something, and waits for another that is there."""
    places = range(len(parsed.tasks))
    return not (parsed.question and (parsed.tasks or parsed.commands)) and all(
        task.input.strip() and all(isinstance(one, str) or (one in places and one != place) for one in task.depends_on)
        for place, task in enumerate(parsed.tasks)
    )


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=300))
def test_any_text_has_a_meaning(text: str) -> None:
    assert is_sound(read(text))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(("", " ", " "))), max_size=30))
def test_any_mixture_of_the_words_that_matter_has_a_meaning(pieces: list[tuple[str, str]]) -> None:
    assert is_sound(read("".join(word + gap for word, gap in pieces)))


REPEATED: Final = (
    *("a", " ", "\n", "!", ".", "。", "1. ", "- ", "then ", "a then b ", "use ", "use qwen2.5 ", "用 qwen2.5 "),
    *("T-1 ", "T-1,", "T-1 and ", "depends on T-1 ", "cancel T-1 and ", "(", "[", '"', "'a ", "`", "```"),
    *("http://", "please ", "hi, ", "谢谢", "再", "先再", "然后", "把发给", "my the of on for ", "status of ", "队列"),
    *("send it to ", "with ", "on the ", ",", "1) a ", "analyze the data. ", "Analyze data.\n", "①"),
    *(
        "urgent, ",
        "priority 9, ",
        ", goal",
        "goal: a. ",
        "高优先级",
        "如果",
        "以高优先级",
        "能解释",
        "很",
        "或者 glm5 ",
    ),
    *("if a, ", "Then he said. ", "write x; ", "第1", "1,2,", "e.g. ", "... "),
)


def spent_ms(text: str) -> float:
    """Of the processor's time, since others may be at work beside us; the least of a few tries."""
    tries = []
    for _ in range(3):
        before = time.process_time_ns()
        read(text)
        tries.append((time.process_time_ns() - before) / 1e6)
    return min(tries)


@pytest.mark.slow
@pytest.mark.parametrize("piece", REPEATED)
def test_reading_takes_no_longer_than_the_text_is(piece: str) -> None:
    """Four times the text takes four times as long; what looks back at each place would take sixteen times."""
    endless = piece * (1024 * 1024 // len(piece) + 1)
    for around in ("{}", "analyze {} x", "{} use qwen2.5?"):
        room = MESSAGE_CHARS_MAX - len(around)
        quarter_ms, whole_ms = (spent_ms(around.format(endless[:chars])) for chars in (room // 4, room))
        assert whole_ms < 10 * max(quarter_ms, 1)
    assert spent_ms(endless) < 10 * max(quarter_ms, 1)
