"""`taskyard status`: how one's yard stands, on one screen."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer
from msgspec import Struct

from taskyard.cli import everybody, output
from taskyard.cli.hubs import summary_of
from taskyard.cli.options import Yard, expanded
from taskyard.cli.times import relative, span
from taskyard.cli.why import filled, helpful, idle_because
from taskyard.vocabulary.reasons import FOR_NOBODY

if TYPE_CHECKING:
    from datetime import datetime

    from taskyard.sdk.answers import Backpressure, Overview
    from taskyard.sdk.client import Client
    from taskyard.sdk.records import BreakerRecord, DaemonRecord, HubRecord, Limits, Me, QueueRecord, QueueStatus

DAEMONS_MAX: Final = 20


class Standing(Struct):
    """Everything that is told, and with --json as it is."""

    hub: str
    me: "Me"
    limits: "Limits"
    queue_status: "QueueStatus"
    overview: "Overview"
    daemons: "list[DaemonRecord]"
    breakers: "list[BreakerRecord]"
    queues: "list[QueueRecord]"
    backpressure: "Backpressure"
    hubs: "list[HubRecord]"
    """Only an admin is told of them."""


@expanded
def status(
    yard: Yard,
    *,
    everybodys: Annotated[bool, typer.Option("--all", help="Everybody's, user by user (admin).")] = False,
) -> None:
    """Show how your tasks stand. What runs, what waits, and what holds most of it back."""
    from taskyard.sdk.clock import now

    if everybodys:
        _tell_of_all(yard)
        return
    found = _standing(yard.client)
    if yard.json:
        output.say_json(found)
    else:
        output.say("\n".join(_told(found, now(), yard.user)))


def _tell_of_all(yard: Yard) -> None:
    if yard.user is not None:
        raise typer.BadParameter("name a user, or ask for all of them", param_hint="--user, --all")
    found = everybody.found_by(yard.client)
    if yard.json:
        output.say_json(found)
    else:
        everybody.tell(found)


def _standing(client: "Client") -> Standing:
    me = client.me()
    return Standing(
        client.credentials.hub,
        me,
        client.limits(),
        client.queue_status(),
        client.overview(),
        client.daemons(),
        client.breakers(),
        client.queues(),
        client.backpressure(),
        client.hubs() if "admin" in me.scopes else [],
    )


def _told(found: Standing, now: "datetime", user: str | None) -> Iterator[str]:
    yield f"hub      {found.hub} ({found.overview.profile} profile)"
    if len(found.hubs) > 1:
        yield f"hubs     {summary_of(found.hubs)}"
    who = f"you      {found.me.name}" if user is None else f"user     {user}"
    yield from filled(f"{who}, {_plan(found, now)}", hang=9)
    tasks = found.overview
    others = max(found.queue_status.pending - tasks.waiting, 0)
    more = f", {others} not ready yet" if others else ""
    yield f"tasks    {tasks.running} running, {tasks.waiting} waiting for their turn{more}"
    yield from filled(f"line     {_pressure(found.backpressure, tasks)}", hang=9)
    yield from _shares(tasks)
    yield from _held_back(tasks)
    yield from _daemons(found.daemons)
    yield from _troubles(found, now)


def _plan(found: Standing, now: "datetime") -> str:
    limits = found.limits
    words = [f"plan {limits.plan}" if limits.plan else "no plan"]
    if limits.max_concurrent_agents is not None:
        words.append(f"{found.queue_status.running} of {limits.max_concurrent_agents} tasks at a time")
    hours = f"{limits.monthly_agent_hours_used:.2f}"
    if limits.monthly_agent_hours_limit is not None:
        resets = relative(limits.billing_cycle_resets_at, now)
        words.append(f"{hours} of {limits.monthly_agent_hours_limit:g} hours this month (resets {resets})")
    else:
        words.append(f"{hours} hours this month")
    return ", ".join(words)


def _pressure(pressure: "Backpressure", tasks: "Overview") -> str:
    whose = "on this hub" if pressure.scope == "hub" else "of yours"
    words = f"{pressure.level}, {pressure.queue_depth} {whose} waiting{_outlook(pressure, tasks)}"
    return "; ".join([words, *pressure.recommendations])


def _outlook(pressure: "Backpressure", tasks: "Overview") -> str:
    """How long the wait is. It follows from what started lately, and means nothing to what no daemon can run."""
    wait_s = pressure.estimated_wait_time
    wait = f", about {span(wait_s)} to wait" if wait_s else ""
    stuck = sum(held.tasks for held in tasks.held_by if held.code in FOR_NOBODY)
    if not stuck or pressure.scope == "hub":
        return wait
    if stuck >= pressure.queue_depth:
        return ", which no daemon can run"
    return f", {stuck} of which no daemon can run{wait}"


def _shares(tasks: "Overview") -> Iterator[str]:
    if not tasks.queues:
        return
    yield ""
    yield f"{'QUEUE':24}  {'PRIORITY':8}  RUNNING  WAITING"
    for share in tasks.queues:
        yield f"{share.queue:24}  {share.priority:8}  {share.running:7}  {share.waiting:7}"


def _held_back(tasks: "Overview") -> Iterator[str]:
    if not tasks.held_by:
        return
    yield ""
    yield "Held back"
    for held in tasks.held_by:
        number = f"1 task ({held.example})" if held.tasks == 1 else f"{held.tasks} tasks (such as {held.example})"
        yield from filled(f"{number}: {held.message}", indent=2, hang=4)
        if held.would_help:
            yield from filled(helpful(held.would_help), indent=4, hang=6)
    if others := tasks.waiting - sum(held.tasks for held in tasks.held_by):
        yield f"  and {others} more for other reasons; `taskyard why TASK` tells of each"


def _daemons(daemons: "list[DaemonRecord]") -> Iterator[str]:
    yield ""
    if not daemons:
        yield "No daemon has connected yet; start one with `taskyard daemon`."
        return
    yield "Daemons"
    for daemon in daemons[:DAEMONS_MAX]:
        used = f"{daemon.active_tasks}/{daemon.max_concurrent_tasks}"
        shared = " (shared)" if daemon.shared else ""
        yield from filled(f"{daemon.name}{shared}: {daemon.status} {used}. {idle_because(daemon)}", indent=2, hang=4)
    if len(daemons) > DAEMONS_MAX:
        yield f"  and {len(daemons) - DAEMONS_MAX} more: taskyard daemons"


def _troubles(found: Standing, now: "datetime") -> Iterator[str]:
    """What is not as it should be: breakers that hold something back, queues that start nothing."""
    lines = [
        f"breaker {one.type}: {one.state.replace('_', '-')}, tried again {relative(one.half_open_at, now)}"
        for one in found.breakers
        if one.state != "closed"
    ]
    lines += [
        f"queue {one.name}: {one.state}" + (f", over {relative(one.until, now)}" if one.until else "")
        for one in found.queues
        if one.state != "open"
    ]
    if lines:
        yield ""
        yield "Not as usual"
        yield from (part for line in lines for part in filled(line, indent=2, hang=4))
