"""A chat message, and what became of it."""

from typing import Annotated

from msgspec import Meta, Struct

from taskyard.vocabulary import ChatCommand
from taskyard.wire.fields import FIELD_BYTES_MAX, Name
from taskyard.wire.submission import Priority
from taskyard.wire.tasks import TaskAnswer


class Intake(Struct, forbid_unknown_fields=True, kw_only=True):
    """`channel` is where it was typed; with `dry_run` it is read and answered, and nothing is done."""

    text: Annotated[str, Meta(min_length=1, max_length=FIELD_BYTES_MAX)]
    channel: Name = "chat"
    dry_run: bool = False


class ParsedTaskAnswer(Struct, kw_only=True):
    """A task as it was understood. `depends_on` has places among these, from 0, and refs of others."""

    input: str
    model: str | None
    queue: str | None
    depends_on: list[int | str]
    priority: Priority | None = None
    goal: str | None = None


class CommandAnswer(Struct, kw_only=True):
    """A command that was understood, and how it went. `ok` is null where it was not tried; false in a dry run:
    it would be refused.
    """

    command: ChatCommand
    ref: str | None = None
    queue: str | None = None
    ok: bool | None = None
    detail: str | None = None


class IntakeAnswer(Struct, kw_only=True):
    """`reply` is for people, in the language of the message; `understood` is false for ordinary conversation."""

    reply: str
    tasks: list[TaskAnswer] = []
    commands: list[CommandAnswer] = []
    question: str | None = None
    """The one thing that is missing; then nothing was done."""
    understood: bool
    parsed: list[ParsedTaskAnswer] = []
