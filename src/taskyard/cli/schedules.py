"""`taskyard schedule`: tasks that come again and again, by the clock or by the calendar."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from taskyard.cli import output, times
from taskyard.cli.options import ListsByDefault, Yard, expanded
from taskyard.cli.schedule_options import CronOption, EveryOption, PresetOption, ScheduleOptions, ZoneOption, times_of
from taskyard.vocabulary import EVERYBODY

if TYPE_CHECKING:
    from datetime import datetime

    from taskyard.sdk.schedules import RunRecord, ScheduleRecord

ScheduleArgument = Annotated[str, typer.Argument(metavar="SCHEDULE", help="Its name or its id.")]
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
        headers: tuple[str, ...] = ("NAME", "WHEN", "NEXT", "LAST", "OUTCOME", "RUNS", "SKIPPED")
        rows = [_row(schedule, at) for schedule in found]
        if yard.user == EVERYBODY:
            names = {user.id: user.name for user in yard.client.users()}
            owners = [names.get(schedule.user_id, schedule.user_id) for schedule in found]
            headers, rows = ("USER", *headers), [(owner, *row) for owner, row in zip(owners, rows, strict=True)]
        output.table(headers, rows)
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
        because = _because(skip.reason, skip.code)
        output.say(f"Skipped:  {found.skipped}; the last one {times.relative(skip.at, at)}: {because}")
    latest = "" if found.max_lateness is None else f", none later than {times.span(found.max_lateness)}"
    output.say(f"Missed runs made up: {found.catch_up}{latest}")
    if found.probe is not None:
        output.say(f"Probe: {output.indented(found.probe)}")
    output.say(output.indented(found.task))


@app.command("add")
@expanded
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    yard: Yard,
    options: ScheduleOptions,
    *,
    paused: PausedOption = False,
) -> None:
    """Make a schedule: a heartbeat (--every), or one by the calendar (--cron, --preset)."""
    made = yard.client.add_schedule(
        name,
        options.whole_task(),
        **options.times(yard.client),
        **options.terms(),
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
    options: ScheduleOptions,
    no_probe: Annotated[bool, typer.Option("--no-probe", help="Make the task each time, without asking.")] = False,
) -> None:
    """Change a schedule. What is not named stays; the rest holds at once."""
    terms = options.terms()
    if no_probe and terms["probe"] is not None:
        raise typer.BadParameter("it contradicts the probe that is named", param_hint="--no-probe")
    changes: dict[str, Any] = {"name": name, "timezone": options.timezone, **terms}
    if options.says_when:
        changes |= options.times(yard.client)
    if options.says_what:
        changes["task"] = options.whole_task(lambda: yard.client.schedule(schedule).task)
    wanted = {field: value for field, value in changes.items() if value is not None}
    if no_probe:
        wanted["probe"] = None
    if not wanted:
        raise typer.BadParameter("say what to change", param_hint="--every, --cron, --timezone, --input or --task")
    _tell(yard.client.change_schedule(schedule, **wanted), yard=yard)


@app.command("pause")
@expanded
def pause(schedule: ScheduleArgument, yard: Yard) -> None:
    """Let a schedule rest; what it made goes on."""
    found = yard.client.change_schedule(schedule, enabled=False)
    yard.answer(found, f"{found.name} is paused.")


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
    yard.answer(task, f"{task.ref} is {task.status}.")


@app.command("rm")
@expanded
def rm(schedule: ScheduleArgument, yard: Yard) -> None:
    """Remove a schedule; what it made goes on."""
    done = yard.client.delete_schedule(schedule)
    yard.answer(done, f"{schedule} is gone.")


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
        if every or cron or preset:
            raise typer.BadParameter("a schedule has its own times", param_hint="--every, --cron or --preset")
        written = yard.client.schedule(schedule)
        zone = timezone or written.timezone
        found = yard.client.next_runs(schedule, count=count)
        if not written.enabled:
            output.note(f"{written.name} is paused; these are the runs it would have.")
    else:
        from taskyard.wire.schedules import without_zone

        zone = timezone or without_zone(cron or "")[1] or "UTC"
        asked = times_of(yard.client, every=every, cron=cron, preset=preset, timezone=timezone)
        found = yard.client.preview_schedule(**asked, count=count)
    if yard.json:
        output.say_json(found)
        return
    place = _zone(zone)
    for at in found:
        output.say(f"{at.astimezone(place):%a %Y-%m-%d %H:%M:%S %Z}")


@app.command("runs")
@expanded
def runs(schedule: ScheduleArgument, yard: Yard) -> None:
    """List what became of a schedule's last due runs, newest first."""
    found = yard.client.schedule_runs(schedule)
    if yard.json:
        output.say_json(found)
    elif found:
        place = _zone(yard.client.schedule(schedule).timezone)
        output.table(
            ("DUE", "TASK", "STATUS"),
            [
                (f"{run.due_at.astimezone(place):%Y-%m-%d %H:%M:%S %Z}", run.ref or run.task_id or "-", _became(run))
                for run in found
            ],
        )
    else:
        output.note(f"{schedule} has not been due yet.")


def _became(run: "RunRecord") -> str:
    if run.reason is None:
        return run.status or "-"
    times_skipped = f" {run.count} times" if run.count > 1 else ""
    return f"skipped{times_skipped}: {_because(run.reason, run.code)}"


def _because(reason: str, code: str | None) -> str:
    return reason.replace("_", " ") + (f", {code}" if code else "")


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


def _zone(name: str) -> Any:
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)
