"""Reading the name of a model or a queue where a phrase leads to one: "the remote model", "qwen 2.5 on nvidia"."""

import re
from typing import Final

from msgspec import Struct

from taskyard.chat import chinese, english
from taskyard.chat.parsed import Missing, Question
from taskyard.chat.passage import Passage
from taskyard.chat.sources import NOTHING_SAID, Names, Said

WORDS_MAX: Final = 3
# "ollama remote 2" is about the longest name that somebody would type with spaces.

_BEFORE: Final = re.compile(
    r"(?:(?:the|my|our|your|a|an)\s{1,3})?(?P<kind>(?:model|queue|source)(?:\s?[:=]\s?|\s{1,3})|(?:模型|队列)\s?(?:[:=]|用|是|为)?\s?)?"
)
_WORD: Final = re.compile(r"[a-z0-9][a-z0-9._:/+-]{0,99}")
_AFTER: Final = re.compile(r"(?:'s)?\s{0,2}的?(?P<kind>(?:models?|queue|source|llm)(?![a-z0-9])|模型|队列)")
_OF_QUEUE: Final = re.compile(r"(?:'s\s{0,2}|\s{0,2}的\s{0,2}|\s{1,2})(?:models?\s|模型\s?)?")
_ON_QUEUE: Final = re.compile(r"\s{1,2}(?:on|at|from|in|of)\s{1,2}(?:the\s{1,2})?|\s?@\s?")
_QUEUE: Final = ("queue", "队列")


class Target(Struct, frozen=True):
    """What a phrase leads to, or what has to be asked about it."""

    end: int
    said: Said = NOTHING_SAID
    question: Question | None = None
    is_called: bool = False
    """It was said what it is: "the remote queue", "the remote ollama"."""

    @property
    def is_model(self) -> bool:
        return self.said.model is not None


class _Name(Struct, frozen=True):
    """One name, and where it ends."""

    said: Said
    end: int


def target_at(names: Names, passage: Passage, at: int) -> Target | None:
    """What is named here; None if it is nothing that could be a model or a queue."""
    before = _BEFORE.match(passage.view, at)
    assert before is not None, "every part of it may be missing"
    first = _name_at(names, passage, before.end()) or _model_like(names, passage, before.end())
    if first is None:
        return _unknown_queue(names, passage, before.end(), (before["kind"] or "").rstrip(" :=用是为"))
    second = _second(names, passage, first)
    end = first.end if second is None else second.end
    if first.said.model is None and any(table.NOT_A_QUEUE.match(passage.view, end) for table in (english, chinese)):
        return None
    either = english.EITHER.match(passage.view, end) or chinese.EITHER.match(passage.view, end)
    other = _name_at(names, passage, either.end()) if either else None
    if other is not None and (clash := first.said.clash(other.said)):
        return Target(other.end, first.said, clash)
    after = _AFTER.match(passage.view, end)
    return Target(
        after.end() if after else end,
        first.said if second is None else first.said.and_also(second.said),
        is_called=bool(after or before["kind"] or re.search("[ -]", passage.view[before.end() : end])),
    )


def _name_at(names: Names, passage: Passage, at: int) -> _Name | None:
    """The longest run of words that is a name."""
    found = chinese.NAME.match(passage.view, at)
    if found:
        word = chinese.NAMES[found[0]]
        said = names.said(word)
        return None if said is None else _Name(said, found.end())
    for end in reversed(_ends_of_words(passage.view, at)):
        said = names.said(passage.view[at:end])
        if said is not None:
            return _Name(said, end)
    return None


def _ends_of_words(view: str, at: int) -> list[int]:
    ends: list[int] = []
    while len(ends) < WORDS_MAX and (word := _WORD.match(view, at)):
        ends.append(at + len(word[0].rstrip(".:/+-")))
        at = word.end() + 1
        if ends[-1] != word.end() or view[word.end() : at] != " ":
            break
    return ends


def _model_like(names: Names, passage: Passage, at: int) -> _Name | None:
    """A word that nothing configured is called by, and that is a model's name all the same."""
    word = _WORD.match(passage.view, at)
    end = 0 if word is None else at + len(word[0].rstrip(".:/+-"))
    if not end or not names.looks_like_model(passage.view[at:end]):
        return None
    return _Name(Said(model=passage.raw[at:end]), end)


def _second(names: Names, passage: Passage, first: _Name) -> _Name | None:
    """A queue after a model ("llama3 on nvidia"), a model after a queue ("the remote llama3")."""
    link = (_OF_QUEUE if first.said.model is None else _ON_QUEUE).match(passage.view, first.end)
    found = _name_at(names, passage, link.end()) if link else None
    if found is None or (found.said.model is None) is (first.said.model is None):
        return None
    return found


def _unknown_queue(names: Names, passage: Passage, at: int, called: str) -> Target | None:
    """Another word, if it was said to be a queue."""
    word = _WORD.match(passage.view, at)
    if word is None:
        return None
    end = at + len(word[0].rstrip(".:/+-"))
    after = _AFTER.match(passage.view, end)
    if called not in _QUEUE and (after is None or after["kind"] not in _QUEUE):
        return None
    return Target(end, question=Question(Missing.WHICH_QUEUE, passage.raw[at:end], names.queue_names), is_called=True)
