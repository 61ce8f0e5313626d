"""What stands before a list: whether its items are tasks, and what holds for all of them."""

from msgspec import Struct

from taskyard.chat import chinese, english
from taskyard.chat.clause import Read, read
from taskyard.chat.dependencies import Wait
from taskyard.chat.intent import Intent, is_question, unasked
from taskyard.chat.parsed import Question
from taskyard.chat.passage import Passage
from taskyard.chat.sequence import sentences
from taskyard.chat.sources import NOTHING_SAID, Names, Said


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
    """It is something to do in itself: "prepare the release:" …"""
    is_about_items: bool = False
    """… with what is listed: "translate these files:"."""


def heading_of(names: Names, prose: Passage) -> Heading:
    """The last sentence before a list, if it leads to it: it ends in a colon, or is about what follows."""
    nothing = prose.part(0, 0)
    last = next((one.passage for one in reversed(list(sentences(prose)))), nothing)
    clause, view = read(names, unasked(last)), last.view.strip()
    content = clause.content.view
    asks = bool(english.LEADS.search(view) or chinese.LEADS.search(view))
    is_about_items = clause.intent is not Intent.TALK and _names_items(content)
    is_lead = is_about_items or (asks and (clause.intent is Intent.TALK or not content))
    if not (view.endswith(":") or clause.is_about_others or is_lead):
        return Heading(prose, nothing)
    is_generic = english.GENERIC.match(content) or chinese.GENERIC.match(content)
    is_work = is_about_items or (clause.intent in (Intent.PLAIN, Intent.POLITE) and not is_generic)
    is_telling = _is_telling(clause, last)
    return Heading(
        prose.part(0, len(prose.raw.rstrip()) - len(last.raw.rstrip())),
        last,
        clause.said,
        clause.waits,
        clause.question,
        is_asking=not is_telling and (clause.has_terms or clause.is_explicit or asks or is_work),
        is_telling=is_telling,
        is_ordered=bool(english.ORDERED.search(view) or chinese.ORDERED.search(view)),
        is_work=is_work,
        is_about_items=is_about_items,
    )


def _names_items(view: str) -> bool:
    """ "Translate these files": what is listed is what the work is done with, and no work in itself."""
    found = [(table.VAGUE, what) for table in (english, chinese) for what in table.ITEMS.findall(view)]
    return any(not vague.match("".join(what)) for vague, what in found)


def _is_telling(clause: Read, passage: Passage) -> bool:
    if clause.has_terms or clause.intent > Intent.PLAIN:
        return False
    return is_question(passage) or bool(english.TELLS.search(passage.view) or chinese.TELLS.search(passage.view))
