"""The same thing as different people type it: each table holds one kind, and what must not be taken for it."""

from typing import Final

import pytest

from taskyard.chat.parsed import Missing, Parsed, Question
from taskyard.chat.parser import parse
from taskyard.vocabulary import ChatCommand, Level
from tests.chat.messages import lines_of, sources_of

CONFIGURATION: Final = lines_of("fresh_english.jsonl")[0]
SOURCES: Final = sources_of(CONFIGURATION["queues"], CONFIGURATION["default"])


def read(text: str) -> Parsed:
    return parse(text, SOURCES)


def inputs(text: str) -> list[str]:
    return [task.input for task in read(text).tasks]


def orders(text: str) -> list[tuple[str, tuple[int | str, ...]]]:
    return [(task.input, task.depends_on) for task in read(text).tasks]


# Politeness.


@pytest.mark.parametrize(
    "text",
    [
        "plese fix the login page",
        "pleas fix the login page",
        "plaese fix the login page",
        "Pleeease fix the login page",
        "pls pls fix the login page",
        "plz, fix the login page",
        "kindley fix the login page",
        "cud you fix the login page, ty",
        "could u plz fix the login page thanx",
        "can ya fix the login page, tnx a lot",
        "fix the login page, many thanks",
        "fix the login page, thank u so much",
    ],
)
def test_politeness_is_known_however_it_is_typed(text: str) -> None:
    assert [task.lower() for task in inputs(text)] == ["fix the login page"]


@pytest.mark.parametrize("text", ["pls", "plesae", "plus ten people came", "places were full", "thanx a lot", "ty"])
def test_politeness_alone_is_no_task(text: str) -> None:
    assert read(text) == Parsed()


# Questions about how things stand.


@pytest.mark.parametrize(
    "text",
    [
        "hows T-013",
        "hows T-013 coming along?",
        "how is T-013 getting on",
        "wheres T-013",
        "whys T-013 stuck",
        "whats T-013 doing",
        "whats the status of T-013",
        "whats happening with T-013",
        "hows it going with T-013?",
        "any news on T-013?",
        "isnt T-013 done yet",
    ],
)
def test_a_question_about_a_task_needs_no_apostrophe(text: str) -> None:
    assert [(one.command, one.ref) for one in read(text).commands] == [(ChatCommand.STATUS, "T-013")]


@pytest.mark.parametrize(
    "text", ["whats the status", "wats running", "whats still running?", "how r my tasks doing", "whats failed"]
)
def test_a_question_about_all_tasks_needs_no_apostrophe(text: str) -> None:
    assert [(one.command, one.ref) for one in read(text).commands] == [(ChatCommand.STATUS, None)]


@pytest.mark.parametrize("text", ["whats up?", "hows it going?", "whats the best way to learn go", "any news?"])
def test_a_question_about_anything_else_is_conversation(text: str) -> None:
    assert read(text) == Parsed()


@pytest.mark.parametrize(
    "text",
    [
        "T-013怎么样啦",
        "T-013 咋样了呀",
        "T-013搞定没",
        "T-013弄好了吗",
        "T-013什么情况",
        "T-013啥状态",
        "T-013进行得怎么样",
        "T-013到哪一步啦",
        "T-013为什么还没开始呀",
    ],
)
def test_a_question_about_a_task_may_end_as_one_speaks(text: str) -> None:
    assert [(one.command, one.ref) for one in read(text).commands] == [(ChatCommand.STATUS, "T-013")]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("任务怎么样啦", ChatCommand.STATUS),
        ("任务都跑得咋样啦", ChatCommand.STATUS),
        ("现在在跑啥", ChatCommand.STATUS),
        ("还有哪些任务没跑完", ChatCommand.STATUS),
        ("队列怎么样啦", ChatCommand.QUEUE),
        ("最近怎么样啦", None),
        ("周末怎么样啦", None),
    ],
)
def test_a_question_about_all_tasks_may_end_as_one_speaks(text: str, command: ChatCommand | None) -> None:
    assert [one.command for one in read(text).commands] == ([] if command is None else [command])
    assert read(text).tasks == ()


# Lists below a heading.


@pytest.mark.parametrize(
    "text",
    [
        "check these pages:\n- Pricing\n- Contact",
        "check the following pages for typos:\n- contact us\n- report a bug",
        "check for dead links:\n- pricing.html\n- contact.html",
        "write tests for these functions:\n- parse_date\n- format_price",
        "review these pull requests:\n- fix the login\n- update the readme",
        "process these files:\n- jan.csv\n- feb.csv",
        "lint the following modules\n- search.py\n- index.py",
        "delete the following files:\n- test/e2e\n- record.log",
        "translate the texts below into german:\n- Send message\n- Cancel order",
        "for these customers, write a letter:\n- bob\n- carol",
        "rename these columns one by one:\n- order_id\n- label",
        "校对下面几篇文章：\n- 更新公告\n- 通知.docx",
        "处理这些文件：\n- 一月.csv\n- 二月.csv",
        "把以下文件翻译一下：\n- 更新说明.md\n- 测试报告.md",
        "压缩下列图片\n- 首页.png\n- 关于.png",
    ],
)
def test_a_list_of_what_the_heading_works_with_is_one_task(text: str) -> None:
    assert inputs(text) == [text]


@pytest.mark.parametrize(
    "heading",
    [
        "do these things:",
        "please handle these:",
        "run the following tasks:",
        "do the tasks below:",
        "make these changes:",
        "implement the following features:",
        "Fix these please:",
        "can you take care of these 3 things:",
        "prepare the release:",
        "完成以下任务：",
        "请完成下面几件事：",
        "请按以下步骤做：",
        "实现以下功能：",
    ],
)
def test_a_list_of_what_is_to_be_done_is_of_tasks(heading: str) -> None:
    assert inputs(f"{heading}\n- fix the login\n- 更新文档") == ["fix the login", "更新文档"]


def test_a_heading_of_one_task_says_where_it_goes() -> None:
    (task,) = read("use glm5 to translate these files:\n- readme.md\n- index.md").tasks
    assert (task.input, task.model) == ("translate these files:\n- readme.md\n- index.md", "nvidia/z-ai/glm5")


# Steps.


@pytest.mark.parametrize(
    "text",
    [
        "Step 1: find the logs\nStep 2: delete them",
        "Step one - find the logs\nStep two - delete them",
        "step 1) find the logs\nstep 2) delete them",
        "Step 1: find the logs. Step 2: delete them",
        "Step 1 - find the logs; Step 2 - delete them",
        "Phase 1: find the logs\nPhase 2: delete them",
        "first: find the logs\nsecond: delete them",
        "1st: find the logs\n2nd: delete them",
        "find the logs, then delete them",
        "find the logs and then delete them",
    ],
)
def test_steps_come_one_after_the_other(text: str) -> None:
    assert [(task.strip(".;"), after) for task, after in orders(text)] == [("find the logs", ()), ("delete them", (0,))]


@pytest.mark.parametrize(
    "text",
    [
        "第一步：查找日志\n第二步：删除它们",
        "第一步 查找日志\n第二步 删除它们",
        "第1步：查找日志\n第2步：删除它们",
        "步骤一：查找日志\n步骤二：删除它们",
        "第一：查找日志\n第二：删除它们",
        "第一步：查找日志；第二步：删除它们",
        "第一步查找日志，第二步删除它们",
        "查找日志，然后删除它们",
    ],
)
def test_steps_in_chinese_come_one_after_the_other(text: str) -> None:
    assert orders(text) == [("查找日志", ()), ("删除它们", (0,))]


@pytest.mark.parametrize(
    "text",
    [
        "delete them",
        "1. delete them\n2. fix the menu",
        "draw a chart, then cancel it",
        "list the files and then delete the last task",
        "画一张图，然后取消它",
    ],
)
def test_a_command_without_a_task_is_asked_about_unless_it_is_a_step(text: str) -> None:
    assert read(text).question == Question(Missing.WHICH_TASK)


@pytest.mark.parametrize("text", ["第一步的结果是什么", "第二步的结果不对"])
def test_a_remark_about_a_step_is_none(text: str) -> None:
    assert read(text).tasks == ()


# Numerals with a sign of their own.


@pytest.mark.parametrize(
    "text",
    [
        "① 查找日志 ② 画一张图（依赖 1）③ 校对手册",
        "①查找日志②画一张图（依赖①）③校对手册",
        "① 查找日志；② 画一张图（依赖①）；③ 校对手册",
        "①查找日志\n②画一张图（依赖 1）\n③校对手册",
        "❶ 查找日志 ❷ 画一张图（依赖 1）❸ 校对手册",
        "⑴查找日志⑵画一张图（依赖⑴）⑶校对手册",
        "⒈查找日志⒉画一张图（依赖 1）⒊校对手册",
        "1️⃣ 查找日志 2️⃣ 画一张图（依赖 1）3️⃣ 校对手册",
        "1️⃣ 查找日志\n2️⃣ 画一张图（依赖 1）\n3️⃣ 校对手册",
    ],
)
def test_numerals_in_circles_number_a_list(text: str) -> None:
    assert orders(text) == [("查找日志", ()), ("画一张图", (0,)), ("校对手册", ())]


@pytest.mark.parametrize("text", ["修复①号和②号机房", "抓取a.csv①、②两列", "删除①号文件"])
def test_numerals_in_circles_may_be_part_of_the_work(text: str) -> None:
    assert inputs(text) == [text]


# Priorities.


@pytest.mark.parametrize(
    ("text", "task", "priority"),
    [
        ("URGENT: clear the cache", "clear the cache", Level.CRITICAL),
        ("Urgent! Clear the cache", "Clear the cache", Level.CRITICAL),
        ("URGENT clear the cache", "clear the cache", Level.CRITICAL),
        ("[URGENT] Clear the cache", "Clear the cache", Level.CRITICAL),
        ("urgent - reprovision the build box", "reprovision the build box", Level.CRITICAL),
        ("urgent restart nginx", "restart nginx", Level.CRITICAL),
        ("urgent please fix the login", "fix the login", Level.CRITICAL),
        ("IMPORTANT: reticulate all splines", "reticulate all splines", Level.HIGH),
        ("Important! Please call the bank", "call the bank", Level.HIGH),
        ("HIGH: clear the cache", "clear the cache", Level.HIGH),
        ("P1: clear the cache", "clear the cache", Level.HIGH),
        ("high prio: defrost the freezer", "defrost the freezer", Level.HIGH),
        ("Low priority: dust the old wiki pages", "dust the old wiki pages", Level.LOW),
        ("low prio clear the cache", "clear the cache", Level.LOW),
        ("no rush: alphabetise the contacts", "alphabetise the contacts", Level.LOW),
        ("重要：续签商城的证书", "续签商城的证书", Level.HIGH),
        ("重要！续签商城的证书", "续签商城的证书", Level.HIGH),
        ("很重要：对一下账", "对一下账", Level.HIGH),
        ("高优：续签证书", "续签证书", Level.HIGH),
        ("【紧急】清理磁盘", "清理磁盘", Level.CRITICAL),
        ("紧急 续签商城的证书", "续签商城的证书", Level.CRITICAL),
        ("加急：腾挪旧机柜", "腾挪旧机柜", Level.CRITICAL),
        ("不急：给旧照片上色", "给旧照片上色", Level.LOW),
    ],
)
def test_a_priority_stands_before_any_imperative(text: str, task: str, priority: Level) -> None:
    assert [(one.input, one.priority) for one in read(text).tasks] == [(task, priority)]


@pytest.mark.parametrize(
    "text",
    [
        "URGENT: the server is down",
        "urgent: server is down",
        "urgent: everyone is waiting for the release",
        "urgent: does anyone know the password?",
        "Urgent question about the invoice",
        "important: lunch is at noon",
        "important: customer call at 3",
        "important: remember the milk",
        "important news for the team",
        "critical error in the log",
        "high: 3, low: 5",
        "重要：明天下午开会",
        "紧急：数据库连不上",
        "紧急：服务器挂了",
        "重要的是保持健康",
        "重要提醒：明天放假",
    ],
)
def test_a_priority_makes_no_task_of_a_remark(text: str) -> None:
    assert read(text).tasks == ()


@pytest.mark.parametrize(
    ("text", "is_task"),
    [
        ("clear the cache", True),
        ("clear out all old backups", True),
        ("raise the limits of the gateway", True),
        ("containerise the service", True),
        ("clear skies today", False),
        ("empty promises again", False),
        ("lower prices make people happy", False),
        ("结算上周的订单", True),
        ("结算没问题", False),
        ("定位不准", False),
    ],
)
def test_a_word_that_may_describe_is_a_verb_by_what_follows_it(text: str, is_task: bool) -> None:
    assert inputs(text) == [text] * is_task


# Queues as places.


@pytest.mark.parametrize(
    ("text", "task", "queue"),
    [
        ("请在本地给病历脱敏", "给病历脱敏", "ollama-local"),
        ("在本地把病历脱敏", "把病历脱敏", "ollama-local"),
        ("请在本地帮我翻译合同", "翻译合同", "ollama-local"),
        ("在远程总结会议纪要", "总结会议纪要", "ollama-remote"),
        ("麻烦在云端分析停车场的照片", "分析停车场的照片", "cloud-nvidia"),
        ("on remote summarise the minutes", "summarise the minutes", "ollama-remote"),
        ("on the remote queue label the photos", "label the photos", "ollama-remote"),
    ],
)
def test_a_queue_is_a_place_where_work_follows_it(text: str, task: str, queue: str) -> None:
    assert [(one.input, one.queue) for one in read(text).tasks] == [(task, queue)]


@pytest.mark.parametrize(
    "text",
    ["在本地测试通过了", "在远程服务器上重启 nginx", "在本地数据库里查询订单", "on the local branch fix the login"],
)
def test_a_queue_is_no_place_where_something_else_follows_it(text: str) -> None:
    assert not any(task.queue for task in read(text).tasks)
