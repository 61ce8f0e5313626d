"""Options that several commands share, declared once as a class and taken by name as one argument.

    @app.command()
    @expanded
    def show(task: TaskArgument, yard: Yard) -> None: ...

gives `show` the options of `Yard` beside its own. Without this every command would repeat `--hub`, `--key`,
`--data` and `--json`, and `submit` would have a signature longer than a screen.
"""

import dataclasses
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Final, Self, get_type_hints

import typer
from typer.core import TyperGroup

from taskyard.cli import output

if TYPE_CHECKING:
    from taskyard.sdk.client import Client

TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help="The task's ref (T-042) or id.")]
TasksArgument = Annotated[list[str], typer.Argument(metavar="TASK…", help="Refs (T-042) or ids.")]
DatabaseOption = Annotated[
    str | None,
    typer.Option("--database", metavar="URL", envvar="TASKYARD_DATABASE", help="postgresql://… [a file in the data]"),
]
LIMIT_MAX: Final = 1_000_000
"""Of what one command lists: more is for `taskyard export`."""
LimitOption = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, max=LIMIT_MAX, help="At most so many.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer as JSON, for programs.")]
ReasonOption = Annotated[str | None, typer.Option("--reason", help="Why; kept with the task.")]


class ListsByDefault(TyperGroup):
    """Commands of which `ls` is meant where none is named: `taskyard breakers --json`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        names_one = bool(args) and not args[0].startswith("-")
        return super().parse_args(ctx, args if names_one or args == ["--help"] else ["ls", *args])


@dataclasses.dataclass
class Yard:
    """Which hub to call, and how to answer."""

    hub: Annotated[
        str | None,
        typer.Option("--hub", metavar="URL", help="The hub's address, or several with commas [env: TASKYARD_HUB]."),
    ] = None
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="The key to call with [env: TASKYARD_KEY].")
    ] = None
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DIR", help="The hub's data, with its credentials [env: TASKYARD_DATA]."),
    ] = None
    user: Annotated[
        str | None, typer.Option("--user", help="Whose, if not one's own; in lists * is everybody's (admin).")
    ] = None
    json: Annotated[bool, typer.Option("--json", help="Answer as JSON, for programs.")] = False

    @cached_property
    def client(self) -> "Client":
        """Made when first used: a wrong use is told before a missing key."""
        from taskyard.sdk.client import Client
        from taskyard.sdk.retry import CANDID

        return Client(self.hub, self.key, data=self.data, user=self.user, retry=CANDID)

    def answer(self, value: object, in_words: str) -> None:
        """The value for a program that asked for JSON, a sentence for everybody else."""
        if self.json:
            output.say_json(value)
        else:
            output.say(in_words)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if "client" in self.__dict__:
            self.client.close()
            if error is not None:
                self._tell_of_key(error)

    def _tell_of_key(self, error: BaseException) -> None:
        from taskyard.sdk.errors import NotAllowed

        if isinstance(error, NotAllowed) and error.status == 401:
            error.add_note(self.about_key(self.client.hub))

    def about_key(self, hub: str) -> str:
        """For whom a hub refused: which key it was, known here alone, and where another goes."""
        from taskyard.sdk.credentials import place_of_key

        return (
            f"{hub} was called with {place_of_key(self.data, self.key)}: give another with --key "
            "or in TASKYARD_KEY, or the hub's own directory with --data."
        )


def expanded(function: Callable[..., int | None]) -> Callable[..., None]:
    """The command for a function whose arguments may be classes of options; its answer is the exit code."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if dataclasses.is_dataclass(kind)}
    parameters = [
        parameter
        for name, declared in inspect.signature(function).parameters.items()
        for parameter in (
            _fields(groups[name])
            if name in groups
            else [declared.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])]
        )
    ]

    def command(**given: Any) -> None:
        with ExitStack() as stack:
            for name, kind in groups.items():
                group = kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
                given[name] = stack.enter_context(group) if isinstance(group, AbstractContextManager) else group
            code = function(**given)
        raise typer.Exit(code or 0)

    command.__name__ = function.__name__
    command.__doc__ = function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _fields(kind: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in dataclasses.fields(kind)
    ]
