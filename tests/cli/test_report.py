"""The report on a terminal, in Markdown, in HTML and for programs."""

import json
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

import pytest

from taskyard.cli.report import instant_since
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub

AT = "2026-03-05T07:00:00Z"
HOSTILE = "<script>alert(1)</script> [link](http://evil) *bold*\n# title \x1b[31m & `code` |x|"


def a_report(**fields: Any) -> Reply:
    done = {
        "ref": "T-001",
        "id": "id-1",
        "title": "Q1 sales",
        "type": "analysis",
        "summary": "up by 4 %",
        "result_status": "partial",
        "files_changed": ["a.py", "b.py"],
        "completed_at": AT,
        "took_s": 90.0,
    }
    failed = {
        "fingerprint": "f00d",
        "code": "BOOM",
        "message": "it broke",
        "tasks": 3,
        "refs": ["T-004", "T-003", "T-002"],
        "same_daemon": "mac",
        "last_at": AT,
    }
    waiting = {"reason": "No daemon is there.", "would_help": "a daemon", "tasks": 2, "refs": ["T-007"]}
    body = {
        "since": "2026-03-04T19:00:00Z",
        "until": AT,
        "user": "ann",
        "done": [done],
        "done_total": 1,
        "failed": [failed],
        "failed_total": 3,
        "cancelled": 1,
        "skipped": 0,
        "stale": 0,
        "running": 2,
        "waiting": [waiting],
        "waiting_total": 2,
        "hours": 3.25,
        "month_hours": 9.5,
        "month_hours_limit": 100.0,
        "needs_person": [{"what": "3 failed for good: BOOM: it broke", "do": "taskyard dlq retry --pattern f00d"}],
        "truncated": False,
    }
    return Reply(body={**body, **fields})


NOTHING: dict[str, Any] = {
    "done": [],
    "done_total": 0,
    "failed": [],
    "failed_total": 0,
    "waiting": [],
    "waiting_total": 0,
    "needs_person": [],
    "month_hours_limit": None,
    "truncated": True,
}


def test_a_terminal_gets_sections(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "report", a_report())
    assert cli("report").out == (
        "Since 2026-03-04 19:00 until 2026-03-05 07:00 UTC, for ann\n\n"
        "Needs a person\n"
        "  3 failed for good: BOOM: it broke\n"
        "      taskyard dlq retry --pattern f00d\n\n"
        "Done (1)\n"
        "  T-001 Q1 sales in part (1 min)\n"
        "      up by 4 %\n"
        "      Changed: a.py, b.py\n\n"
        "Failed (3)\n"
        "  3 × BOOM: it broke\n"
        "      T-004, T-003, T-002, all on mac; pattern f00d\n\n"
        "Waiting (2)\n"
        "  2: No daemon is there. (T-007)\n"
        "      Would help: a daemon\n\n"
        "In numbers\n"
        "  3.25 hours of agents' time; 9.5 of 100 this month\n"
        "  2 running, 1 cancelled, 0 skipped, 0 stale\n"
    )
    assert hub.calls[-1].query == {}


def test_a_quiet_night_is_said_in_each_form(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "report", a_report(**NOTHING))
    text, markdown, page = (cli("report", "--format", form).out for form in ("text", "markdown", "html"))
    for said in (text, markdown, page):
        assert "Nothing was completed." in said
        assert "the oldest tasks are not counted" in said
    assert "<p>Nothing failed.</p>" in page


def test_markdown_has_headings_and_lists_and_no_mark_of_a_strangers(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "report", a_report(needs_person=[{"what": HOSTILE, "do": "1. do\nthis"}]))
    said = cli("report", "--format", "markdown").out
    assert "\n## Done \\(1\\)\n\n- T\\-001 Q1 sales in part \\(1 min\\)\n    - up by 4 %\n" in said
    assert "- \\<script\\>alert\\(1\\)\\</script\\> \\[link\\]\\(http://evil\\) \\*bold\\* \\# title" in said
    assert "    - 1\\. do this\n" in said
    assert "\x1b" not in said


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_escapes_everything(hub: StubHub, cli: Cli) -> None:
    done = {"ref": "T-1", "id": "i", "title": HOSTILE, "type": "t", "summary": HOSTILE, "result_status": None}
    done |= {"files_changed": [HOSTILE], "completed_at": AT, "took_s": None}
    failed = {"fingerprint": HOSTILE, "code": HOSTILE, "message": HOSTILE, "tasks": 1, "refs": [HOSTILE]}
    failed |= {"same_daemon": HOSTILE, "last_at": AT}
    waiting = {"reason": HOSTILE, "would_help": HOSTILE, "tasks": 1, "refs": [HOSTILE]}
    everything = {"done": [done], "failed": [failed], "waiting": [waiting], "user": HOSTILE}
    hub.on("GET", "report", a_report(**everything, needs_person=[{"what": HOSTILE, "do": HOSTILE}]))
    page = Page()
    page.feed(cli("report", "--format", "html").out)
    allowed = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "ul", "li", "br"}
    assert set(page.tags) <= allowed
    assert "<script>alert(1)</script>" in page.text
    assert "\x1b" not in page.text


@pytest.mark.parametrize("arguments", [("--json",), ("--format", "json")])
def test_programs_get_all_of_it(hub: StubHub, cli: Cli, arguments: tuple[str, ...]) -> None:
    hub.on("GET", "report", a_report())
    assert json.loads(cli("report", *arguments).out)["failed"][0]["fingerprint"] == "f00d"


def test_since_is_how_long_ago_or_when(hub: StubHub, cli: Cli) -> None:
    now = datetime(2026, 3, 5, 7, tzinfo=UTC)
    assert instant_since("8h", now) == now - timedelta(hours=8)
    assert instant_since("2026-03-04T19:00:00+00:00", now) == datetime(2026, 3, 4, 19, tzinfo=UTC)
    hub.on("GET", "report", a_report())
    cli("report", "--since", "2026-03-04T19:00:00+00:00")
    assert hub.calls[-1].query == {"since": "2026-03-04T19:00:00+00:00"}
    assert cli("report", "--since", "yesterday").code == 2
    assert cli("report", "--since", "9" * 30 + "d").code == 2
