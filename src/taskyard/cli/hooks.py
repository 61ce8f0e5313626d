"""`taskyard hook`: inbound webhooks, their templates and their secrets."""

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taskyard.cli import output, times
from taskyard.cli.inputs import GIVEN, json_object_of, secret_of
from taskyard.cli.options import ListsByDefault, Yard, expanded

if TYPE_CHECKING:
    from datetime import datetime

    from taskyard.sdk.hooks import HookRecord

HookArgument = Annotated[str, typer.Argument(metavar="HOOK", help="Its id or its name.")]
SecretOption = Annotated[
    str | None,
    typer.Option(
        "--secret",
        metavar="TEXT",
        help="The provider's own; - reads it from standard input, where no history keeps it [one is made].",
    ),
]


@dataclasses.dataclass
class HookOptions:
    """What deliveries become, and which of them do."""

    input: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="TEXT", help="The task's input, with {{payload.a.b}}, {{event}}, {{delivery}}."
        ),
    ] = None
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Its title, filled likewise.")] = None
    type: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Its type [general].")] = None
    priority: Annotated[str | None, typer.Option("--priority", metavar="LEVEL", help="Its priority.")] = None
    template: Annotated[
        str | None,
        typer.Option("--template", metavar="FILE", help="A JSON file with the whole template; - is standard input."),
    ] = None
    events: Annotated[
        str | None,
        typer.Option(
            "--events", metavar="A,B", help="Those that become tasks (push, pull_request.opened), or all [all]."
        ),
    ] = None
    max_priority: Annotated[
        str | None,
        typer.Option("--max-priority", metavar="LEVEL", help="The highest that its tasks may have, or none."),
    ] = None

    def whole_template(self) -> dict[str, Any]:
        """What the file says, and over it what was named; nothing, if nothing was said."""
        named = {"input": self.input, "title": self.title, "type": self.type, "priority": self.priority}
        file = {} if self.template is None else json_object_of(self.template, option="--template")
        return file | {name: value for name, value in named.items() if value is not None}

    def ceiling(self) -> str | None:
        """`none` is no word of the hub's: there is no highest."""
        return None if self.max_priority == "none" else self.max_priority

    def event_names(self) -> list[str]:
        """`all` is none: no event is left out."""
        from taskyard.cli.yard import names_of

        return [] if self.events == "all" else names_of(self.events) or []


app = typer.Typer(cls=ListsByDefault, help="Inbound webhooks: deliveries become tasks.", rich_markup_mode=None)


@app.command("ls")
@expanded
def ls(yard: Yard) -> None:
    """List the hooks. This is what `hook` alone does."""
    from taskyard.sdk.clock import now

    found = yard.client.hooks()
    if yard.json:
        output.say_json(found)
    elif found:
        at = now()
        output.table(
            ("ID", "NAME", "PROVIDER", "UP TO", "MADE", "TASKS", "LAST", "TASK"), [_row(hook, at) for hook in found]
        )
    else:
        output.note("There are no hooks. Make one with: taskyard hook add NAME --provider github --input TEXT")


def _row(hook: "HookRecord", at: "datetime") -> tuple[str, ...]:
    template = hook.template
    says = template.get("title") or template.get("input") or "-"
    made, last = times.relative(hook.created_at, at), times.relative(hook.last_delivery_at, at)
    return hook.id, hook.name, hook.provider, hook.max_priority or "any", made, str(hook.deliveries), last, says


@app.command("show")
@expanded
def show(hook: HookArgument, yard: Yard) -> None:
    """Show a hook: where deliveries go, and what task they make."""
    found = yard.client.hook(_id_of(hook, yard=yard))
    if yard.json:
        output.say_json(found)
        return
    output.say(f"{found.name} ({found.provider}), {found.id}")
    output.say(f"Deliveries go to {found.url}")
    output.say(f"It takes {', '.join(found.events) or 'all events'}.")
    output.say(f"Its tasks have {f'a priority up to {found.max_priority}' if found.max_priority else 'any priority'}.")
    output.say(_came(found))
    if found.previous_secret_until is not None:
        output.say(f"The secret before this one is good until {found.previous_secret_until:%Y-%m-%d %H:%M} UTC.")
    output.say(output.indented(found.template))


def _came(hook: "HookRecord") -> str:
    if hook.last_delivery_at is None:
        return "No delivery has made a task so far; the hub's log has those that were refused."
    return f"Deliveries have made {hook.deliveries} tasks, the last at {hook.last_delivery_at:%Y-%m-%d %H:%M:%S} UTC."


@app.command("add")
@expanded
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    yard: Yard,
    *,
    provider: Annotated[
        str, typer.Option("--provider", metavar="WHO", help="github, stripe, slack, or generic (Standard Webhooks).")
    ],
    options: HookOptions,
    secret: SecretOption = None,
) -> None:
    """Make a hook. Its address and its secret are shown; the secret never again."""
    whole = options.whole_template()
    if not whole:
        raise typer.BadParameter("say what task a delivery makes", param_hint="--input or --template")
    made = yard.client.add_hook(
        name,
        provider=provider,
        template=whole,
        secret=secret_of(secret),
        max_priority=options.ceiling(),
        events=options.event_names() or None,
    )
    if yard.json:
        output.say_json(made)
        return
    output.say(f"Address: {made.url}")
    if secret is not None:
        output.say(GIVEN)
        return
    output.say(f"Secret:  {made.secret}")
    output.note("The secret is not shown again; `taskyard hook rotate` makes another or takes the provider's own.")


@app.command("set")
@expanded
def set_hook(
    hook: HookArgument,
    yard: Yard,
    *,
    name: Annotated[str | None, typer.Option("--name", help="A new name.")] = None,
    options: HookOptions,
) -> None:
    """Change a hook. What is not named stays; a file replaces the whole template."""
    changes: dict[str, Any] = {}
    if name is not None:
        changes["name"] = name
    if options.max_priority is not None:
        changes["max_priority"] = options.ceiling()
    if options.events is not None:
        changes["events"] = options.event_names()
    said = options.whole_template()
    if not changes and not said:
        raise typer.BadParameter("say what to change", param_hint="--name, --input, --template or --max-priority")
    hook_id = _id_of(hook, yard=yard)
    if said:
        changes["template"] = said if options.template is not None else yard.client.hook(hook_id).template | said
    changed = yard.client.change_hook(hook_id, **changes)
    yard.answer(changed, f"{changed.name} is changed.")


@app.command("rotate")
@expanded
def rotate(
    hook: HookArgument,
    yard: Yard,
    *,
    secret: SecretOption = None,
    overlap: Annotated[
        float | None,
        typer.Option("--overlap", metavar="SECONDS", min=0, help="How long the old one is good too [a day]."),
    ] = None,
) -> None:
    """Give a hook another secret. The one until now is good for a while longer."""
    rotated = yard.client.rotate_hook(_id_of(hook, yard=yard), secret=secret_of(secret), overlap=overlap)
    if yard.json:
        output.say_json(rotated)
        return
    output.say(f"Secret:  {rotated.secret}" if secret is None else GIVEN)
    until = rotated.previous_secret_until
    end = "no more" if until is None else f"until {until:%Y-%m-%d %H:%M} UTC"
    output.note(f"The one before is good {end}.")


@app.command("rm")
@expanded
def remove(hook: HookArgument, yard: Yard) -> None:
    """Remove a hook. Nothing more comes in by it; its tasks stay."""
    removed = yard.client.delete_hook(_id_of(hook, yard=yard))
    yard.answer(removed, f"{hook} is removed.")


def _id_of(hook: str, *, yard: Yard) -> str:
    """Behind a name. What is none is taken for an id."""
    named = [known.id for known in yard.client.hooks() if known.name == hook]
    if len(named) > 1:
        # An older hub took them.
        raise typer.BadParameter(f"{len(named)} have this name; give the id: {', '.join(named)}", param_hint="HOOK")
    return named[0] if named else hook
