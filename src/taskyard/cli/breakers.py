"""`taskyard breakers`: which types of task are held back because they kept failing, and a person's word on them."""

from typing import TYPE_CHECKING, Annotated

import typer

from taskyard.cli import output, times
from taskyard.cli.options import ListsByDefault, Yard, expanded

if TYPE_CHECKING:
    from datetime import datetime

    from taskyard.sdk.records import BreakerRecord

TypeArgument = Annotated[str, typer.Argument(metavar="TYPE", help="The type of task.")]


app = typer.Typer(
    cls=ListsByDefault,
    help="Breakers: types of task held back for failing.",
    rich_markup_mode=None,
)


@app.command("ls")
@expanded
def ls(yard: Yard) -> None:
    """List the breakers that count failures or hold tasks back."""
    from taskyard.sdk.clock import now

    found = yard.client.breakers()
    if yard.json:
        output.say_json(found)
    elif found:
        at = now()
        headers = ("TYPE", "STATE", "FAILURES", "LAST FAILURE", "TRIED AGAIN", "PROBE")
        output.table(headers, [_row(breaker, at) for breaker in found])
    else:
        whose = "yours" if yard.user is None else yard.user
        output.note(f"Every breaker of {whose} is closed, and counts no failures.")


def _row(breaker: "BreakerRecord", at: "datetime") -> tuple[str, ...]:
    return (
        breaker.type,
        breaker.state.replace("_", "-"),
        f"{breaker.failures}/{breaker.failure_threshold}",
        times.relative(breaker.last_failure_at, at),
        "now" if breaker.state == "half_open" else times.relative(breaker.half_open_at, at),
        breaker.probe or "-",
    )


@app.command("reset")
@expanded
def reset(type: TypeArgument, yard: Yard) -> None:
    """Close a breaker: tasks of this type run again."""
    breaker = yard.client.reset_breaker(type)
    yard.answer(breaker, f"{breaker.type}: the breaker is closed.")


@app.command("open")
@expanded
def force_open(type: TypeArgument, yard: Yard) -> None:
    """Hold tasks of this type back for the breaker's cool-down. Then one of them is tried."""
    breaker = yard.client.open_breaker(type)
    if yard.json:
        output.say_json(breaker)
    else:
        held_for = times.span(breaker.cooldown)
        output.say(f"{breaker.type}: the breaker is open for {held_for}.")
        output.say(f"Close it with: taskyard breakers reset {breaker.type}")
