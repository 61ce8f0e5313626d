"""What stands before a list: whether its items are tasks, and what holds for all of them."""

import re
from typing import Final

from msgspec import Struct

from taskyard.chat.clause import Read, read
from taskyard.chat.dependencies import Wait
from taskyard.chat.intent import Intent, is_question, unasked
from taskyard.chat.lexicon import one_of, whole
from taskyard.chat.parsed import Question
from taskyard.chat.passage import Passage
from taskyard.chat.sequence import sentences
from taskyard.chat.sources import NOTHING_SAID, Names, Said

_ORDERED: Final = whole(
    r"in (?:this |that |the (?:following |given )?)?(?:order|sequence)|one (?:after|by) (?:another|the other|one)"
    r"|sequentially|step by step|in turn"
)
_ORDERED_ZH: Final = re.compile("依次|按照?(?:以下|下列|这个)?顺序|逐一|逐个|顺序执行")
_ASKS: Final = whole(
    one_of("tasks? to-?dos? to_do do add queue please need want following steps? these can_you could_you run handle")
)
_ASKS_ZH: Final = re.compile(
    one_of("任务 待办 以下 下面 下列 这些 这几 几件 两件 三件 做 完成 处理 安排 步骤 帮 请 需要")
)
_TELLS: Final = whole(
    one_of(
        """did done finished completed was were yesterday last_(?:week|month|night) like love hate favou?rite notes?
        reasons? pros cons questions? agenda ingredients why what who noticed learned remember hobbies facts changes
        highlights shopping grocer(?:y|ies) bought saw liked i"""
    )
)
_TELLS_ZH: Final = re.compile(
    one_of("昨天 上周 已完成 做了 完成了 完成的 做过 喜欢 原因 优点 缺点 议程 笔记 为什么 买 购物 爱好")
)
_GENERIC: Final = re.compile(
    one_of("do add run handle complete process queue work_on finish take_care_of execute start create make perform")
    + r"\s(?:(?:all|each|of|the|my|a|few|two|three|\d)\s){0,4}"
    + one_of("these those following this them tasks? things steps jobs below")
    + "|(?:做|处理|完成|执行|安排|办|搞定|跑|运行)"
)
"""Work that is told only in the list."""


class Heading(Struct, frozen=True):
    before: Passage
    """The text before it, which is none of it."""
    passage: Passage
    said: Said = NOTHING_SAID
    waits: tuple[Wait, ...] = ()
    question: Question | None = None
    is_asking: bool = False
    """It asks for what follows."""
    is_telling: bool = False
    """It tells of what follows: those are no tasks."""
    is_ordered: bool = False
    is_work: bool = False
    """It is something to do in itself: "translate these files:"."""


def heading_of(names: Names, prose: Passage) -> Heading:
    """The last sentence before a list, if it leads to it: it ends in a colon, or is about what follows."""
    nothing = prose.part(0, 0)
    last = next((one.passage for one in reversed(list(sentences(prose)))), nothing)
    clause, view = read(names, unasked(last)), last.view.strip()
    asks = bool(_ASKS.search(view) or _ASKS_ZH.search(view))
    if not (
        view.endswith(":") or clause.is_about_others or (asks and (clause.intent is Intent.TALK or not clause.content))
    ):
        return Heading(prose, nothing)
    is_work = clause.intent in (Intent.PLAIN, Intent.POLITE) and not _GENERIC.match(clause.content.view)
    is_telling = _is_telling(clause, last)
    return Heading(
        prose.part(0, len(prose.raw.rstrip()) - len(last.raw.rstrip())),
        last,
        clause.said,
        clause.waits,
        clause.question,
        is_asking=not is_telling and (clause.has_terms or clause.is_explicit or asks or is_work),
        is_telling=is_telling,
        is_ordered=bool(_ORDERED.search(view) or _ORDERED_ZH.search(view)),
        is_work=is_work,
    )


def _is_telling(clause: Read, passage: Passage) -> bool:
    if clause.has_terms or clause.intent > Intent.PLAIN:
        return False
    return is_question(passage) or bool(_TELLS.search(passage.view) or _TELLS_ZH.search(passage.view))
