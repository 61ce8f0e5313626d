"""Commands about queues: `queues` lists them, `queues set` and `rm` change one, `pause` and `resume` hold one."""

from typing import TYPE_CHECKING, Annotated

import typer

from taskyard.cli import output, times
from taskyard.cli.options import ListsByDefault, Yard, expanded
from taskyard.vocabulary import EVERYBODY

if TYPE_CHECKING:
    from datetime import datetime

    from taskyard.sdk.records import QueueRecord


app = typer.Typer(
    cls=ListsByDefault,
    help="Model-source queues: list them, or change one (admin).",
    rich_markup_mode=None,
)

QueueArgument = Annotated[str, typer.Argument(metavar="NAME", help="The queue's name.")]


@app.command("ls")
@expanded
def ls(yard: Yard) -> None:
    """List the queues, with your own tasks in them. This is what `queues` alone does."""
    from taskyard.sdk.clock import now

    found = yard.client.queues()
    if yard.json:
        output.say_json(found)
        return
    at = now()
    output.table(
        ("NAME", "STATE", "WAITING", "RUNNING", "AT A TIME", "MODELS"),
        [
            (
                queue.name,
                _state(queue, at),
                str(queue.waiting),
                str(queue.running),
                _limit(queue),
                ", ".join(queue.models) or "-",
            )
            for queue in found
        ],
    )
    output.note(f"Waiting and running count {_whose(yard.user)}.")


def _whose(user: str | None) -> str:
    if user == EVERYBODY:
        return "everybody's tasks"
    return "your own tasks alone" if user is None else f"the tasks of {user} alone"


@app.command("set")
@expanded
def set_queue(
    name: QueueArgument,
    yard: Yard,
    *,
    models: Annotated[
        str | None, typer.Option("--models", metavar="M,N", help="Models whose tasks go to it [those it has].")
    ] = None,
    max_concurrent: Annotated[
        int | None,
        typer.Option("--max-concurrent", metavar="N", min=1, help="Tasks at a time [as it is; a new one: 1]."),
    ] = None,
) -> None:
    """Set what a queue serves and how many it runs. It wins over the hub's file until `queues rm`."""
    from taskyard.cli.yard import names_of

    if models is None and max_concurrent is None:
        raise typer.BadParameter("say what to set", param_hint="--models or --max-concurrent")
    known = next((queue for queue in yard.client.queues() if queue.name == name), None)
    changed = yard.client.put_queue(
        name,
        models=names_of(models) or (known.models if known is not None and models is None else ()),
        max_concurrent=max_concurrent if max_concurrent is not None or known is None else known.max_concurrent,
    )
    yard.answer(
        changed, f"{changed.name} runs {_limit(changed)} at a time, for {', '.join(changed.models) or 'no models'}."
    )


@app.command("rm")
@expanded
def remove(name: QueueArgument, yard: Yard) -> None:
    """Remove what was set of a queue. What the hub's file says holds again."""
    removed = yard.client.delete_queue(name)
    yard.answer(removed, f"What was set of {name} is removed.")


@expanded
def pause(name: QueueArgument, yard: Yard) -> None:
    """Start nothing more of a queue; what runs goes on (admin)."""
    paused = yard.client.pause_queue(name)
    yard.answer(paused, f"{name} is paused: what runs goes on, nothing new starts.\nGo on with: taskyard resume {name}")


@expanded
def resume(name: QueueArgument, yard: Yard) -> None:
    """Go on with a paused queue (admin)."""
    from taskyard.sdk.clock import now

    resumed = yard.client.resume_queue(name)
    yard.answer(resumed, f"{name} is {_state(resumed, now())}.")


def _state(queue: "QueueRecord", at: "datetime") -> str:
    if queue.state != "cooling":
        return queue.state
    return "cooling, one task tries" if queue.until is None else f"cooling, over {times.relative(queue.until, at)}"


def _limit(queue: "QueueRecord") -> str:
    return "any number" if queue.max_concurrent is None else str(queue.max_concurrent)
