"""Commands about users, their keys, and who did what."""

import shlex
from itertools import islice
from typing import Annotated, Any

import msgspec
import typer

from taskyard.cli import output, times
from taskyard.cli.options import LimitOption, Yard, expanded
from taskyard.sdk.records import UserRecord

user_app = typer.Typer(help="Users and their plans (admin).", no_args_is_help=True, rich_markup_mode=None)
key_app = typer.Typer(help="Keys to call the hub with.", no_args_is_help=True, rich_markup_mode=None)

PlanOption = Annotated[str | None, typer.Option("--plan", help="One of `taskyard plans`, or none for no plan.")]
OverrideOption = Annotated[
    list[str] | None,
    typer.Option("--override", metavar="LIMIT=N", help="A limit of one's own, as max_pending=200; LIMIT= removes it."),
]


@user_app.command("add")
@expanded
def add_user(
    name: Annotated[str, typer.Argument(help="The user's name.")],
    yard: Yard,
    plan: PlanOption = None,
    override: OverrideOption = None,
) -> None:
    """Add a user."""
    limits = overrides_of(override)
    user = yard.client.add_user(name, plan=None if plan == "none" else plan, overrides=limits or None)
    if yard.json:
        output.say_json(user)
    else:
        make = f"taskyard key add NAME --user {shlex.quote(user.name)}"
        output.say(
            f"{user.name} is {user.id}, {_plan(user)}.\n"
            f"Give them a key: {make}\n"
            f"One that their daemons can use too: {make} --scope tasks --scope daemon"
        )


@user_app.command("ls")
@expanded
def list_users(yard: Yard) -> None:
    """List users."""
    from taskyard.sdk.clock import now

    users = yard.client.users()
    if yard.json:
        output.say_json(users)
    else:
        at = now()
        output.table(
            ("NAME", "PLAN", "OVERRIDES", "CREATED", "ID"),
            [
                (user.name, user.plan or "none", _limits(user), times.relative(user.created_at, at), user.id)
                for user in users
            ],
        )


@user_app.command("set")
@expanded
def set_user(
    who: Annotated[str, typer.Argument(metavar="USER", help="A name or id.")],
    yard: Yard,
    *,
    name: Annotated[str | None, typer.Option("--name", help="A new name.")] = None,
    plan: PlanOption = None,
    override: OverrideOption = None,
) -> None:
    """Change a user's name, plan or limits."""
    changes: dict[str, Any] = {}
    if name is not None:
        changes["name"] = name
    if plan is not None:
        changes["plan"] = None if plan == "none" else plan
    if override:
        changes["overrides"] = overrides_of(override)
    if not changes:
        raise typer.BadParameter("say what to change", param_hint="--name, --plan or --override")
    changed = yard.client.change_user(user_id_of(who, yard=yard), **changes)
    yard.answer(changed, f"{changed.name} is {_plan(changed)}; overrides: {_limits(changed)}.")


@user_app.command("plan")
@expanded
def give_plan(
    who: Annotated[str, typer.Argument(metavar="USER", help="A name or id.")],
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="One of `taskyard plans`, or none for no plan.")],
    yard: Yard,
) -> None:
    """Give a user another plan. It holds for whatever starts from now on."""
    changed = yard.client.change_user(user_id_of(who, yard=yard), plan=None if plan == "none" else plan)
    yard.answer(changed, f"{changed.name} is {_plan(changed)} now.")


@user_app.command("limits")
@expanded
def show_limits(
    yard: Yard,
    who: Annotated[str | None, typer.Argument(metavar="USER", help="A name or id, if not oneself (admin).")] = None,
) -> None:
    """Show a user's limits. And what was used this month, and when the next one begins."""
    from taskyard.sdk.clock import now

    yard.user = who or yard.user
    limits = yard.client.limits()
    if yard.json:
        output.say_json(limits)
        return
    resets = limits.billing_cycle_resets_at
    used = f"{limits.monthly_agent_hours_used:.2f} of {_or_any(limits.monthly_agent_hours_limit)}"
    output.table(
        ("LIMIT", "VALUE"),
        [
            ("plan", limits.plan or "none"),
            ("concurrent tasks", _or_any(limits.max_concurrent_agents)),
            ("pending tasks", f"{limits.pending} of {_or_any(limits.max_pending)}"),
            ("highest priority", limits.max_priority or "critical"),
            ("minutes per task", _or_any(limits.max_task_duration_minutes)),
            ("hours this month", used),
            ("next month begins", f"{resets:%Y-%m-%d %H:%M} UTC ({times.relative(resets, now())})" if resets else "-"),
        ],
    )


@expanded
def plans(yard: Yard) -> None:
    """List the plans that users can have (admin)."""
    found = yard.client.plans()
    if yard.json:
        output.say_json(found)
    else:
        output.table(
            ("PLAN", "CONCURRENT", "MINUTES PER TASK", "HOURS PER MONTH", "PENDING", "MAX PRIORITY"),
            [
                (
                    plan.name,
                    _or_any(plan.max_concurrent_agents),
                    _or_any(plan.max_task_duration_minutes),
                    _or_any(plan.monthly_agent_hours),
                    _or_any(plan.max_pending),
                    plan.max_priority or "-",
                )
                for plan in found
            ],
        )


def overrides_of(pairs: list[str] | None) -> dict[str, float | int | None]:
    """`max_pending=200` as a number, `max_pending=` as null, which removes it."""
    overrides: dict[str, float | int | None] = {}
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        try:
            overrides[name] = msgspec.json.decode(text, type=int | float) if text else None
        except msgspec.DecodeError:
            equals = ""
        if not equals:
            raise typer.BadParameter(f"write LIMIT=NUMBER, not {pair}", param_hint="--override")
    return overrides


def user_id_of(user: str | None, *, yard: Yard) -> str:
    """Whose key calls, or the user of that name. What is no name is taken for an id."""
    if user is None:
        return yard.client.me().id
    return next((known.id for known in yard.client.users() if known.name == user), user)


def _or_any(limit: float | None) -> str:
    return "unlimited" if limit is None else f"{limit:g}"


def _plan(user: UserRecord) -> str:
    return f"on plan {user.plan}" if user.plan else "without a plan"


def _limits(user: UserRecord) -> str:
    return ", ".join(f"{name}={value}" for name, value in (user.overrides or {}).items()) or "-"


@key_app.command("add")
@expanded
def add_key(
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    yard: Yard,
    *,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", help="tasks, daemon, agent or admin; several times [default: tasks]."),
    ] = None,
    max_priority: Annotated[str | None, typer.Option("--max-priority", help="No task above this.")] = None,
    priority_scale: Annotated[
        str | None,
        typer.Option("--priority-scale", help="1-4: its client counts from 1 (critical) to 4 (low)."),
    ] = None,
    source: Annotated[list[str] | None, typer.Option("--source", help="Only tasks from this source.")] = None,
    expires: Annotated[str | None, typer.Option("--expires", metavar="WHEN", help="30d, or a date.")] = None,
) -> None:
    """Make a key. It is shown now and never again."""
    from taskyard.sdk.clock import now

    terms: dict[str, Any] = {"name": name, "scopes": scope or ["tasks"]}
    if max_priority:
        terms["max_priority"] = max_priority
    if priority_scale:
        terms["priority_scale"] = priority_scale
    if source:
        terms["sources"] = source
    if expires:
        try:
            terms["expires_at"] = times.instant_of(expires, now())
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--expires") from None
    key = yard.client.add_key(user_id_of(yard.user, yard=yard), **terms)
    if yard.json:
        output.say_json(key)
    else:
        output.say(key.key or "")
        output.note(f"Key {key.id} ({', '.join(key.scopes)}). Keep it now: it is not shown again.")


@key_app.command("ls")
@expanded
def list_keys(yard: Yard) -> None:
    """List keys, without their secrets."""
    from taskyard.sdk.clock import now

    keys = yard.client.keys(user_id_of(yard.user, yard=yard))
    if yard.json:
        output.say_json(keys)
    else:
        at = now()
        output.table(
            ("ID", "NAME", "SCOPES", "CREATED", "EXPIRES", "REVOKED"),
            [
                (
                    key.id,
                    key.name,
                    ", ".join(key.scopes),
                    *(times.relative(when, at) for when in (key.created_at, key.expires_at, key.revoked_at)),
                )
                for key in keys
            ],
        )


@key_app.command("revoke")
@expanded
def revoke_key(key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id.")], yard: Yard) -> None:
    """Revoke a key: whoever calls with it is refused from now on."""
    revoked = yard.client.revoke_key(key_id)
    yard.answer(revoked, f"Key {key_id} is revoked.")


@expanded
def audit(yard: Yard, limit: LimitOption = 50) -> None:
    """Show who changed what, newest first (admin)."""
    from taskyard.sdk.clock import now

    entries = list(islice(yard.client.audit(), limit))
    if yard.json:
        output.say_json(entries)
    else:
        at = now()
        output.table(
            ("WHEN", "WHO", "DID", "TO", "WAS", "IS"),
            [
                (
                    times.relative(entry.at, at),
                    entry.actor,
                    entry.action,
                    entry.subject,
                    _short(entry.old),
                    _short(entry.new),
                )
                for entry in entries
            ],
        )


def _short(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or "-"
    return msgspec.json.encode(value).decode()
