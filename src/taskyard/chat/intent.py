"""Whether a clause asks for work, and how surely.

Nobody is asked to use special words, and nobody wants a task made of small talk; so what makes a task is written down:

* **Explicit**: it says so ("add task: …", 新任务 …), names a model or a queue for it, or stands in a list of tasks.
  Then anything that is left is its input.
* **Polite**: it asks somebody to do something ("please …", "could you …?", 帮我 …), and that is not one of the things
  one asks of a person (wait, tell me, come).
* **Plain**: it begins with a verb of work ("analyse the logs", 总结日志), and is no question and no remark about it
  ("test results look good", 测试通过了).

Everything else is conversation: questions, greetings, thanks, remarks, what somebody did or will do, what should not be
done. Single look-ups ("search the web for …") and mere dates ("remind me at five") are too: the sources say so.
"""

from enum import IntEnum
from typing import Final

from msgspec import Struct

from taskyard.chat import chinese, english
from taskyard.chat.passage import Passage, is_chinese
from taskyard.chat.sequence import FIRST

ROUNDS_MAX: Final = 6
# "Hi team, sorry, if you have time, could you please now …": more than anybody says before the point.
TAIL_CHARS: Final = 60
# The longest courtesy at the end of a clause, with room for the next.
HEAD_CHARS: Final = 200
WORDS: Final = 6
# How far one looks to see whether a word was a verb.


class Intent(IntEnum):
    """How surely a clause is a task: a larger one is surer."""

    TALK = 0
    PLAIN = 1
    POLITE = 2
    EXPLICIT = 3


class Bared(Struct, frozen=True):
    """A clause without its courtesies."""

    passage: Passage
    is_polite: bool = False
    """It asks somebody to do something."""
    is_marked: bool = False
    """It says that it is a task."""


def bared(passage: Passage) -> Bared:
    """Without greetings, "please", "can you", "add task:" and "first" before it, and thanks after it."""
    is_polite = is_marked = False
    passage = _unthanked(passage.trimmed())
    for _ in range(ROUNDS_MAX):
        view = passage.view
        end = _end_of_greeting(view)
        if not end and (end := _end_of_request(view)):
            is_polite = True
        if not end and (marker := english.MARKER.match(view) or chinese.MARKER.match(view)):
            end, is_marked = marker.end(), True
        if not end:
            break
        passage = passage.part(end).trimmed()
    return Bared(_unthanked(passage), is_polite, is_marked)


def _end_of_greeting(view: str) -> int:
    for lead in (english.GREETING, chinese.GREETING, english.ASIDE, chinese.ASIDE, FIRST):
        found = lead.match(view)
        if found:
            return found.end()
    return 0


def _end_of_request(view: str) -> int:
    found = english.POLITE.match(view) or chinese.POLITE.match(view)
    if found:
        return found.end()
    able = chinese.ABLE.match(view)
    is_work = able and (chinese.WORK.match(view, able.end()) or chinese.WITH_OBJECT.match(view, able.end()))
    return able.end() if able and is_work else 0


def _unthanked(passage: Passage) -> Passage:
    for courtesy in (english.COURTESY, chinese.COURTESY, english.COURTESY):
        found = courtesy.search(passage.view, max(0, len(passage.view) - TAIL_CHARS))
        if found:
            passage = passage.part(0, found.start())
    return passage


# What a clause is.


def intent_of(clause: Bared, *, was_asked: bool, is_ranked: bool = False) -> Intent:
    """`was_asked`: it ended in a question mark. `is_ranked`: it has a priority, which remarks seldom have."""
    view = clause.passage.view
    if not view or is_negated(clause.passage):
        return Intent.TALK
    if clause.is_marked:
        return Intent.EXPLICIT
    if clause.is_polite:
        return Intent.POLITE if _is_work_politely(view) else Intent.TALK
    if was_asked or chinese.ENDS_ASKING.search(view, max(0, len(view) - TAIL_CHARS)):
        return Intent.TALK
    return Intent.PLAIN if _is_work(clause.passage) or (is_ranked and _is_some_work(clause.passage)) else Intent.TALK


def is_negated(passage: Passage) -> bool:
    """Whether it says what should not be done."""
    return bool(english.NEGATED.match(passage.view) or chinese.NEGATED.match(passage.view))


def is_courtesy(passage: Passage) -> bool:
    """Whether there is nothing in it but courtesies, or nothing at all."""
    clause = bared(passage)
    return not clause.is_marked and not clause.passage.view.strip(" .!?,。~")


def is_told(passage: Passage) -> bool:
    """Whether it says something that a request after it may need: more than a pleasantry, and no question."""
    view = bared(passage).passage.view
    return not (is_question(passage) or english.PLEASANTRY.match(view) or chinese.PLEASANTRY.match(view))


def is_question(passage: Passage) -> bool:
    """Whether it asks for an answer."""
    view = passage.view.rstrip()
    return view.endswith("?") or bool(english.ASKING.match(view) or chinese.ASKING.match(view))


def has_speaker(passage: Passage) -> bool:
    """Whether it says who does it: then nobody is asked to."""
    return bool(english.SPEAKER.match(passage.view) or chinese.SPEAKER.match(passage.view))


def is_continued(passage: Passage, *, surely: bool) -> bool:
    """Whether what follows a sequence word is something to do, not something that somebody does or asks.

    `surely`: only if a verb of work says so.
    """
    clause = bared(passage)
    view = clause.passage.view
    if not view.strip(" .!?。") or is_negated(clause.passage) or english.DANGLING.match(view):
        return False
    if surely and intent_of(clause, was_asked=False) is Intent.TALK:
        return False
    is_asked = is_question(clause.passage) and not clause.is_polite
    return not is_asked and not has_speaker(clause.passage)


def unasked(passage: Passage) -> Passage:
    """A polite request without what makes a question of it; anything else as it is."""
    if not passage.view.rstrip().endswith("?") or not bared(passage).is_polite:
        return passage
    passage = passage.part(0, len(passage.view.rstrip(" ?")))
    asking = chinese.ASKED.search(passage.view)
    return passage.part(0, asking.start()) if asking else passage


# What is work.


def _is_work(passage: Passage) -> bool:
    """Whether it begins as an imperative does, perhaps after the condition that it stands under."""
    condition = english.CONDITION.match(passage.view) or chinese.CONDITION.match(passage.view)
    if condition:
        passage = passage.part(condition.end())
    start = _end_of_adverbs(passage.view)
    passage = passage.part(start)
    if is_chinese(passage.view[:1]):
        return _is_work_zh(passage.view)
    return _is_work_en(passage)


def _end_of_adverbs(view: str) -> int:
    end = 0
    for _ in range(ROUNDS_MAX):
        adverb = english.ADVERB.match(view, end) or chinese.ADVERB.match(view, end)
        if adverb is None:
            break
        end = adverb.end()
    return end


def _is_work_zh(view: str) -> bool:
    if chinese.NEEDS.match(view) or chinese.WITH_OBJECT.match(view):
        return True
    text = view.rstrip(" .!。")
    if chinese.REMARK.match(view) or text.endswith("了"):
        return False
    return chinese.WORK.match(view) is not None


def _is_work_en(passage: Passage) -> bool:
    view = passage.view
    if english.IDIOMS.match(view):
        return False
    if english.PHRASES.match(view) or _needs_something(view):
        return True
    words = _words_of(view)
    if not words or words[0] not in english.VERBS:
        return False
    may_be_noun = words[0] in english.NOUNS
    if len(words) == 1 or (may_be_noun and view[len(words[0]) :].lstrip().startswith(":")):
        return not may_be_noun
    if words[1] in english.FINITE or _is_about_it(words):
        return False
    return not may_be_noun or _is_verb_here(words, passage.raw.split())


def _is_about_it(words: list[str]) -> bool:
    """ "Merge conflicts are …": what begins with the verb is what the sentence is about."""
    is_open = words[0] not in english.TAKES_CLAUSE and words[1] not in english.OBJECTS
    return is_open and any(word in english.COPULAS for word in words[2:4])


def _needs_something(view: str) -> bool:
    """ "I need a summary of …": what is asked for is what work brings."""
    needs = english.NEEDS.match(view)
    return needs is not None and english.DELIVERABLES.search(needs["what"] or needs["shown"]) is not None


def _words_of(view: str) -> list[str]:
    return english.WORD.findall(view[:HEAD_CHARS])[:WORDS]


def _is_verb_here(words: list[str], raw: list[str]) -> bool:
    """Of a word that may be a noun: by what follows it."""
    second = words[1]
    is_name = english.NAME.search(second) or any(word[0].isupper() for word in raw[1:2])
    if second in english.OBJECTS or is_name:
        return True
    if (
        second in english.PREPOSITIONS
        or second in english.COMPOUNDS
        or any(word in english.FINITE for word in words[1:5])
    ):
        return False
    return words[0] in english.FIRSTLY_VERBS or (len(words) > 2 and second not in english.NOUNS)


def _is_work_politely(view: str) -> bool:
    """After "please" or 帮我: anything but what one asks of a person."""
    view = view[_end_of_adverbs(view) :]
    if is_chinese(view[:1]):
        is_talk = chinese.TALK.match(view) or chinese.SMALL_TALK.search(view[:20]) or chinese.DONE.search(view)
        return not is_talk and len(view.strip(" .!?。")) > 1
    if _needs_something(view):
        return True
    words = _words_of(view)
    if len(words) < 2 or english.IDIOMS.match(view) or english.SMALL_TALK.search(view[:40]):
        return False
    if words[0] in english.VERBS or english.PHRASES.match(view) or english.TALK_OF_WORK.match(view):
        return True
    return _is_some_verb(words[0]) and not english.SPEAKER.match(view)


def _is_some_work(passage: Passage) -> bool:
    """Whether it is built like an imperative, if of a verb that is in no table: "defragment the disk"."""
    is_built_so = english.SOME_WORK.match(passage.view) or chinese.SOME_WORK.match(passage.view)
    return bool(is_built_so) and not has_speaker(passage) and _is_work_politely(passage.view)


def _is_some_verb(word: str) -> bool:
    """Of a word that is in no table: whether it could be a verb of work."""
    gerund = english.GERUND.match(word)
    if gerund:
        return any(stem in english.VERBS for stem in (gerund[1], gerund[1] + "e", gerund[1][:-1]))
    is_other = word in english.TALK or word in english.PREPOSITIONS or word in english.OBJECTS
    return word.isalpha() and not word.endswith(("ed", "ly")) and not is_other
