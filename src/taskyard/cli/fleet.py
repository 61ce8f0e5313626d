"""Commands about the daemons: `daemons` lists them, `daemons forget` deletes one, `drain` holds one."""

from typing import Annotated

import typer

from taskyard.cli import output, times
from taskyard.cli.options import ListsByDefault, Yard, expanded

DaemonArgument = Annotated[str, typer.Argument(metavar="DAEMON", help="Its name or id.")]


app = typer.Typer(
    cls=ListsByDefault,
    help="Daemons: who runs your tasks.",
    rich_markup_mode=None,
)


@app.command("ls")
@expanded
def ls(yard: Yard) -> None:
    """List the daemons that run your tasks."""
    from taskyard.sdk.clock import now

    found = yard.client.daemons()
    if yard.json:
        output.say_json(found)
    elif found:
        at = now()
        output.table(
            ("NAME", "STATUS", "TASKS", "SEEN", "TYPES", "CAPABILITIES", "MODELS", "FREE", "ID"),
            [
                (
                    daemon.name,
                    daemon.status + (" (shared)" if daemon.shared else ""),
                    f"{daemon.active_tasks}/{daemon.max_concurrent_tasks}",
                    times.relative(daemon.last_heartbeat, at),
                    ", ".join(daemon.types) or "all",
                    ", ".join(daemon.capabilities) or "-",
                    ", ".join(daemon.models) or "-",
                    "-" if daemon.memory_free_mb is None else f"{daemon.memory_free_mb / 1024:.1f} GB",
                    daemon.id,
                )
                for daemon in found
            ],
        )
    else:
        output.note("No daemon has connected yet; start one with `taskyard daemon`.")


@app.command("forget")
@expanded
def forget(daemon: DaemonArgument, yard: Yard) -> None:
    """Forget a daemon that does not come back. One that is connected, holds tasks or is named by one is refused."""
    yard.answer(yard.client.forget_daemon(daemon), f"{daemon} is forgotten. If it comes back, it is a new daemon.")


@expanded
def drain(
    daemon: DaemonArgument,
    yard: Yard,
    undo: Annotated[bool, typer.Option("--undo", help="Take it back: it gets work again.")] = False,
) -> None:
    """Let a daemon finish what it runs and give it nothing new."""
    if undo:
        yard.answer(yard.client.resume_daemon(daemon), f"{daemon} gets work again.")
        return
    drained = yard.client.drain(daemon)
    yard.answer(drained, f"{daemon} drains: it finishes what it runs and gets nothing new.")
