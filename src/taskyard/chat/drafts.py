"""The tasks of a message while it is read: what begins a new one, and what only says more about the last."""

import re
from typing import Final

from msgspec import Struct, field, structs

from taskyard.chat.clause import Read, read
from taskyard.chat.dependencies import Wait, resolved
from taskyard.chat.intent import Intent, is_courtesy, is_told
from taskyard.chat.parsed import Language, Missing, Parsed, ParsedCommand, ParsedTask, Question
from taskyard.chat.passage import CJK, Passage
from taskyard.chat.sequence import Clause
from taskyard.chat.sources import NOTHING_SAID, Names, Said
from taskyard.vocabulary import ChatCommand

TASKS_MAX: Final = 200
# Of one message, and of commands as many. More of them are not typed but generated, and have a batch for themselves.
SPREAD_CHARS_MAX: Final = 1_000_000
# Of what is told before a list, in all its tasks together: each of them has it.

_VERB_ALONE: Final = re.compile(rf"[a-z]+\W?|[{CJK}]{{2}}\W?")
_SIGN: Final = re.compile(r"[:;.!\uff1a\uff1b\u3002\uff01]$")


class Terms(Struct, frozen=True):
    """What holds for each task of a list."""

    said: Said = NOTHING_SAID
    waits: tuple[Wait, ...] = ()
    is_listed: bool = False
    is_next: bool = False
    """Its first task comes after the item before it."""


class Draft(Struct):
    pieces: list[str]
    """Its text, with what stands between its sentences."""
    said: Said = NOTHING_SAID
    waits: list[Wait] = field(default_factory=list)
    follows: tuple[int, ...] = ()
    sign: str = ""
    """That its text ended with, should there be more of it."""


class Drafts:
    def __init__(self) -> None:
        self.tasks: list[Draft] = []
        self.question: Question | None = None
        self._commands: list[ParsedCommand] = []
        self._ends: dict[int, int] = {}
        """Of each item of the list, by its number: the last task's place."""
        self._recent: list[int] = []
        """The tasks of the list, or of all texts: what "use remote for all of them" is about."""
        self._here: list[int] = []
        """Those of the text or item that is read."""
        self._waits: list[Wait] = []
        """Said before there was a task that could wait."""
        self._said = NOTHING_SAID
        """Said before there was a task: it holds for all that follow."""
        self._retried: list[Wait] = []
        """What is told to come after a retry waits for the task that is retried."""
        self._remark = ""
        """Told before a request, or before a list for all its items."""
        self._is_talk = False

    @property
    def is_over(self) -> bool:
        """Whether nothing that follows could change the answer."""
        return self.question is not None or self._is_too_much

    @property
    def _is_too_much(self) -> bool:
        spread = len(self._remark) * len(self.tasks)
        return max(len(self.tasks), len(self._commands)) > TASKS_MAX or spread > SPREAD_CHARS_MAX

    # The layout.

    def begin_text(self) -> None:
        self._here, self._retried = [], []

    def begin_list(self) -> None:
        self._recent, self._ends = [], {}

    def remark(self, passage: Passage) -> None:
        """What is told. A request after it may be about this."""
        self._remark += passage.raw if passage.raw.endswith("\n") else f"{passage.raw} "

    def end_item(self, number: int) -> None:
        if self._here:
            self._ends[number] = self._here[-1]

    # Clauses.

    def take(self, names: Names, clause: Clause, terms: Terms) -> None:
        """A clause, and whatever follows the commands that it begins with."""
        if clause.is_inner and self._is_talk:
            return
        is_step = bool(self.tasks) and (clause.is_next or terms.is_listed)
        found = read(names, clause.passage, is_listed=terms.is_listed and not self._here, is_step=is_step)
        while found.commands and found.rest is not None and not self.is_over:
            self._command(found)
            clause = Clause(found.rest, is_next=clause.is_next)
            found = read(names, found.rest)
        if found.is_next:
            clause = structs.replace(clause, is_next=True)
        self.question = self.question or found.question
        if found.commands:
            self._command(found)
        elif self.question is None:
            self._consider(clause, found, terms)

    def _command(self, found: Read) -> None:
        self._commands += found.commands
        self._retried = [Wait(one.ref) for one in found.commands if one.command is ChatCommand.RETRY]
        self._is_talk = False

    def _consider(self, clause: Clause, found: Read, terms: Terms) -> None:
        is_task = found.intent is not Intent.TALK
        self._is_talk = False
        if is_courtesy(clause.passage):
            self._remark = ""
        elif found.is_about_others:
            self._say_of_others(found)
        elif self._lacks_object(clause, found):
            self.question = Question(Missing.WHAT)
        elif not is_task and not self._here:
            self._is_talk = True
            if is_told(clause.passage):
                self.remark(clause.passage)
        elif clause.is_next and (is_task or clause.is_inner):
            self._follow(clause, found, terms)
        elif is_task and (not self._here or found.is_explicit):
            self._add(clause, found, terms)
        else:
            self._say_more(clause)

    def _lacks_object(self, clause: Clause, found: Read) -> bool:
        """ "Add task", or a verb alone, which is no whole sentence but for what comes after another."""
        if found.is_explicit and not found.content:
            return True
        is_alone = clause.sentence is not None and not clause.is_next and not self._here
        return is_alone and found.intent is Intent.PLAIN and _VERB_ALONE.fullmatch(found.content.view) is not None

    def _say_of_others(self, found: Read) -> None:
        """ "Send it to remote", "they depend on T-003": about the last task, or all of them."""
        if not self.tasks:
            self._waits += found.waits
            self.question = self._said.clash(found.said)
            self._said = self._said.and_also(found.said)
            return
        is_about_one = found.content and not found.is_about_many
        places = self._here if self._here and not found.is_about_many else self._recent
        for place in places[-1:] if is_about_one else places:
            task = self.tasks[place]
            self.question = self.question or task.said.clash(found.said)
            task.said = task.said.and_also(found.said)
            task.waits += found.waits

    def _say_more(self, clause: Clause) -> None:
        task, said = self.tasks[self._here[-1]], clause.sentence or clause.passage
        text = said.raw.rstrip()
        task.pieces += [task.sign, f"\n{text}" if clause.breaks else f" {text.lstrip()}"]
        task.sign = ""

    def _follow(self, clause: Clause, found: Read, terms: Terms) -> None:
        if not self.tasks and not self._commands and not found.waits and not self._waits:
            self.question = Question(Missing.AFTER_WHAT)
        else:
            self._add(clause, found, terms)

    def _add(self, clause: Clause, found: Read, terms: Terms) -> None:
        place = len(self.tasks)
        text = self._remark + found.content.raw.strip()
        waits = [*self._waits, *found.waits, *(self._retried if clause.is_next else ())]
        is_next = clause.is_next
        if not self._here:
            waits += terms.waits
            is_next |= terms.is_next
        follows = range(0 if clause.is_last else max(0, place - 1), place) if is_next else ()
        # What was taken out of it may have stood before its sign.
        sign = None if _SIGN.search(text) else _SIGN.search((clause.sentence or clause.passage).raw.rstrip())
        draft = Draft(
            [text], found.said.and_also(terms.said).and_also(self._said), waits, tuple(follows), sign[0] if sign else ""
        )
        self.tasks.append(draft)
        self._here.append(place)
        self._recent.append(place)
        self._waits, self._retried, self._remark = [], [], self._remark if terms.is_listed else ""

    # The end.

    def parsed(self, names: Names, language: Language) -> Parsed:
        """All of it, or the one question that is open."""
        if not self.tasks and (self._said != NOTHING_SAID or (self._waits and not self._commands)):
            self.question = self.question or Question(Missing.WHAT)
        if self._is_too_much:
            self.question = Question(Missing.FEWER)
        tasks: list[ParsedTask] = []
        for place, draft in enumerate(self.tasks if self.question is None else ()):
            task = self._finished(names, place, draft)
            if isinstance(task, Question):
                self.question = task
                break
            tasks.append(task)
        if self.question is not None:
            return Parsed(language, question=self.question)
        return Parsed(language, tuple(tasks), tuple(dict.fromkeys(self._commands)))

    def _finished(self, names: Names, place: int, draft: Draft) -> ParsedTask | Question:
        route = names.route_of(draft.said)
        if isinstance(route, Question):
            return route
        depends: list[int | str] = list(draft.follows)
        for wait in draft.waits:
            found = resolved(wait, place=place, ends=self._ends)
            if isinstance(found, Question):
                return found
            depends += found
        after, said = tuple(dict.fromkeys(depends)), draft.said
        return ParsedTask("".join(draft.pieces), route.model, route.queue, after, said.priority, said.goal)
