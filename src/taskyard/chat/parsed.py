"""What a message means: the values that go into the parser and come out of it."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from taskyard.vocabulary import DEFAULT_QUEUE, ChatCommand, Level


class Language(StrEnum):
    """What a message is written in, and is answered in."""

    ENGLISH = "en"
    CHINESE = "zh"


class Source(Struct, frozen=True):
    """A queue and the models it serves, in the configuration's order."""

    name: str
    models: tuple[str, ...] = ()


class Sources(Struct, frozen=True):
    """What is configured, as far as a message can name it."""

    queues: tuple[Source, ...] = ()
    default: str = DEFAULT_QUEUE


class Route(Struct, frozen=True):
    """Where a task was told to go. Neither is set where nothing was said: it goes to the default queue."""

    queue: str | None = None
    model: str | None = None


ANYWHERE: Final = Route()


class ParsedTask(Struct, frozen=True):
    input: str
    model: str | None = None
    queue: str | None = None
    depends_on: tuple[int | str, ...] = ()
    """Places among the message's own tasks, from 0, and refs of others."""
    priority: Level | int | None = None
    goal: str | None = None


class ParsedCommand(Struct, frozen=True):
    command: ChatCommand
    ref: str | None = None
    queue: str | None = None


class Missing(StrEnum):
    """The one thing that a message leaves open."""

    WHAT = "what"
    """It asks for a task, and says nothing that could be done."""
    AFTER_WHAT = "after_what"
    """It says "then", and there is nothing before."""
    WHICH_TASK = "which_task"
    """It names a task that cannot be told from others: "cancel it"."""
    UNKNOWN_TASK = "unknown_task"
    """It waits for a task that is not there."""
    AT_ONCE = "at_once"
    """It ties a command to a time or a condition: "cancel T-001 if T-002 fails"."""
    WHICH_MODEL = "which_model"
    """It names a model that no queue serves."""
    WHICH_QUEUE = "which_queue"
    """It names a queue that is not there."""
    MODEL_OF_QUEUE = "model_of_queue"
    """It names a queue and a model that the queue does not serve."""
    WHICH_PRIORITY = "which_priority"
    """It names a priority that is none of the ten, or two of them."""
    FEWER = "fewer"
    """It holds more tasks than one message may."""
    SHORTER = "shorter"
    """It is longer than a message may be."""


class Question(Struct, frozen=True):
    missing: Missing
    about: str = ""
    """The word in question, as it was written."""
    choices: tuple[str, ...] = ()
    """What it could have been."""


class Parsed(Struct, frozen=True):
    """All that a message asks for, in its order. With a question, nothing: it is answered first."""

    language: Language = Language.ENGLISH
    tasks: tuple[ParsedTask, ...] = ()
    commands: tuple[ParsedCommand, ...] = ()
    question: Question | None = None

    @property
    def is_understood(self) -> bool:
        """Whether anything was meant for the yard; ordinary conversation is not."""
        return bool(self.tasks or self.commands or self.question)
