"""`taskyard say`: hand in work in one's own words, and ask or command in them too."""

import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from taskyard.cli.options import Yard, expanded

if TYPE_CHECKING:
    from taskyard.sdk.answers import Said
    from taskyard.sdk.task import Task

NO: Final = 1
CHANNEL: Final = "cli"

TextArgument = Annotated[
    list[str],
    typer.Argument(metavar="TEXT…", help="What to do, in English or Chinese; - reads it from standard input."),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]


@expanded
def say(text: TextArgument, yard: Yard, *, dry_run: DryRunOption = False) -> int:
    """Say what should be done. It becomes tasks and commands, or a question back."""
    message = sys.stdin.read() if text == ["-"] else " ".join(text)
    if not message.strip():
        raise typer.BadParameter("there is nothing in it", param_hint="TEXT")
    said = yard.client.say(message, channel=CHANNEL, dry_run=dry_run)
    yard.answer(said, said.reply)
    return 0 if _was_done(said) else NO


def _was_done(said: "Said[Task]") -> bool:
    """Whether it was understood, left nothing open, and every command in it was possible."""
    return said.understood and said.question is None and all(command.ok is not False for command in said.commands)
