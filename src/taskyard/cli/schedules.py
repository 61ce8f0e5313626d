"""`taskyard schedule`: tasks that come again and again, by the clock or by the calendar."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

from taskyard.cli import output, times
from taskyard.cli.options import ListsByDefault, Yard, expanded

if TYPE_CHECKING:
    from datetime import datetime

    from taskyard.sdk.schedules import ScheduleRecord

STANDARD_INPUT: Final = "-"
ScheduleArgument = Annotated[str, typer.Argument(metavar="SCHEDULE", help="Its name or its id.")]
EveryOption = Annotated[str | None, typer.Option("--every", metavar="SPAN", help="A heartbeat: 30s, 5m, 1h, 1d, 1w.")]
CronOption = Annotated[
    str | None,
    str | None,
    typer.Option("--cron", metavar="FIELDS", help="Five fields: '0 9 * * 1-5' is 9:00 on weekdays."),
]
PresetOption = Annotated[
    str | None, typer.Option("--preset", metavar="NAME", help="every-5-minutes, hourly, daily or weekly.")
]
ZoneOption = Annotated[
    str | None, typer.Option("--timezone", metavar="ZONE", help="Whose clocks count, such as Europe/Paris [UTC].")
]
InputOption = Annotated[str | None, typer.Option("--input", metavar="TEXT", help="The input of the task of each run.")]
TitleOption = Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Its title.")]
TypeOption = Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Its type [general].")]
ModelOption = Annotated[str | None, typer.Option("--model", metavar="MODEL", help="The model it asks for.")]
PriorityOption = Annotated[str | None, typer.Option("--priority", metavar="LEVEL", help="Its priority [normal].")]
TaskOption = Annotated[
    str | None, typer.Option("--task", metavar="FILE", help="A JSON file with the whole task; - is standard input.")
]
CatchUpOption = Annotated[
    str | None,
    typer.Option("--catch-up", metavar="HOW", help="Which missed runs are made up: one, none or all [one]."),
]
LatenessOption = Annotated[
    str | None, typer.Option("--max-lateness", metavar="SPAN", help="A run that comes later than this is not made.")
]
ProbeUrlOption = Annotated[
    str | None,
    typer.Option("--probe-url", metavar="URL", help="Make the task only if this address answers that there is work."),
]
ProbeTypeOption = Annotated[
    str | None,
    typer.Option("--probe-type", metavar="TYPE", help="Make it only if a task of this type finds that there is work."),
]
ProbeInputOption = Annotated[str, typer.Option("--probe-input", metavar="TEXT", help="The input of that task.")]
PausedOption = Annotated[bool, typer.Option("--paused", help="Write it down, and let it wait for `schedule resume`.")]
CountOption = Annotated[int, typer.Option("--count", "-n", min=1, max=100, help="How many.")]

app = typer.Typer(cls=ListsByDefault, help="Schedules: tasks that come again and again.", rich_markup_mode=None)


@app.command("ls")
@expanded
def ls(yard: Yard) -> None:
    """List the schedules. This is what `schedule` alone does."""
    from taskyard.sdk.clock import now

    found = yard.client.schedules()
    if yard.json:
        output.say_json(found)
    elif found:
        at = now()
        headers = ("NAME", "WHEN", "NEXT", "LAST", "OUTCOME", "RUNS", "SKIPPED")
        output.table(headers, [_row(schedule, at) for schedule in found])
    else:
        output.note("There are no schedules. Make one with: taskyard schedule add NAME --every 1h --input TEXT")


def _row(schedule: "ScheduleRecord", at: "datetime") -> tuple[str, ...]:
    return (
        schedule.name,
        _when(schedule),
        times.relative(schedule.next_run_at, at) if schedule.enabled else "paused",
        times.relative(schedule.last_run_at, at),
        _outcome(schedule),
        str(schedule.runs),
        str(schedule.skipped),
    )


def _when(schedule: "ScheduleRecord") -> str:
    return f"every {schedule.every}" if schedule.every else f"{schedule.cron} ({schedule.timezone})"


def _outcome(schedule: "ScheduleRecord") -> str:
    if schedule.last_run_at is None:
        return "-"
    return schedule.last_outcome or "unfinished"


@app.command("show")
@expanded
def show(schedule: ScheduleArgument, yard: Yard) -> None:
    """Show a schedule: when it runs, what it makes, and what became of it."""
    from taskyard.sdk.clock import now

    found = yard.client.schedule(schedule)
    if yard.json:
        output.say_json(found)
        return
    at = now()
    output.say(f"{found.name}, {_when(found)}, {found.id}")
    output.say(f"Next run: {times.relative(found.next_run_at, at) if found.enabled else 'it is paused'}")
    output.say(f"Last run: {times.relative(found.last_run_at, at)} ({_outcome(found)}), {found.runs} in all")
    skip = found.last_skip
    if skip is not None:
        because = skip.reason.replace("_", " ") + (f", {skip.code}" if skip.code else "")
        output.say(f"Skipped:  {found.skipped}; the last one {times.relative(skip.at, at)}: {because}")
    output.say(f"Missed runs made up: {found.catch_up}")
    if found.probe is not None:
        output.say(f"Probe: {_json(found.probe)}")
    output.say(_json(found.task))


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


@app.command("add")
@expanded
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    yard: Yard,
    *,
    every: EveryOption = None,
    cron: CronOption = None,
    preset: PresetOption = None,
    timezone: ZoneOption = None,
    input: InputOption = None,
    title: TitleOption = None,
    type: TypeOption = None,
    model: ModelOption = None,
    priority: PriorityOption = None,
    task: TaskOption = None,
    catch_up: CatchUpOption = None,
    max_lateness: LatenessOption = None,
    probe_url: ProbeUrlOption = None,
    probe_type: ProbeTypeOption = None,
    probe_input: ProbeInputOption = "",
    paused: PausedOption = False,
) -> None:
    """Make a schedule: a heartbeat (--every), or one by the calendar (--cron, --preset)."""
    said = {"input": input, "title": title, "type": type, "model": model, "priority": _level(priority)}
    made = yard.client.add_schedule(
        name,
        _task_of(task, said),
        **_times_of(yard, every=every, cron=cron, preset=preset),
        timezone=timezone,
        catch_up=catch_up,
        max_lateness=None if max_lateness is None else _seconds(max_lateness),
        probe=_probe_of(probe_url, probe_type, probe_input),
        enabled=False if paused else None,
    )
    _tell(made, yard=yard)


@app.command("set")
@expanded
def set_schedule(
    schedule: ScheduleArgument,
    yard: Yard,
    *,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Another name.")] = None,
    every: EveryOption = None,
    cron: CronOption = None,
    preset: PresetOption = None,
    timezone: ZoneOption = None,
    task: TaskOption = None,
    catch_up: CatchUpOption = None,
    max_lateness: LatenessOption = None,
    probe_url: ProbeUrlOption = None,
    probe_type: ProbeTypeOption = None,
    probe_input: ProbeInputOption = "",
    no_probe: Annotated[bool, typer.Option("--no-probe", help="Make the task each time, without asking.")] = False,
) -> None:
    """Change a schedule. What is not named stays; the rest holds at once."""
    changes: dict[str, Any] = {
        "name": name,
        "timezone": timezone,
        "catch_up": catch_up,
        "max_lateness": None if max_lateness is None else _seconds(max_lateness),
        "task": None if task is None else _task_of(task, {}),
        "probe": _probe_of(probe_url, probe_type, probe_input),
    }
    if every or cron or preset:
        changes |= _times_of(yard, every=every, cron=cron, preset=preset)
    wanted = {field: value for field, value in changes.items() if value is not None}
    if no_probe:
        wanted["probe"] = None
    if not wanted:
        raise typer.BadParameter("say what to change", param_hint="--every, --cron, --timezone or --task")
    _tell(yard.client.change_schedule(schedule, **wanted), yard=yard)


@app.command("pause")
@expanded
def pause(schedule: ScheduleArgument, yard: Yard) -> None:
    """Let a schedule rest; what it made goes on."""
    found = yard.client.change_schedule(schedule, enabled=False)
    output.say_json(found) if yard.json else output.say(f"{found.name} is paused.")


@app.command("resume")
@expanded
def resume(schedule: ScheduleArgument, yard: Yard) -> None:
    """Let a schedule go on. What came due meanwhile is not made up."""
    _tell(yard.client.change_schedule(schedule, enabled=True), yard=yard)


@app.command("run")
@expanded
def run(schedule: ScheduleArgument, yard: Yard) -> None:
    """Run a schedule now, whatever is due when."""
    task = yard.client.run_schedule(schedule)
    output.say_json(task) if yard.json else output.say(f"{task.ref} is {task.status}.")


@app.command("rm")
@expanded
def rm(schedule: ScheduleArgument, yard: Yard) -> None:
    """Remove a schedule; what it made goes on."""
    done = yard.client.delete_schedule(schedule)
    output.say_json(done) if yard.json else output.say(f"{schedule} is gone.")


@app.command("next")
@expanded
def next_runs(
    yard: Yard,
    *,
    schedule: Annotated[str | None, typer.Argument(metavar="[SCHEDULE]", help="Its name or its id.")] = None,
    every: EveryOption = None,
    cron: CronOption = None,
    preset: PresetOption = None,
    timezone: ZoneOption = None,
    count: CountOption = 5,
) -> None:
    """Say when a schedule runs next, on its own clocks; with --cron or --every, when one would."""
    if schedule is not None:
        zone = timezone or yard.client.schedule(schedule).timezone
        found = yard.client.next_runs(schedule, count=count)
    else:
        zone = timezone or "UTC"
        found = yard.client.preview_schedule(
            **_times_of(yard, every=every, cron=cron, preset=preset), timezone=zone, count=count
        )
    if yard.json:
        output.say_json(found)
        return
    place = _zone(zone)
    for at in found:
        output.say(f"{at.astimezone(place):%a %Y-%m-%d %H:%M:%S %Z}")


@app.command("presets")
@expanded
def presets(yard: Yard) -> None:
    """List the times that many schedules go by."""
    found = yard.client.schedule_presets()
    if yard.json:
        output.say_json(found)
    else:
        output.table(("NAME", "WHEN", ""), [(each.name, each.every or each.cron or "", each.title) for each in found])


def _tell(schedule: "ScheduleRecord", *, yard: Yard) -> None:
    from taskyard.sdk.clock import now

    if yard.json:
        output.say_json(schedule)
        return
    if schedule.enabled:
        output.say(f"{schedule.name} runs {_when(schedule)}, next {times.relative(schedule.next_run_at, now())}.")
    else:
        output.say(f"{schedule.name} is paused; let it go on with: taskyard schedule resume {schedule.name}")


def _times_of(yard: Yard, *, every: str | None, cron: str | None, preset: str | None) -> dict[str, str]:
    given = {"every": every, "cron": cron}
    if preset is not None:
        known = {each.name: {"every": each.every, "cron": each.cron} for each in yard.client.schedule_presets()}
        if preset not in known:
            raise typer.BadParameter(f"known are {', '.join(known)}", param_hint="--preset")
        given = known[preset] | {name: value for name, value in given.items() if value is not None}
    chosen = {name: value for name, value in given.items() if value is not None}
    if len(chosen) != 1:
        raise typer.BadParameter("say when it runs, in one way", param_hint="--every, --cron or --preset")
    return chosen


def _task_of(file: str | None, said: dict[str, Any]) -> dict[str, Any]:
    task: dict[str, Any] = {}
    if file is not None:
        try:
            text = sys.stdin.read() if file == STANDARD_INPUT else Path(file).read_text(encoding="utf-8")
            task = msgspec.json.decode(text, type=dict[str, Any])
        except (OSError, msgspec.DecodeError) as error:
            raise typer.BadParameter(f"{file} holds no JSON object: {error}", param_hint="--task") from None
    task |= {name: value for name, value in said.items() if value is not None}
    if not task:
        raise typer.BadParameter("say what task a run makes", param_hint="--input or --task")
    return task


def _probe_of(url: str | None, type: str | None, input: str) -> dict[str, Any] | None:
    if url is not None:
        return {"url": url}
    return None if type is None else {"task": {"type": type, "input": input}}


def _level(text: str | None) -> str | int | None:
    return int(text) if text is not None and text.isdecimal() else text


def _seconds(text: str) -> float:
    try:
        return times.seconds_of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--max-lateness") from None


def _zone(name: str) -> Any:
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)
