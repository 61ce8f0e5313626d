"""`taskyard dlq`: the tasks that failed for good, and a person's verdict on them."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from taskyard.cli import output, times
from taskyard.cli.neutral import one_line
from taskyard.cli.options import Yard, expanded
from taskyard.cli.tasks import show, told
from taskyard.vocabulary import Verdict

if TYPE_CHECKING:
    from taskyard.sdk.records import AuditEntry
    from taskyard.sdk.task import Task

app = typer.Typer(
    help="Dead letters: tasks that failed for good.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("show", help="Show all about one dead letter.")(show)

LetterArgument = Annotated[str | None, typer.Argument(metavar="TASK", help="The task's ref or id.")]
PatternOption = Annotated[
    str | None, typer.Option("--pattern", metavar="FINGERPRINT", help="All dead letters of this pattern.")
]
VerdictReason = Annotated[str, typer.Option("--reason", help="Why; kept with the verdict, and required.")]


@app.command("ls")
@expanded
def ls(yard: Yard, pattern: PatternOption = None) -> None:
    """List dead letters, with how many failed the same way."""
    from taskyard.sdk.clock import now

    letters = list(yard.client.dead_letters(fingerprint=pattern))
    if yard.json:
        output.say_json(letters)
    elif letters:
        at = now()
        rows = [_row(letter, times.relative(letter.completed_at or letter.created_at, at)) for letter in letters]
        output.table(("REF", "TYPE", "FAILED", "ALIKE", "PATTERN", "ERROR"), rows)
    else:
        output.note("No dead letters.")


def _row(letter: "Task", failed: str) -> tuple[str, ...]:
    pattern = letter.pattern
    alike = "-" if pattern is None else str(pattern.same_error)
    if pattern is not None and pattern.same_daemon:
        alike = f"{alike} on {pattern.same_daemon}"
    reason = letter.failure_reason or (letter.error.message if letter.error else "-")
    fingerprint = "-" if pattern is None else pattern.fingerprint
    return (letter.ref, letter.type, failed, alike, fingerprint, one_line(reason, chars_max=80))


@app.command("retry")
@expanded
def retry(yard: Yard, reason: VerdictReason, task: LetterArgument = None, pattern: PatternOption = None) -> int:
    """Try again, with all attempts anew."""
    return _review(yard, Verdict.RETRY, task=task, pattern=pattern, reason=reason)


UntilOption = Annotated[str, typer.Option("--until", metavar="WHEN", help="2h, 1d, or a date and time.")]


@app.command("wait")
@expanded
def wait(
    yard: Yard,
    until: UntilOption,
    reason: VerdictReason,
    task: LetterArgument = None,
    pattern: PatternOption = None,
) -> int:
    """Try again at a later time."""
    from taskyard.sdk.clock import now

    try:
        at = times.instant_of(until, now())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--until") from None
    return _review(yard, Verdict.WAIT, task=task, pattern=pattern, reason=reason, until=at)


@app.command("discard")
@expanded
def discard(yard: Yard, reason: VerdictReason, task: LetterArgument = None, pattern: PatternOption = None) -> int:
    """Give up; what depends on it is cancelled too."""
    return _review(yard, Verdict.DISCARD, task=task, pattern=pattern, reason=reason)


ToOption = Annotated[str, typer.Option("--to", help="Whom to ask.")]


@app.command("escalate")
@expanded
def escalate(
    yard: Yard,
    to: ToOption,
    reason: VerdictReason,
    task: LetterArgument = None,
    pattern: PatternOption = None,
) -> int:
    """Hand it to somebody else; it stays a dead letter."""
    return _review(yard, Verdict.ESCALATE, task=task, pattern=pattern, reason=reason, to=to)


DateOption = Annotated[
    str | None, typer.Option("--date", metavar="DAY", help="Of which day in UTC, as 2026-11-19; today if left out.")
]


@app.command("log")
@expanded
def log(yard: Yard, date: DateOption = None) -> None:
    """List the verdicts of a day, with who gave each and why."""
    from datetime import date as calendar

    from taskyard.sdk.clock import now

    try:
        day = now().date() if date is None else calendar.fromisoformat(date)
    except ValueError:
        raise typer.BadParameter(f"{date} is no day; write it as 2026-11-19", param_hint="--date") from None
    entries = yard.client.reviews(day)
    if yard.json:
        output.say_json(entries)
    elif entries:
        output.table(("AT", "TASK", "VERDICT", "BY", "REASON"), [_verdict_row(entry) for entry in entries])
    else:
        output.note(f"No verdicts on {day}.")


def _verdict_row(entry: "AuditEntry") -> tuple[str, ...]:
    verdict = entry.action.removeprefix("dead_letter.")
    until = "" if entry.until is None else f" until {entry.until:%Y-%m-%d %H:%M}"
    reason = one_line(str(entry.new), chars_max=80)
    return (f"{entry.at:%H:%M:%S}", entry.subject, f"{verdict}{until}", entry.actor, reason)


def _review(yard: Yard, verdict: Verdict, *, task: str | None, pattern: str | None, **terms: Any) -> int:
    if (task is None) == (pattern is None):
        raise typer.BadParameter("give one task, or --pattern for all that failed alike", param_hint="TASK")
    if task is not None:
        reviewed = told(yard.client.review(task, verdict, **terms), yard=yard)
        if yard.json:
            output.say_json(reviewed)
        return 0
    outcome = yard.client.review_pattern(pattern or "", verdict, **terms)
    if yard.json:
        output.say_json(outcome)
    else:
        rejected = f", {len(outcome.rejected)} could not be" if outcome.rejected else ""
        output.say(f"{verdict}: {len(outcome.reviewed)} reviewed{rejected}.")
    return 1 if outcome.rejected or not outcome.reviewed else 0
