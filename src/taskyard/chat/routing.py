"""Where a clause says that its task should go, and the clause without saying so.

A phrase leads to a name ("use …", "send to …", 用 …), and only if there is a model or a queue of that name is it about
routing: "use Python to …" and "send the report to Bob" are work like any other. Which leads count depends on where they
stand. At the beginning nearly all do; in the middle and at the end only those that are about nothing else there: in
"write a post on llama3" the model is the subject, in "restart nginx on the remote server" the word is.
"""

import re
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from taskyard.chat import chinese, english
from taskyard.chat.intent import Intent, bared, intent_of
from taskyard.chat.parsed import Question
from taskyard.chat.passage import Passage
from taskyard.chat.sources import NOTHING_SAID, Names, Said
from taskyard.chat.target import Target, target_at

EDGE_CHARS: Final = 600
# It is said at the beginning of a clause, or at its end.
TAIL_CHARS: Final = 120
# A phrase at the end of a clause begins within this: three words of a name and what leads to them.

_THIS: Final = (
    r"(?:(?:all|each|both|any)(?: of)? )?(?:this|it|that|these|those|them|the following|everything|all|both"
    r"|(?:a|the|my|new|a new) tasks?|tasks?)(?: (?:tasks?|jobs?|ones?|here|below))?"
)
_SEND: Final = r"(?:send|route|dispatch|submit|queue|assign|give|hand|delegate|pass|put|add|move|forward)"
# At the beginning of a clause, before a name.
_USE: Final = re.compile(r"(?:use|using|via|through|with)\s{1,3}|(?:使用|用|让|叫|拿|通过|由)\s?")
_NAMED: Final = re.compile(r"(?=(?:model|queue|source)\s?[:=]|(?:模型|队列)\s?(?:[:=]|用|是|为))")
_ASK: Final = re.compile(r"(?:have|let|ask|get|tell)\s{1,3}")
_SEND_TO: Final = re.compile(
    rf"{_SEND}\s{{1,3}}(?:{_THIS}\s{{1,3}})?(?:(?:off|over|up)\s)?(?:to|in|into|on|onto)\s{{1,3}}"
    rf"|(?:把|将)?{chinese.THIS}?{chinese.SEND}\s?"
)
_RUN_ON: Final = re.compile(
    rf"(?:run|do|execute|process|handle|start)\s{{1,3}}(?:{_THIS}\s{{1,3}})?(?:on|with|using|via|in|through)\s{{1,3}}"
)
_AT: Final = re.compile(r"(?:on|in)\s{1,3}|在\s?")
_TAG: Final = re.compile(r"[\[(@]\s?")

# What joins such a beginning to the work, and what may stand for the work until it is told.
_JOINT: Final = re.compile(
    r"\s{0,3}(?:上面|上|里面?|中|那边)?(?:来|去)?(?:(?:处理|执行|运行|跑|做)(?:一下)?(?=\s?:))?\s{0,2}"
    r"(?:[,:;)\]-]|(?:to|and|for)(?![a-z'-]))?\s{0,3}(?:(?:to|and|for)(?![a-z'-])\s{1,3})?"
)
_ADDRESSED: Final = re.compile(rf"\s?:|,?\s?(?:{english.PLEASE}\s|帮我|请(?!问))")
_FOR_THIS: Final = re.compile(
    rf"(?:do\s|run\s|handle\s|process\s)?{_THIS}\s?:|(?:做|处理|完成|执行|跑)?{chinese.THIS}(?:的?内容)?:"
)

# In the middle of a clause, and at its end.
_USING: Final = re.compile(
    r"(?<![a-z])(?:(?<!about )(?<!of )(?<!on )(?<!for )(?<!from )(?<!without )(?<!not )(?<!by )(?<!start )(?<!stop )"
    r"(?<!before )(?<!after )(?<!to )using|via)\s{1,2}|(?<![如何么样学会没能不使])(?:使用|用)\s?"
)
_LAST: Final = re.compile(
    rf"(?:[,;(]\s?|\s(?:and|but)\s)(?:(?:please|just)\s)?(?P<send_to>{_SEND}\s(?:{_THIS}\s)?(?:over\s)?to)\s{{1,2}}"
    rf"|[,;(\s-]\s?(?:(?:and|but|please|just)\s)*(?:(?P<use>use|through)|(?P<with>with)|(?P<on>on|in)"
    rf"|(?P<send>{_SEND}\s{_THIS}\s(?:over\s)?(?:to|in|into|on)|(?:run|do|execute|process)\s{_THIS}\s(?:on|with|in))|(?P<to>to))"
    rf"\s{{1,2}}|(?P<zh>[,;.。(\s]?(?:请|都|全部)?(?:{chinese.SEND}|在))\s?"
    r"|[,;(\s]\s?(?P<named>(?=(?:model|queue|模型|队列)\s?[:=]))"
)
_SENDS: Final = re.compile(rf"{_SEND}\s")
_RUNS: Final = re.compile(r"(?:run|execute|process|start|launch|do)\s")
_COMPARES: Final = re.compile(r"(?:compare|benchmark|test|evaluate|integrate|replace|contrast|merge|combine)\s")
_END: Final = re.compile(
    r"\s?(?:上面|上|里面?|中)?(?:来?(?:处理|做|跑|运行|完成|执行))?(?:一下)?(?:吧|就行|就好|即可)?\s?[)\].!。;,]{0,3}\s{0,3}$"
)
_HOLDS: Final = re.compile(r"(?:把|将)(?P<what>.{1,300}?)" + chinese.SEND + r"\s?")
_RULED_OUT: Final = re.compile(
    r"(?:(?<![a-z])(?:not|never|cannot|avoid|without|instead\sof|rather\sthan)|(?<![a-z])(?:do|does|did|is|are|was|wo|ca|should|would|could|must|need)n'?t|不要|不能|不可|不准|别|勿)\s{0,2}$"
)
_RULED_OUT_CHARS: Final = 16
_CLOSED: Final = re.compile(r"\s?[)\]]\s?[.!]?$")


class Routed(Struct, frozen=True):
    """A clause without what it says about routing."""

    passage: Passage
    said: Said = NOTHING_SAID
    question: Question | None = None
    is_lead: bool = False
    """It began with it: such a clause is about a task, whatever follows."""


def routed(names: Names, passage: Passage) -> Routed:
    """All that a clause says of it, taken out; a second phrase adds what the first left open."""
    found = Routed(passage)
    for look in (_at_start, _held, _inside, _at_end, _at_end):
        more = look(names, found.passage) if found.passage and found.question is None else None
        if more is not None:
            question = more.question or found.said.clash(more.said)
            found = Routed(more.passage, found.said.and_also(more.said), question, found.is_lead or more.is_lead)
    return found


# At the start.


def _any(_passage: Passage, _target: Target) -> bool:
    return True


def _a_model(_passage: Passage, target: Target) -> bool:
    return target.is_model or target.is_called


def _a_place(passage: Passage, target: Target) -> bool:
    """ "On remote, …", 在本地跑 …: a queue, and the work begins right after it."""
    is_work = intent_of(bared(passage.part(target.end)), was_asked=False) is not Intent.TALK
    return not target.is_model and (is_work or passage.view[target.end : target.end + 1] in tuple(",:上里跑运执处做"))


def _a_tag(passage: Passage, target: Target) -> bool:
    """ "[remote] …", "@qwen …"."""
    return passage.view[0] == "@" or passage.view[target.end : target.end + 1] in ("]", ")")


_LEADS: Final[tuple[tuple[re.Pattern[str], Callable[[Passage, Target], bool]], ...]] = (
    (_USE, _any),
    (_NAMED, _any),
    (_ASK, _a_model),
    (_SEND_TO, _any),
    (_RUN_ON, _any),
    (_AT, _a_place),
    (_TAG, _a_tag),
)


def _at_start(names: Names, passage: Passage) -> Routed | None:
    for lead, is_fit in _LEADS:
        found = lead.match(passage.view)
        target = target_at(names, passage, found.end()) if found else None
        if target is not None and is_fit(passage, target):
            return _led(passage, target)
    target = target_at(names, passage, 0)
    if target is not None and _ADDRESSED.match(passage.view, target.end):
        return _led(passage, target)
    return None


def _led(passage: Passage, target: Target) -> Routed:
    joint = _JOINT.match(passage.view, target.end)
    rest = passage.part(joint.end() if joint else target.end)
    this = _FOR_THIS.match(rest.view)
    return Routed(rest.part(this.end() if this else 0).trimmed(), target.said, target.question, is_lead=True)


# Further on.


def _held(names: Names, passage: Passage) -> Routed | None:
    """把 … 发到远程: what is sent stands in the middle."""
    found = _HOLDS.match(passage.view)
    target = target_at(names, passage, found.end()) if found else None
    if found is None or target is None or not _END.match(passage.view, target.end):
        return None
    what = passage.part(found.start("what"), found.end("what")).trimmed()
    return Routed(what, target.said, target.question, is_lead=True)


def _inside(names: Names, passage: Passage) -> Routed | None:
    edges = (0, EDGE_CHARS), (max(EDGE_CHARS, len(passage.raw) - EDGE_CHARS), len(passage.raw))
    for found in (one for start, end in edges for one in _USING.finditer(passage.masked, start, end)):
        target = target_at(names, passage, found.end())
        if _is_ruled_out(passage, found.start()):
            continue
        if target is not None and passage.view[target.end : target.end + 1] not in ("的", "'"):
            joint = chinese.TO.match(passage.view, target.end)
            start, end = _with_bracket(passage, found.start()), joint.end() if joint else target.end
            closes = 1 if passage.view[start] == "(" and passage.view[end : end + 1] == ")" else 0
            return Routed(passage.without(start, end + closes), target.said, target.question)
    return None


def _with_bracket(passage: Passage, at: int) -> int:
    """Where a phrase begins, with the bracket or the comma before it."""
    before = len(passage.view[max(0, at - 3) : at].rstrip(" ")) + max(0, at - 3)
    return before - 1 if passage.view[before - 1 : before] in ("(", ",") else at


def _at_end(names: Names, passage: Passage) -> Routed | None:
    for found in _LAST.finditer(passage.view, max(0, len(passage.view) - TAIL_CHARS)):
        target = target_at(names, passage, found.end())
        if target is None or not _END.match(passage.view, target.end) or _is_ruled_out(passage, found.start()):
            continue
        if _is_about_routing(passage, found.lastgroup or "", target):
            left = passage.part(0, found.start()).trimmed()
            verb = _SENDS.match(left.view) if found.lastgroup == "to" else None
            left = left.part(verb.end()).trimmed() if verb else left
            return Routed(left, target.said, target.question, is_lead=verb is not None)
    return _tagged(names, passage)


def _is_ruled_out(passage: Passage, at: int) -> bool:
    """ "… but not with llama3", 不要用 …: it stays in the text, for whoever does the task."""
    return _RULED_OUT.search(passage.view[max(0, at - _RULED_OUT_CHARS) : at]) is not None


def _is_about_routing(passage: Passage, lead: str, target: Target) -> bool:
    match lead:
        case "with":
            return (target.is_model or target.is_called) and not _COMPARES.match(passage.view)
        case "on":
            return not target.is_model or _RUNS.match(passage.view) is not None
        case "to":
            return _SENDS.match(passage.view) is not None
        case _:
            return True


def _tagged(names: Names, passage: Passage) -> Routed | None:
    """ "… (qwen2.5)", "… [remote]"."""
    at = max(passage.view.rfind("("), passage.view.rfind("["))
    target = target_at(names, passage, at + 1) if at > 0 else None
    if target is None or not _CLOSED.match(passage.view, target.end):
        return None
    return Routed(passage.part(0, at).trimmed(), target.said, target.question)
