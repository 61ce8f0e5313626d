"""Questions about how things stand: "task status", "show queue X", 队列状态, "is T-003 done?".

They change nothing, so they may be worded in many ways; but all of a clause has to be about it. "Check the status of
the deployment" is work.
"""

import re
from typing import Final

from taskyard.chat import chinese, english
from taskyard.chat.dependencies import refs_in
from taskyard.chat.parsed import Missing, ParsedCommand, Question
from taskyard.chat.passage import Passage
from taskyard.chat.sources import Names
from taskyard.chat.target import target_at
from taskyard.vocabulary import ChatCommand

CHARS_MAX: Final = 120
# Nobody needs more to ask; what is longer is about something else, and is not looked at.


def status_asked(names: Names, passage: Passage) -> tuple[ParsedCommand, ...] | Question:
    """What a clause asks about; nothing if it is about something else."""
    view = passage.view.rstrip(" .!?。")
    if len(view) > CHARS_MAX:
        return ()
    if english.STATUS.fullmatch(view) or chinese.STATUS.fullmatch(view):
        return (ParsedCommand(ChatCommand.QUEUE if re.search("queue|backlog|队列|排队", view) else ChatCommand.STATUS),)
    return _of_tasks(view) or _of_queue(names, view)


def _of_tasks(view: str) -> tuple[ParsedCommand, ...]:
    for pattern in (english.STATUS_OF_TASK, chinese.STATUS_OF_TASK):
        found = pattern.fullmatch(view)
        if found and (found["asks"] or found["about"]):
            return tuple(ParsedCommand(ChatCommand.STATUS, ref) for ref in refs_in(found["refs"]))
    return ()


def _of_queue(names: Names, view: str) -> tuple[ParsedCommand, ...] | Question:
    """A name that is no queue's is asked about only where it was said to be one's."""
    for pattern in (chinese.STATUS_OF_QUEUE, *english.STATUS_OF_QUEUE):
        found = pattern.fullmatch(view)
        name = next((said.strip() for said in found.groups() if said), "") if found else ""
        target = target_at(names, Passage.of(name), 0)
        if target is not None and target.said.queue is not None and target.end == len(name):
            return (ParsedCommand(ChatCommand.QUEUE, queue=target.said.queue),)
    unknown = english.UNKNOWN_QUEUE.fullmatch(view)
    if unknown is None:
        return ()
    return Question(Missing.WHICH_QUEUE, unknown["name"] or unknown["zh"], names.queue_names)
