"""`taskyard template`: reusable definitions of tasks."""

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taskyard.cli import output, times
from taskyard.cli.inputs import json_object_of, pairs_of
from taskyard.cli.options import ListsByDefault, Yard, expanded
from taskyard.cli.schedule_options import ModelOption, PriorityOption, TaskFileOption, TypeOption, level_of

if TYPE_CHECKING:
    from datetime import datetime

    from taskyard.sdk.templates import TemplateRecord

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What the template is called.")]


@dataclasses.dataclass
class TemplateOptions:
    """The task, and what is put in its places."""

    input: Annotated[
        str | None, typer.Option("--input", metavar="TEXT", help="The task's input; {{key}} is a place in it.")
    ] = None
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Its title, with places too.")] = None
    type: TypeOption = None
    model: ModelOption = None
    priority: PriorityOption = None
    task: TaskFileOption = None
    default: Annotated[
        list[str] | None,
        typer.Option("--default", metavar="KEY=VALUE", help="Of a place. May be given several times."),
    ] = None

    def whole_task(self) -> dict[str, Any]:
        """What the file says, and over it what was named."""
        named = {"input": self.input, "title": self.title, "type": self.type, "model": self.model}
        said = {**named, "priority": level_of(self.priority)}
        file = {} if self.task is None else json_object_of(self.task, option="--task")
        whole = file | {name: value for name, value in said.items() if value is not None}
        if not whole:
            raise typer.BadParameter("say what task the template makes", param_hint="--input or --task")
        return whole


app = typer.Typer(cls=ListsByDefault, help="Templates: tasks to be filled in and submitted.", rich_markup_mode=None)


@app.command("ls")
@expanded
def ls(yard: Yard) -> None:
    """List the templates. This is what `template` alone does."""
    from taskyard.sdk.clock import now

    found = yard.client.templates()
    if yard.json:
        output.say_json(found)
    elif found:
        at = now()
        output.table(("NAME", "PLACES", "CHANGED", "TASK"), [_row(template, at) for template in found])
    else:
        output.note("There are no templates. Make one with: taskyard template add NAME --input 'Review {{what}}'")


def _row(template: "TemplateRecord", at: "datetime") -> tuple[str, ...]:
    says = template.task.get("title") or template.task.get("input") or "-"
    return template.name, ", ".join(template.places) or "-", times.relative(template.changed_at, at), str(says)


@app.command("show")
@expanded
def show(name: NameArgument, yard: Yard) -> None:
    """Show a template: its task, its places and their defaults."""
    found = yard.client.template(name)
    if yard.json:
        output.say_json(found)
        return
    needed = [place for place in found.places if place not in found.defaults]
    output.say(f"{found.name} has {_listed(found.places)}; a submission sets {_listed(needed)}.")
    for key, value in found.defaults.items():
        output.say(f"{key} is {value} unless it is set.")
    output.say(output.indented(found.task))


def _listed(places: list[str]) -> str:
    return ", ".join(places) or "no places"


@app.command("add")
@expanded
def add(
    name: NameArgument,
    yard: Yard,
    *,
    options: TemplateOptions,
    replace: Annotated[bool, typer.Option("--replace", help="Change the one that has the name.")] = False,
) -> None:
    """Make a template. Hand in its tasks with: taskyard submit --template NAME --set KEY=VALUE"""
    task, defaults = options.whole_task(), pairs_of(options.default, option="--default")
    client = yard.client
    made = (client.put_template if replace else client.add_template)(name, task, defaults=defaults)
    sets = "".join(f" --set {place}=…" for place in made.places if place not in made.defaults)
    yard.answer(made, f"Hand in a task with: taskyard submit --template {made.name}{sets}")


@app.command("rm")
@expanded
def remove(name: NameArgument, yard: Yard) -> None:
    """Remove a template. Tasks, schedules and webhooks that were made from it stay."""
    removed = yard.client.delete_template(name)
    yard.answer(removed, f"{name} is removed.")
