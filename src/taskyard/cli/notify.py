"""`taskyard notify`: which events are told to which addresses, and what became of telling them."""

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from taskyard.cli import output, times
from taskyard.cli.inputs import GIVEN, secret_of
from taskyard.cli.options import LimitOption, ListsByDefault, Yard, expanded

if TYPE_CHECKING:
    from datetime import datetime

    from taskyard.sdk.notifications import DeliveryRecord, NotificationRecord

DELIVERIES: Final = 50
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Of the notification.")]
EventsArgument = Annotated[
    list[str], typer.Argument(metavar="EVENT…", help="What to tell, such as task_completed or breaker_open.")
]

app = typer.Typer(cls=ListsByDefault, help="Notifications: events told to an address.", rich_markup_mode=None)


@app.command("ls")
@expanded
def ls(yard: Yard) -> None:
    """List the notifications. This is what `notify` alone does."""
    from taskyard.sdk.clock import now

    found = yard.client.notifications()
    if yard.json:
        output.say_json(found)
    elif found:
        at = now()
        output.table(("ID", "WAITING", "DEAD", "MADE", "EVENTS", "ADDRESS"), [_row(one, at) for one in found])
    else:
        output.note("Nothing is told to anybody. Change that with: taskyard notify add URL task_completed")


def _row(one: "NotificationRecord", at: "datetime") -> tuple[str, ...]:
    dead = str(one.dead) if not one.dropped else f"{one.dead} (+{one.dropped} dropped)"
    return one.id, str(one.pending), dead, times.relative(one.created_at, at), ",".join(one.events), one.url


@app.command("add")
@expanded
def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where to tell it: https://host/path.")],
    events: EventsArgument,
    yard: Yard,
    *,
    secret: Annotated[
        str | None,
        typer.Option("--secret", metavar="TEXT", help="whsec_…; - reads it from standard input [one is made]."),
    ] = None,
    of_hub: Annotated[
        bool, typer.Option("--of-hub", help="Also what is nobody's own, such as a paused queue; for admins.")
    ] = False,
) -> None:
    """Have events told to an address. The secret that signs them is shown, and never again."""
    made = yard.client.add_notification(url, events, secret=secret_of(secret), hub=of_hub or None)
    if yard.json:
        output.say_json(made)
        return
    output.say(f"Notification: {made.id}")
    if secret is not None:
        output.say(GIVEN)
        return
    output.say(f"Secret:       {made.secret}")
    output.note("The secret is not shown again; a receiver checks deliveries with it.")


@app.command("set")
@expanded
def change(
    notification: IdArgument,
    yard: Yard,
    *,
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="Another address.")] = None,
    events: Annotated[
        list[str] | None, typer.Option("--event", metavar="EVENT", help="What to tell from now on; may be repeated.")
    ] = None,
) -> None:
    """Change the address or the events. What waits already goes to the new address."""
    changes: dict[str, Any] = {}
    if url is not None:
        changes["url"] = url
    if events:
        changes["events"] = events
    if not changes:
        raise typer.BadParameter("say what to change", param_hint="--url or --event")
    changed = yard.client.change_notification(notification, **changes)
    yard.answer(changed, f"{changed.id} tells {', '.join(changed.events)} to {changed.url}")


@app.command("rm")
@expanded
def rm(notification: IdArgument, yard: Yard) -> None:
    """Tell nothing more, and forget what was still to be told."""
    done = yard.client.delete_notification(notification)
    yard.answer(done, f"{notification} is gone.")


@app.command("deliveries")
@expanded
def deliveries(
    notification: IdArgument,
    yard: Yard,
    *,
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATUS", help="Only pending, delivered or dead ones.")
    ] = None,
    limit: LimitOption = DELIVERIES,
) -> None:
    """List what was sent, is to be, or was given up; newest first."""
    from taskyard.sdk.clock import now

    found = list(islice(yard.client.deliveries(notification, status=status), limit))
    if yard.json:
        output.say_json(found)
    elif found:
        at = now()
        header = ("DELIVERY", "EVENT", "TASK", "STATUS", "TRIES", "HAPPENED", "NEXT", "LAST ANSWER")
        output.table(header, [_delivery_row(one, at) for one in found])
    else:
        output.note("There is no such delivery." if status else "Nothing was to be told so far.")


def _delivery_row(one: "DeliveryRecord", at: "datetime") -> tuple[str, ...]:
    said = one.error or (str(one.answered) if one.answered else "-")
    happened, next_at = times.relative(one.created_at, at), times.relative(one.next_at, at)
    if one.host_rests_until is not None:
        next_at += ": its host is left alone"
    return (
        one.id,
        one.type,
        one.ref or "-",
        one.status,
        str(one.attempts),
        happened,
        "under way" if one.under_way else next_at,
        said,
    )


@app.command("resend")
@expanded
def resend(
    notification: IdArgument,
    delivery: Annotated[str, typer.Argument(metavar="DELIVERY", help="The id of what to send again.")],
    yard: Yard,
) -> None:
    """Send a delivery now, under the same id, whatever became of it."""
    sent = yard.client.resend_delivery(notification, delivery)
    yard.answer(sent, f"{sent.id} is sent again.")
