"""The options of `taskyard schedule`, and the bodies they stand for. What contradicts itself is wrong use."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taskyard.cli.inputs import json_object_of

if TYPE_CHECKING:
    from taskyard.sdk.client import Client


EveryOption = Annotated[str | None, typer.Option("--every", metavar="SPAN", help="A heartbeat: 30s, 5m, 1h, 1d, 1w.")]
CronOption = Annotated[
    str | None,
    typer.Option("--cron", metavar="FIELDS", help="Five fields or a nickname: '0 9 * * mon-fri', '@daily'."),
]
PresetOption = Annotated[
    str | None, typer.Option("--preset", metavar="NAME", help="every-5-minutes, hourly, daily or weekly.")
]
ZoneOption = Annotated[
    str | None, typer.Option("--timezone", metavar="ZONE", help="Whose clocks count, such as Europe/Paris [UTC].")
]
# Of the task itself.
TypeOption = Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Its type [general].")]
ModelOption = Annotated[str | None, typer.Option("--model", metavar="MODEL", help="The model it asks for.")]
PriorityOption = Annotated[str | None, typer.Option("--priority", metavar="LEVEL", help="Its priority [normal].")]
TaskFileOption = Annotated[
    str | None, typer.Option("--task", metavar="FILE", help="A JSON file with the whole task; - is standard input.")
]


@dataclasses.dataclass
class ScheduleOptions:
    """What a schedule is made of, and what of it can be changed."""

    every: EveryOption = None
    cron: CronOption = None
    preset: PresetOption = None
    timezone: ZoneOption = None
    input: Annotated[str | None, typer.Option("--input", metavar="TEXT", help="The input of the task of each run.")] = (
        None
    )
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Its title.")] = None
    type: TypeOption = None
    model: ModelOption = None
    priority: PriorityOption = None
    task: TaskFileOption = None
    catch_up: Annotated[
        str | None,
        typer.Option("--catch-up", metavar="HOW", help="Which missed runs are made up: one, none or all [one]."),
    ] = None
    max_lateness: Annotated[
        str | None, typer.Option("--max-lateness", metavar="SPAN", help="A run that comes later than this is not made.")
    ] = None
    probe_url: Annotated[
        str | None,
        typer.Option(
            "--probe-url", metavar="URL", help="Make the task only if this address answers that there is work."
        ),
    ] = None
    probe_type: Annotated[
        str | None,
        typer.Option(
            "--probe-type", metavar="TYPE", help="Make it only if a task of this type finds that there is work."
        ),
    ] = None
    probe_input: Annotated[
        str | None, typer.Option("--probe-input", metavar="TEXT", help="The input of that task.")
    ] = None
    probe_timeout: Annotated[
        str | None, typer.Option("--probe-timeout", metavar="SPAN", help="How long a run waits for its probe [60s].")
    ] = None

    @property
    def says_when(self) -> bool:
        return bool(self.every or self.cron or self.preset)

    @property
    def says_what(self) -> bool:
        return self.task is not None or bool(self._said())

    def times(self, client: "Client") -> dict[str, str]:
        return times_of(client, every=self.every, cron=self.cron, preset=self.preset, timezone=self.timezone)

    def terms(self) -> dict[str, Any]:
        """How it deals with what comes late or may have nothing to do; None: nothing was said."""
        late = self.max_lateness
        return {
            "catch_up": self.catch_up,
            "max_lateness": None if late is None else seconds_of(late, "--max-lateness"),
            "probe": probe_of(
                url=self.probe_url, type=self.probe_type, input=self.probe_input, timeout=self.probe_timeout
            ),
        }

    def whole_task(self, known: Callable[[], dict[str, Any]] = dict) -> dict[str, Any]:
        """The task of each run: a file's, or else what is known, with what was said in place of what stands there."""
        task = known() if self.task is None else json_object_of(self.task, option="--task")
        whole = {**task, **self._said()}
        if not whole:
            raise typer.BadParameter("say what task a run makes", param_hint="--input or --task")
        return whole

    def _said(self) -> dict[str, Any]:
        named = {"input": self.input, "title": self.title, "type": self.type, "model": self.model}
        said = {**named, "priority": level_of(self.priority)}
        return {name: value for name, value in said.items() if value is not None}


def times_of(
    client: "Client", *, every: str | None, cron: str | None, preset: str | None, timezone: str | None
) -> dict[str, str]:
    """When it runs: `every` or `cron`, and the zone if one was named."""
    from taskyard.wire.fields import NAME_CHARS_MAX

    if cron is not None and len(cron) > NAME_CHARS_MAX:
        # Said here: a preview has it in its address, and one that is far too long is no HTTP.
        raise typer.BadParameter(f"the expression has more than {NAME_CHARS_MAX} characters", param_hint="--cron")
    given = {"every": every, "cron": cron}
    if preset is not None:
        known = {each.name: {"every": each.every, "cron": each.cron} for each in client.schedule_presets()}
        if preset not in known:
            raise typer.BadParameter(f"known are {', '.join(known)}", param_hint="--preset")
        given = known[preset] | {name: value for name, value in given.items() if value is not None}
    chosen = {name: value for name, value in given.items() if value is not None}
    if len(chosen) != 1:
        raise typer.BadParameter("say when it runs, in one way", param_hint="--every, --cron or --preset")
    if timezone is None:
        return chosen
    if "every" in chosen:
        raise typer.BadParameter("a heartbeat goes by elapsed time, in every zone the same", param_hint="--timezone")
    return chosen | {"timezone": timezone}


def probe_of(*, url: str | None, type: str | None, input: str | None, timeout: str | None) -> dict[str, Any] | None:
    if url is not None and type is not None:
        raise typer.BadParameter("a probe is either an address or a task", param_hint="--probe-url or --probe-type")
    if input is not None and type is None:
        raise typer.BadParameter("it is the input of a probe's task: name its --probe-type", param_hint="--probe-input")
    if url is None and type is None:
        if timeout is not None:
            raise typer.BadParameter("name the probe too: --probe-url or --probe-type", param_hint="--probe-timeout")
        return None
    asked: dict[str, Any] = {"url": url} if url is not None else {"task": {"type": type, "input": input or ""}}
    return asked if timeout is None else asked | {"timeout": seconds_of(timeout, "--probe-timeout")}


def level_of(text: str | None) -> str | int | None:
    return int(text) if text is not None and text.isdecimal() else text


def seconds_of(text: str, option: str) -> float:
    """Written like --every: every span of a schedule is."""
    from taskyard.wire.schedules import every_ms_of

    found = every_ms_of(text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is no span; write 30s, 5m, 1h, 1d or 1w", param_hint=option)
    return found / 1000
