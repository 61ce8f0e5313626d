"""One clause, taken apart: what it commands, what it waits for, where it goes, and what is left to do."""

import re
from typing import Final

from msgspec import Struct

from taskyard.chat import chinese
from taskyard.chat.attributes import stated
from taskyard.chat.control import controlled
from taskyard.chat.dependencies import Wait, awaited
from taskyard.chat.intent import Bared, Intent, bared, has_speaker, intent_of, is_negated, is_question
from taskyard.chat.parsed import ParsedCommand, Question
from taskyard.chat.passage import Passage
from taskyard.chat.routing import routed
from taskyard.chat.sequence import Clause, opened
from taskyard.chat.sources import NOTHING_SAID, Names, Said
from taskyard.chat.status import status_asked

_THIS: Final = re.compile(
    r"(?:(?:do|run|handle|process)\s)?(?:this|it|that|the (?:task|last one)"
    r"|(?P<many>(?:all of )?(?:these|those|them)|all|everything|both|(?:all (?:of )?)?the above|the (?:rest|tasks)))"
    rf"(?: (?:one|tasks?|ones))?|{chinese.THESE}"
)


class Read(Struct, frozen=True):
    content: Passage
    """What is left when everything else is taken out."""
    intent: Intent = Intent.TALK
    said: Said = NOTHING_SAID
    waits: tuple[Wait, ...] = ()
    commands: tuple[ParsedCommand, ...] = ()
    rest: Passage | None = None
    """What follows the commands."""
    question: Question | None = None
    is_explicit: bool = False
    """It says that it is a task, or begins with where it should go."""
    is_next: bool = False
    """It says so and then comes after what was said before it: "add task: after that, …"."""

    @property
    def is_about_others(self) -> bool:
        """It only says something about tasks that were named before: "send it to remote"."""
        return self.has_terms and (not self.content or _THIS.fullmatch(self.content.view.rstrip(" .!?。")) is not None)

    @property
    def has_terms(self) -> bool:
        return self.said != NOTHING_SAID or bool(self.waits)

    @property
    def is_about_many(self) -> bool:
        found = _THIS.fullmatch(self.content.view.rstrip(" .!?。"))
        return found is not None and bool(found["many"] or found["many_zh"])


def read(names: Names, passage: Passage, *, is_listed: bool = False, is_step: bool = False) -> Read:
    """`is_listed`: it stands in a list of tasks, so that it need not ask for anything. `is_step`: it follows a task."""
    was_asked = passage.view.rstrip().endswith("?")
    bare = bared(passage)
    first = stated(bare.passage)
    bare = _again(bare, first.passage)
    status = status_asked(names, bare.passage)
    if isinstance(status, Question):
        return Read(bare.passage, question=status)
    if status:
        return Read(bare.passage, commands=status)
    is_request = bare.is_polite or not was_asked
    control = controlled(bare.passage, is_step=is_step) if is_request and not is_negated(bare.passage) else None
    if control is not None:
        return Read(bare.passage, commands=control.commands, rest=control.rest, question=control.question)
    waiting = awaited(bare.passage)
    bare = _again(bare, waiting.passage)
    route = routed(names, bare.passage)
    bare = _again(bare, route.passage)
    last = stated(bare.passage)
    bare = _again(bare, last.passage)
    is_explicit = bare.is_marked or route.is_lead
    is_talk = (was_asked and not bare.is_polite) or is_negated(bare.passage)
    intent = intent_of(bare, was_asked=was_asked, is_ranked=first.said.priority is not None)
    if is_explicit or is_listed or waiting.waits:
        is_asking = is_question(bare.passage) and not bare.is_polite
        has_other = has_speaker(bare.passage) and not bare.is_marked and not is_listed
        intent = Intent.TALK if is_talk or is_asking or has_other else Intent.EXPLICIT
    if is_talk:
        return Read(passage)
    said = first.said.and_also(route.said)
    later = opened(bare.passage) if bare.is_marked else Clause(bare.passage)
    return Read(
        later.passage,
        intent,
        said.and_also(last.said),
        waiting.waits,
        question=first.question or route.question or last.question or said.clash(last.said),
        is_explicit=is_explicit,
        is_next=later.is_next,
    )


def _again(before: Bared, passage: Passage) -> Bared:
    """Courtesies may also stand behind what was taken out: 用 qwen2.5 帮我 …"""
    if passage is before.passage:
        return before
    more = bared(passage)
    return Bared(
        more.passage,
        before.is_polite or more.is_polite,
        before.is_marked or more.is_marked,
    )
