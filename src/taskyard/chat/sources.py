"""Which model or queue a word means.

A model is meant by its whole name, by what follows a slash in it, by that without its tag, or by the letters before
its number: `nvidia/z-ai/glm5` is also `z-ai/glm5`, `glm5` and `glm`. The most exact of these decides; of several models
that are named alike, the first in the configuration's order. A queue is meant by its name, by that backwards or by a
part of it: `ollama-remote` is also `remote ollama` and `remote`. Spaces, hyphens and colons inside a name are not
looked at: `Qwen 2.5` is `qwen2.5`.
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, structs

from taskyard.chat.lexicon import words_of
from taskyard.chat.parsed import ANYWHERE, Missing, Question, Route, Sources
from taskyard.vocabulary import Level

FAMILIES: Final = words_of(
    """baichuan chatglm chatgpt claude codellama codestral deepseek doubao ernie falcon gemini gemma glm gpt grok haiku
    hunyuan kimi llama minimax mistral mixtral nemotron opus phi qwen qwq sonnet starcoder vicuna wizardlm"""
)
"""First letters of names that are models' wherever they come from: what looks like one and is served by no queue is
asked about, where any other word is taken for a tool ("use Python to …")."""

PART_CHARS_MIN: Final = 2
NO_NAMES: Final = words_of("queue model models source the my and to for")
"""Parts of a queue's name by which nobody would mean it."""

_GLUE: Final = re.compile(r"[\s_:-]")
_PARTS: Final = re.compile(r"[-_./\s]")
_STEM: Final = re.compile(r"([a-z]{2,})-?(?=[\d.]|$)")
_SIZE: Final = re.compile(r":\d+b$")


_ASKED: Final = {"model": Missing.WHICH_MODEL, "queue": Missing.WHICH_QUEUE, "priority": Missing.WHICH_PRIORITY}


class Said(Struct, frozen=True):
    """What a clause says about its task: a queue by its name, a model in the words that were used, priority, goal."""

    queue: str | None = None
    model: str | None = None
    priority: Level | int | None = None
    goal: str | None = None

    def and_also(self, other: "Said") -> "Said":
        """What was said first holds; what it left open may be said later."""
        return Said(*(mine or its for mine, its in zip(structs.astuple(self), structs.astuple(other), strict=True)))

    def clash(self, other: "Said") -> Question | None:
        """What both say, and not the same: only a person can choose."""
        for name, missing in _ASKED.items():
            one, two = getattr(self, name), getattr(other, name)
            if one and two and _key(str(one).lower()) != _key(str(two).lower()):
                return Question(missing, choices=(str(one), str(two)))
        return None


NOTHING_SAID: Final = Said()


class Names(Struct, frozen=True):
    """The configuration, by every word that means a part of it."""

    sources: Sources
    models: tuple[dict[str, list[Route]], ...]
    """By name, the most exact kind of name first."""
    queues: dict[str, str]

    def said(self, word: str) -> Said | None:
        """What a word of a message means, if anything."""
        key = _key(word)
        if any(key in kind for kind in self.models):
            return Said(model=word)
        queue = self.queues.get(key)
        return None if queue is None else Said(queue=queue)

    @property
    def queue_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*(source.name for source in self.sources.queues), self.sources.default)))

    def looks_like_model(self, word: str) -> bool:
        stem = _STEM.match(word.rpartition("/")[2])
        return (stem is not None and (stem[1] in FAMILIES or stem[1] in self.models[-1])) or bool(_SIZE.search(word))

    def route_of(self, said: Said) -> Route | Question:
        """Where that is. A queue alone means its first model, and so does the default queue where nothing is said.

        Where no model is listed, any will do.
        """
        if said.model is None:
            queue = said.queue or self.sources.default
            model = next(iter(self._served_by(queue)), None)
            return ANYWHERE if said.queue is None and model is None else Route(queue, model)
        found = self._model(_key(said.model.lower()), said.queue)
        if found is not None:
            return found
        if not self._served_by(said.queue):
            return Route(said.queue, said.model)
        if said.queue is None:
            return Question(Missing.WHICH_MODEL, said.model, self._served_by(None))
        return Question(Missing.MODEL_OF_QUEUE, f"{said.model} ({said.queue})", self._served_by(said.queue))

    def _model(self, key: str, queue: str | None) -> Route | None:
        for kind in self.models:
            found = [route for route in kind.get(key, ()) if queue in (None, route.queue)]
            if found:
                return found[0]
        return None

    def _served_by(self, queue: str | None) -> tuple[str, ...]:
        """The models of a queue; None: of all of them."""
        return tuple(model for source in self.sources.queues if queue in (None, source.name) for model in source.models)


def names_of(sources: Sources) -> Names:
    kinds: tuple[dict[str, list[Route]], ...] = ({}, {}, {}, {})
    queues: dict[str, str] = {}
    for source in sources.queues:
        for model in source.models:
            for kind, name in _names_of_model(model.lower()):
                kinds[kind].setdefault(_key(name), []).append(Route(source.name, model))
    known = [*(source.name for source in sources.queues), sources.default]
    for name in known:
        queues.setdefault(_key(name.lower()), name)
    for name in known:
        parts = _PARTS.split(name.lower())
        queues.setdefault("".join(reversed(parts)), name)
        for part in parts:
            if len(part) >= PART_CHARS_MIN and part not in NO_NAMES:
                queues.setdefault(part, name)
    return Names(sources, kinds, queues)


def _names_of_model(model: str) -> Iterator[tuple[int, str]]:
    """Each with its kind: 0 is the whole name."""
    yield 0, model
    parts = model.split("/")
    for first in range(1, len(parts)):
        yield 1, "/".join(parts[first:])
    yield 2, parts[-1].partition(":")[0]
    stem = _STEM.match(parts[-1])
    if stem:
        yield 3, stem[1]


def _key(word: str) -> str:
    return _GLUE.sub("", word)
