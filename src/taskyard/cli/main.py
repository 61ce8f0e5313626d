"""The command line's door: every command, and what becomes of what goes wrong.

Exit codes: 0 done; 1 the task failed, was not found, or the answer is no; 2 wrong use; 3 the hub is not
there; 4 not allowed; 5 limited, try later; 6 done in part. An error is one sentence on standard error
that says what to do. `TASKYARD_DEBUG=1` shows where it came from instead.
"""

import io
import os
import sys
import warnings
from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Final

import typer

from taskyard.cli import (
    breakers,
    dashboard,
    database,
    dead_letters,
    exchange,
    fleet,
    hooks,
    hubs,
    mcp,
    notify,
    output,
    people,
    pressure,
    queues,
    report,
    say,
    schedules,
    service,
    status,
    submit,
    tasks,
    templates,
    watch,
    why,
    yard,
)

if TYPE_CHECKING:
    from taskyard.sdk.errors import TaskyardError

NO: Final = 1
WRONG_USE: Final = 2
HUB_NOT_THERE: Final = 3
NOT_ALLOWED: Final = 4
LIMITED: Final = 5
INTERRUPTED: Final = 130

app = typer.Typer(
    name="taskyard",
    help="Taskyard: a durable, fair task queue for AI agents.",
    no_args_is_help=True,
    add_completion=False,
    # Plain help: it comes up in a third of the time, and reads the same in a pipe.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
# In the order of a first visit: start, hand in, look, act, administer.
app.command("up")(yard.up)
app.add_typer(service.app, name="daemon")
app.command("dashboard")(dashboard.dashboard)
app.command("demo")(yard.demo)
app.command("submit")(submit.submit)
app.command("say")(say.say)
app.command("ls")(tasks.ls)
app.command("show")(tasks.show)
app.command("why")(why.why)
app.command("status")(status.status)
app.command("watch")(watch.watch)
app.command("log")(watch.log)
app.command("cancel")(tasks.cancel)
app.command("retry")(tasks.retry)
app.command("skip")(tasks.skip)
app.add_typer(dead_letters.app, name="dlq")
app.add_typer(breakers.app, name="breakers")
app.add_typer(schedules.app, name="schedule")
app.add_typer(templates.app, name="template")
app.add_typer(hooks.app, name="hook")
app.add_typer(notify.app, name="notify")
app.add_typer(queues.app, name="queues")
app.command("pause")(queues.pause)
app.command("resume")(queues.resume)
app.command("backpressure")(pressure.backpressure)
app.add_typer(fleet.app, name="daemons")
app.command("drain")(fleet.drain)
app.command("hubs")(hubs.hubs)
app.add_typer(people.user_app, name="user")
app.add_typer(people.key_app, name="key")
app.command("plans")(people.plans)
app.command("audit")(people.audit)
app.command("report")(report.report)
app.add_typer(exchange.app, name="import")
app.command("export")(exchange.export)
app.command("mcp")(mcp.mcp)
app.command("backup")(yard.backup)
app.command("doctor")(yard.doctor)
app.command("migrate")(database.migrate)
app.command("copy")(database.copy)


@app.callback(invoke_without_command=True)
def version(*, show: bool = typer.Option(False, "--version", help="Say which version this is.", is_eager=True)) -> None:
    if show:
        from importlib.metadata import version as installed

        output.say(f"taskyard {installed('taskyard')}")
        raise typer.Exit


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    _fill_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a letter gets its escape, not a traceback.
            stream.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdin, io.TextIOWrapper):
        # Under some locales Python reads bytes that are no text as half letters, which nothing can be made of later.
        sys.stdin.reconfigure(errors="strict")
    if not all(map(_is_text, sys.argv[1:] if arguments is None else arguments)):
        return _not_text()
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            app(args=arguments, prog_name="taskyard")
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else NO
        except KeyboardInterrupt:
            return INTERRUPTED
        except Exception as error:  # a person reads a sentence and not a traceback
            if os.environ.get("TASKYARD_DEBUG") == "1":
                raise
            return _failed(error)
    return 0


def _fill_standard_streams() -> None:
    """Where one was closed, the next file that is opened would take its place, and be written to by whoever complains;
    and an event loop that is to close such a one ends the process."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    # Python has none for what was closed when it started.
    sys.stdin = sys.stdin or open(0, encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8")  # noqa: SIM115


def _failed(error: Exception) -> int:
    """Say what went wrong in a sentence; the exit code for it."""
    from taskyard.sdk.errors import TaskyardError

    if isinstance(error, TaskyardError):
        output.note(f"taskyard: {_sentence(error)}")
        return _code(error)
    if isinstance(error, UnicodeDecodeError):
        return _not_text()
    if isinstance(error, OSError):
        output.note(f"taskyard: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        return NO
    output.note(
        f"taskyard: this should not happen: {type(error).__name__}: {error}. "
        "Set TASKYARD_DEBUG=1 to see where, and please report it."
    )
    return NO


def _is_text(argument: str) -> bool:
    """Bytes of an argument that are no text arrive as half letters."""
    return not any("\ud800" <= letter <= "\udfff" for letter in argument)


def _not_text() -> int:
    output.note("taskyard: The input is not UTF-8; convert it first, for example with iconv.")
    return WRONG_USE


def _code(error: "TaskyardError") -> int:
    from taskyard.sdk import errors

    match error:
        case errors.HubUnreachable() | errors.BadAnswer():
            return HUB_NOT_THERE
        case errors.NotAllowed() | errors.CredentialsMissing():
            return NOT_ALLOWED
        case errors.Limited() | errors.Unavailable():
            return LIMITED
        case errors.Invalid() | errors.BadAddress():
            return WRONG_USE
        case _:
            return NO


def _sentence(error: "TaskyardError") -> str:
    """What happened and what to do about it."""
    from taskyard.sdk import errors

    match error:
        case errors.HubUnreachable():
            return f"{error} Start one with `taskyard up`, or name it with --hub."
        case errors.NotAllowed(status=401):
            return " ".join([str(error), *getattr(error, "__notes__", ())])
        case errors.Limited(retry_after=float(wait_s)) | errors.Unavailable(retry_after=float(wait_s)):
            return f"{_with_again(str(error))} in {ceil(wait_s)} s."
        case errors.Invalid(detail=detail, errors=faults):
            # Where the detail says it all, the faults only repeat it.
            more = [f"{fault.path}: {fault.message}" for fault in faults if fault.message not in detail]
            return " ".join([detail, *(words if words.endswith(".") else f"{words}." for words in more)])
        case _:
            return str(error)


def _with_again(words: str) -> str:
    """The sentences of some refusals end so already."""
    again = "; try again."
    return words.removesuffix(".") if words.endswith(again) else f"{words} Try again"


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    output.note(f"taskyard: {message}")
