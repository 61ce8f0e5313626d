"""`taskyard report`: the morning after. What ran, what came of it, what needs a person.

The report is put into sections once; what a terminal, Markdown and HTML differ in is how they are written. Everything
in it was said by agents and strangers, so each form escapes all of it.
"""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from html import escape
from typing import TYPE_CHECKING, Annotated, Final

import typer
from msgspec import Struct

from taskyard.cli import output, times
from taskyard.cli.neutral import neutral, one_line
from taskyard.cli.options import Yard, expanded

if TYPE_CHECKING:
    from taskyard.wire.report import DoneAnswer, FailedAnswer, ReportAnswer, WaitingAnswer

LINE_CHARS: Final = 400
_MARKS: Final = re.compile(r"([\\`*_{}\[\]()<>#+!|~&$-])")


class Format(StrEnum):
    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


class Item(Struct):
    text: str
    notes: list[str] = []


class Section(Struct):
    title: str
    items: list[Item]
    otherwise: str
    """What is said if there are none."""


SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="WHEN", help="How long ago (8h, 1d), or a date and time [12h].")
]
FormatOption = Annotated[Format, typer.Option("--format", help="How to write it.")]


@expanded
def report(yard: Yard, since: SinceOption = None, *, format: FormatOption = Format.TEXT) -> None:
    """Say what happened since: done, failed, waiting, hours used, what needs a person."""
    from taskyard.sdk.clock import now

    at = None
    if since is not None:
        try:
            at = instant_since(since, now())
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--since") from error
    found = yard.client.report(since=None if at is None else at.isoformat())
    if yard.json or format is Format.JSON:
        output.say_json(found)
    else:
        output.say(WRITERS[format](heading_of(found), sections_of(found)))


def instant_since(text: str, now: datetime) -> datetime:
    """A duration back from now, or a date and time."""
    try:
        return now - timedelta(seconds=times.seconds_of(text))
    except OverflowError:
        raise ValueError(f"{text!r} is longer ago than any calendar goes") from None
    except ValueError:
        return times.instant_of(text, now)


# What is said.


def heading_of(found: "ReportAnswer") -> str:
    return f"Since {found.since:%Y-%m-%d %H:%M} until {found.until:%Y-%m-%d %H:%M} UTC, for {found.user}"


def sections_of(found: "ReportAnswer") -> list[Section]:
    needs = [Item(one.what, [one.do]) for one in found.needs_person]
    return [
        Section("Needs a person", needs, "Nothing."),
        Section(f"Done ({found.done_total:,})", [_done(one) for one in found.done], "Nothing was completed."),
        Section(f"Failed ({found.failed_total:,})", [_failed(one) for one in found.failed], "Nothing failed."),
        Section(f"Waiting ({found.waiting_total:,})", [_waiting(one) for one in found.waiting], "Nothing waits."),
        Section("In numbers", [Item(line) for line in _numbers(found)], ""),
    ]


def _done(one: "DoneAnswer") -> Item:
    took = "" if one.took_s is None else f" ({times.span(one.took_s)})"
    partly = " in part" if one.result_status == "partial" else ""
    notes = [] if one.summary is None else [one.summary]
    if one.files_changed:
        notes.append(f"Changed: {', '.join(one.files_changed)}")
    return Item(f"{one.ref} {one.title}{partly}{took}", notes)


def _failed(one: "FailedAnswer") -> Item:
    alike = f"{one.tasks:,} × " if one.tasks > 1 else ""
    where = f", all on {one.same_daemon}" if one.same_daemon and one.tasks > 1 else ""
    return Item(f"{alike}{one.code}: {one.message}", [f"{', '.join(one.refs)}{where}; pattern {one.fingerprint}"])


def _waiting(one: "WaitingAnswer") -> Item:
    notes = [] if one.would_help is None else [f"Would help: {one.would_help}"]
    return Item(f"{one.tasks:,}: {one.reason} ({', '.join(one.refs)})", notes)


def _numbers(found: "ReportAnswer") -> Iterable[str]:
    limit = "" if found.month_hours_limit is None else f" of {found.month_hours_limit:g}"
    yield f"{found.hours:g} hours of agents' time; {found.month_hours:g}{limit} this month"
    yield f"{found.running:,} running, {found.cancelled:,} cancelled, {found.skipped:,} skipped, {found.stale:,} stale"
    if found.truncated:
        yield "There was more than is looked at; the oldest tasks are not counted."


# How it is written.


def as_text(heading: str, sections: list[Section]) -> str:
    lines = [heading]
    for section in sections:
        lines += ["", section.title]
        lines += [] if section.items or not section.otherwise else [f"  {section.otherwise}"]
        for item in section.items:
            lines.append(f"  {one_line(item.text, chars_max=LINE_CHARS)}")
            lines += [f"      {one_line(note, chars_max=LINE_CHARS)}" for note in item.notes]
    return "\n".join(lines)


def as_markdown(heading: str, sections: list[Section]) -> str:
    lines = ["# Report", "", _marked(heading)]
    for section in sections:
        lines += ["", f"## {_marked(section.title)}", ""]
        lines += [] if section.items or not section.otherwise else [section.otherwise]
        for item in section.items:
            lines.append(f"- {_marked(item.text)}")
            lines += [f"    - {_marked(note)}" for note in item.notes]
    return "\n".join(lines)


def as_html(heading: str, sections: list[Section]) -> str:
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        "<title>Report</title><style>body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto}</style></head>",
        f"<body><h1>Report</h1><p>{_escaped(heading)}</p>",
    ]
    for section in sections:
        parts.append(f"<h2>{_escaped(section.title)}</h2>")
        if not section.items and section.otherwise:
            parts.append(f"<p>{_escaped(section.otherwise)}</p>")
        items = [
            f"<li>{_escaped(item.text)}{''.join(f'<br>{_escaped(note)}' for note in item.notes)}</li>"
            for item in section.items
        ]
        parts += ["<ul>", *items, "</ul>"] if items else []
    return "\n".join([*parts, "</body></html>"])


def _marked(text: str) -> str:
    """Nothing in it is a mark, a link or the beginning of another line; numbers at the front are no list."""
    escaped = _MARKS.sub(r"\\\1", one_line(text, chars_max=LINE_CHARS))
    return re.sub(r"^(\d+)\.", r"\1\\.", escaped)


def _escaped(text: str) -> str:
    return escape(neutral(one_line(text, chars_max=LINE_CHARS)))


WRITERS: Final = {Format.TEXT: as_text, Format.MARKDOWN: as_markdown, Format.HTML: as_html}
