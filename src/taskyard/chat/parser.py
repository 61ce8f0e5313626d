"""From a message to tasks and commands: the one door of this package.

The layout is read first (`lists.py`), then each text sentence by sentence (`sequence.py`), then each clause
(`clause.py`): what it commands, what it waits for, where it goes, and whether it asks for work at all. `drafts.py` puts
the tasks together. The same text under the same configuration always means the same.
"""

from collections.abc import Iterator
from typing import Final

from taskyard.chat.clause import read
from taskyard.chat.drafts import TASKS_MAX, Drafts, Terms
from taskyard.chat.heading import Heading, heading_of
from taskyard.chat.intent import Intent, is_continued, unasked
from taskyard.chat.lists import Block, blocks
from taskyard.chat.parsed import Missing, Parsed, Question, Sources
from taskyard.chat.passage import Passage, language_of
from taskyard.chat.sequence import Clause, Cut, cuts, opened, sentences
from taskyard.chat.sources import Names, names_of

MESSAGE_CHARS_MAX: Final = 65_536
# As much as any field that is not a task's input.
LOOK_CHARS: Final = 200
# What shows whether a clause is something to do.
QUOTES: Final = ('""', "“”", "「」", "『』")


def parse(text: str, sources: Sources) -> Parsed:
    """What a message means. Never raises, whatever it holds."""
    if len(text) > MESSAGE_CHARS_MAX:
        return Parsed(question=Question(Missing.SHORTER))
    passage = Passage.of(_unquoted(text.strip()))
    names, drafts = names_of(sources), Drafts()
    for block in blocks(passage):
        if not drafts.is_over:
            _take(names, drafts, block)
    return drafts.parsed(names, language_of(passage))


def _unquoted(text: str) -> str:
    """Without quotes around all of it."""
    is_quoted = len(text) > 2 and text[0] + text[-1] in QUOTES and text[0] not in text[1:-1]
    return text[1:-1] if is_quoted else text


def _take(names: Names, drafts: Drafts, block: Block) -> None:
    if not block.items:
        _read_text(names, drafts, block.prose, Terms())
        return
    heading = heading_of(names, block.prose)
    _read_text(names, drafts, heading.before, Terms())
    if heading.question is not None:
        drafts.question = drafts.question or heading.question
    elif _is_one_task(names, heading, block):
        _read_text(names, drafts, _whole(heading, block), Terms())
    elif _are_tasks(names, heading, block):
        drafts.begin_list()
        for number, item in enumerate(block.items, 1):
            is_next = number > 1 and (heading.is_ordered or item.is_step)
            terms = Terms(heading.said, heading.waits, is_listed=True, is_next=is_next)
            _read_text(names, drafts, item.passage, terms)
            drafts.end_item(number)
    else:
        drafts.remark(_whole(heading, block))


def _are_tasks(names: Names, heading: Heading, block: Block) -> bool:
    """Whether the items of a list are something to do: it was said, or half of them say it themselves."""
    if heading.is_asking or heading.is_telling:
        return heading.is_asking
    return sum(_asks(names, item.passage) for item in block.items[:TASKS_MAX]) * 2 >= len(block.items)


def _is_one_task(names: Names, heading: Heading, block: Block) -> bool:
    """ "Translate these files:" and their names: the list is what the one task is about."""
    asks = any(_asks(names, item.passage) for item in block.items[:TASKS_MAX])
    return heading.is_about_items or (heading.is_work and not asks)


def _asks(names: Names, passage: Passage) -> bool:
    clause = read(names, opened(passage).passage)
    return clause.intent > Intent.TALK or bool(clause.commands)


def _whole(heading: Heading, block: Block) -> Passage:
    whole = heading.passage
    for item in block.items:
        whole = whole.joined(Passage.of("- ")).joined(item.passage)
    return whole


def _read_text(names: Names, drafts: Drafts, passage: Passage, terms: Terms) -> None:
    drafts.begin_text()
    for clause in _clauses(passage):
        if drafts.is_over:
            return
        drafts.take(names, clause, terms)


def _clauses(passage: Passage) -> Iterator[Clause]:
    """Sentence by sentence, each cut where another task begins in it."""
    for sentence in sentences(passage):
        first = opened(unasked(sentence.passage))
        whole = first.passage
        found = [] if sentence.is_rest else [cut for cut in cuts(whole) if _begins_another(whole, cut)]
        ends = [*(cut.start for cut in found), len(whole.raw)]
        yield Clause(
            whole.part(0, ends[0]).trimmed(),
            first.is_next,
            first.is_last,
            breaks=sentence.breaks,
            sentence=None if found else sentence.passage,
        )
        for cut, end in zip(found, ends[1:], strict=True):
            yield Clause(whole.part(cut.end, end).trimmed(), is_next=True, is_last=cut.is_last, is_inner=True)


def _begins_another(sentence: Passage, cut: Cut) -> bool:
    return is_continued(sentence.part(cut.end, cut.end + LOOK_CHARS), surely=cut.is_doubtful)
