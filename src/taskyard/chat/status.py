"""Questions about how things stand: "task status", "show queue X", 队列状态, "is T-003 done?".

They change nothing, so they may be worded in many ways; but all of a clause has to be about it. "Check the status of
the deployment" is work.
"""

import re
from typing import Final

from taskyard.chat.dependencies import REFS, refs_in
from taskyard.chat.lexicon import one_of
from taskyard.chat.parsed import Missing, ParsedCommand, Question
from taskyard.chat.passage import Passage
from taskyard.chat.sources import Names
from taskyard.chat.target import target_at
from taskyard.vocabulary import ChatCommand

CHARS_MAX: Final = 120
# Nobody needs more to ask; what is longer is about something else, and is not looked at.

# English.
_SHOW: Final = one_of(
    """(?:show|list|display|get|give|print|check|view|see|tell|let)(?:_(?:me|us))?(?:_(?:see|know|about))? what's
    what_is what_are how's how_is how_are how_about what_about any is_there(?:_any)? do_i_have(?:_any)?"""
)
_MY: Final = r"(?:\s?(?:the|my|our|all|current|any|overall|latest|full|whole|of|on|for|a|an|in|inside)(?![a-z])){0,5}"
_THING: Final = one_of("tasks? task_?queues? queues? tasks?_list jobs yard everything work backlog to-?do_list")
_STATE: Final = one_of("status(?:es)? status_(?:update|report|overview) state progress overview update situation")
_NOW: Final = (
    r"(?:\s?"
    + one_of(
        """now right_now today please so_far doing going looking at_the_moment currently like running pending
        waiting queued blocked open left there yet overview status up_to"""
    )
    + r"){0,4}"
)
_STANDS: Final = one_of("running pending waiting queued blocked left open stuck failed in_the_queue done finished")
_ALL: Final = re.compile(
    rf"(?:{_SHOW}\s?)?{_MY}\s?(?:{_THING}(?:'s)?\s{_STATE}|{_STATE}(?:\s(?:of|on|for|with){_MY}\s{_THING})?){_NOW}"
    rf"|{_SHOW}{_MY}\s{_THING}{_NOW}|(?:tasks?|queues?)"
    rf"|(?:what|which|how many)(?:\s(?:of\s)?(?:my\s)?{_THING})?(?:'s|\sis|\sare|\sdo i have)\s"
    rf"(?:(?:still|currently|now)\s)?{_STANDS}(?:\snow|\sright now)?"
    rf"|(?:is|are)\s(?:there\s)?(?:any(?:thing|\stasks?|\sof my tasks)|(?:my|the|all) tasks|everything)\s"
    rf"(?:still\s)?{_STANDS}(?:\syet|\snow)?"
)
_QUEUE: Final = (
    re.compile(rf"(?:{_SHOW}\s)?{_MY}\s?(?:queue\s?{_STATE}?|{_STATE})\s?(?:of|for|on|in|at|:)?\s?(?P<name>\S.*)"),
    re.compile(rf"(?:{_SHOW}\s)?{_MY}\s?(?P<name>\S.*?)(?:'s)?\s(?:queue|{_STATE})(?:\s{_STATE})?{_NOW}"),
)
_NO_QUEUE: Final = re.compile(
    r"(?:show|display|list|view)(?:\sme)?(?:\sthe)?\squeue\s(?P<name>[\w./:-]+)|(?:查看|显示)队列\s?(?P<zh>[a-z][\w./:-]*)"
)
_TASK: Final = re.compile(
    rf"(?P<asks>{_SHOW}|status|where(?:'s|\sis)|why(?:'s|\sis|\sdid|\sdoes|\shas|\sisn't|\shasn't|\sdoesn't)|did|has|is|does"
    rf"|when\swill|what\shappened\s(?:to|with)|explain)?{_MY}\s?(?:{_STATE}\s(?:of|on|for)\s)?(?P<refs>{REFS})(?:'s)?"
    r"(?P<about>(?:\s"
    + one_of(
        """status state progress doing going done finished finish completed? ready running run blocked waiting
        stuck failed fail failing started? over yet now so_far still not isn't wasn't right_now coming_along in
        the queued? pending there happening with up taking so long"""
    )
    + r"){0,6})"
)

# Chinese.
_SHOW_ZH: Final = one_of("查看 查询 查 显示 列出 看看 看 给我看看? 告诉我 说说 汇报 报告") + "(?:一下|下)?"
_MY_ZH: Final = one_of("现在 当前 目前 所有 全部 我的 我 的 整个 各个 今天 一下") + "{0,4}"
_STATE_ZH: Final = one_of("状态 情况 进度 进展 状况 列表 概况")
_HOW_ZH: Final = one_of(
    "怎么样 如何 怎样 咋样 是什么 什么样 到哪了? 到哪一?步了? 有哪些 有什么 有多少 还有多少 还剩多少 多少"
)
_THING_ZH: Final = one_of("任务队列 队列任务 任务 队列 排队 工作")
_END_ZH: Final = "[了呢啊吧吗]{0,3}"
_ALL_ZH: Final = re.compile(
    rf"(?:{_SHOW_ZH})?{_MY_ZH}{_THING_ZH}?的?{_STATE_ZH}(?:{_HOW_ZH})?{_END_ZH}|{_SHOW_ZH}{_MY_ZH}{_THING_ZH}{_END_ZH}"
    rf"|{_MY_ZH}{_THING_ZH}(?:现在|目前|都|跑|做|进行){{0,2}}{_HOW_ZH}{_END_ZH}|队列"
    rf"|{_MY_ZH}任务(?:都|全部)?(?:跑完|完成|做完|结束)了?(?:吗|没有?)"
    rf"|{_MY_ZH}还?(?:有|剩)(?:哪些|什么|多少|几个)(?:任务)?还?(?:正?在|没)?(?:跑|运行|排队|等待|执行|做|完成|队列里|剩)?{_END_ZH}"
    rf"|{_MY_ZH}(?:正?在)?(?:跑|运行|执行|做)着?(?:哪些|什么)(?:任务)?{_END_ZH}"
)
_QUEUE_ZH: Final = re.compile(
    rf"(?:{_SHOW_ZH})?{_MY_ZH}\s?(?:(?P<name>\S.*?)\s?的?队列[里中]?(?:现在|目前)?的?(?:{_STATE_ZH}|{_HOW_ZH})?"
    rf"|队列\s?(?P<after>[a-z0-9]\S*?|远程|本地|云端?|默认)\s?的?(?:{_STATE_ZH}|{_HOW_ZH})?){_END_ZH}"
)
_TASK_ZH: Final = re.compile(
    rf"(?P<asks>{_SHOW_ZH}|为什么|为何)?{_MY_ZH}\s?(?P<refs>{REFS})\s?(?P<about>"
    + one_of(
        r"""的 任务 现在 目前 还 没 没有 在 正在 不 状态 情况 进度 进展 怎么样 如何 怎样 咋样 到哪 完成 做完 跑完
        跑 运行 失败 开始 结束 执行 卡住 被 阻塞 为什么 好 了 吗 呢 吧 一下 \s"""
    )
    + "{0,10})"
)


_ABOUT_QUEUES: Final = re.compile("queue|backlog|队列|排队")


def status_asked(names: Names, passage: Passage) -> tuple[ParsedCommand, ...] | Question:
    """What a clause asks about; nothing if it is about something else."""
    view = passage.view.rstrip(" .!?。")
    if len(view) > CHARS_MAX:
        return ()
    if _ALL.fullmatch(view) or _ALL_ZH.fullmatch(view):
        return (ParsedCommand(ChatCommand.QUEUE if _ABOUT_QUEUES.search(view) else ChatCommand.STATUS),)
    return _of_tasks(view) or _of_queue(names, view)


def _of_tasks(view: str) -> tuple[ParsedCommand, ...]:
    for pattern in (_TASK, _TASK_ZH):
        found = pattern.fullmatch(view)
        if found and (found["asks"] or found["about"]):
            return tuple(ParsedCommand(ChatCommand.STATUS, ref) for ref in refs_in(found["refs"]))
    return ()


def _of_queue(names: Names, view: str) -> tuple[ParsedCommand, ...] | Question:
    """A name that is no queue's is asked about only where it was said to be one's."""
    for pattern in (_QUEUE_ZH, *_QUEUE):
        found = pattern.fullmatch(view)
        name = next((said.strip() for said in found.groups() if said), "") if found else ""
        target = target_at(names, Passage.of(name), 0)
        if target is not None and target.said.queue is not None and target.end == len(name):
            return (ParsedCommand(ChatCommand.QUEUE, queue=target.said.queue),)
    unknown = _NO_QUEUE.fullmatch(view)
    if unknown is None:
        return ()
    return Question(Missing.WHICH_QUEUE, unknown["name"] or unknown["zh"], names.queue_names)
