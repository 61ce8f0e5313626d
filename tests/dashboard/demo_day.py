"""The day of a demonstration: who is there, what runs, what waits and for what, what comes again, what fails."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

HOUR_MS: Final = 3_600_000
PLANS: Final = {"ada": "team", "grace": "pro", "linus": "free", "mira": "enterprise"}
QUEUES: Final = {
    "claude": (["claude-opus-4", "claude-sonnet-4"], 3),
    "gpt": (["gpt-5", "gpt-5-mini"], 4),
    "ollama": (["ollama/llama3", "ollama/qwen3"], 1),
}
# Name, slots, capabilities, types. The last two have nothing to do: nobody asks for that, and one was told to leave.
DAEMONS: Final[Sequence[tuple[str, int, Sequence[str], Sequence[str]]]] = (
    ("studio-1", 6, ["code", "browser"], []),
    ("studio-2", 4, ["code"], []),
    ("gpu-1", 2, ["gpu"], ["label"]),
    ("scanner", 2, ["browser"], ["ocr"]),
    ("old-laptop", 2, [], []),
)
DRAINED: Final = "old-laptop"

SCHEDULES: Final[tuple[tuple[str, dict[str, Any], dict[str, Any]], ...]] = (
    ("Morning summary", {"cron": "0 8 * * mon-fri", "timezone": "Europe/Berlin"}, {"type": "report"}),
    ("Dependency updates", {"cron": "30 6 * * mon", "timezone": "America/New_York"}, {"type": "code"}),
    ("Watch the status page", {"every": "15m"}, {"type": "research"}),
    ("Sync contacts from the CRM", {"every": "1h", "enabled": False}, {"type": "crm-sync"}),
    ("Month's invoices", {"cron": "0 5 1 * *", "timezone": "Asia/Tokyo"}, {"type": "report"}),
)

RUNS: Final[Mapping[str, int]] = Counter(
    {"Morning summary": 2, "Dependency updates": 1, "Watch the status page": 6, "Month's invoices": 1}
)
"""How often somebody let each run by hand."""


def working(title: str, percent: float, words: str, *lines: str, **options: Any) -> dict[str, Any]:
    """A task that has come so far and goes on for as long as anybody looks."""
    marks = [[percent * (step + 1) / len(lines), words] for step in range(len(lines))]
    script = {"ms": 700, "lines": list(lines), "progress": marks, "hold_ms": HOUR_MS}
    return {
        "title": title,
        "input": f"{title}.",
        "payload": script,
        "timeout": 7200,
        "estimated_duration": 1500,
        **options,
    }


def running() -> Mapping[str, Sequence[dict[str, Any]]]:
    return {
        "ada": [
            working(
                "Migrate the billing service to the new ledger",
                62,
                "running the integration tests",
                "$ git switch -c ledger-migration",
                "read 41 files below services/billing",
                "wrote services/billing/ledger.py (+212 -0)",
                "wrote services/billing/invoice.py (+37 -88)",
                "$ pytest tests/billing -q",
                "118 passed, 2 failed in 14.2 s",
                "reading tests/billing/test_rounding.py",
                type="code",
                priority="high",
                model="claude-opus-4",
                goal="Every invoice is booked on the new ledger, and the old tables are read by nobody",
                constraints=["No downtime", "Amounts stay integers, in cents"],
                capabilities=["code"],
            ),
            working(
                "Review #503: rate limits per workspace",
                35,
                "reading the diff",
                "14 files changed",
                "reading gateway/limits.py",
                type="review",
                model="claude-sonnet-4",
            ),
        ],
        "grace": [
            working(
                "Find out why refunds rose in October",
                80,
                "comparing with the release dates",
                "loaded 48,112 orders",
                "refunds by product: 3 stand out",
                "release 4.12 fits the date",
                type="research",
                priority="high",
            ),
            working(
                "Translate the help centre into Portuguese",
                47,
                "article 61 of 130",
                "60 articles done",
                type="translate",
            ),
        ],
        "linus": [
            working("Write the tutorial for webhooks", 15, "drafting the outline", "outline: 7 parts", type="docs")
        ],
        "mira": [
            working(
                "Answer: cannot sign in with SSO", 90, "checking the answer", "found 3 similar tickets", type="support"
            ),
            working(
                "Label 2,000 support calls",
                28,
                "call 560 of 2,000",
                "loaded the audio",
                "transcribed 560 calls",
                type="label",
                capabilities=["gpu"],
            ),
        ],
    }


def plain(title: str, **options: Any) -> dict[str, Any]:
    return {"title": title, "input": f"{title}.", "payload": {"hold_ms": HOUR_MS}, "timeout": 7200, **options}


def waiting(now: datetime) -> Mapping[str, Sequence[dict[str, Any]]]:
    """By person: some for a turn, a time, a model, a machine or each other. The last ones are at the top of a list."""
    tests = ("login", "search", "exports", "invoices", "teams")
    return {
        "linus": [plain(f"Write the tutorial for {part}", type="docs") for part in ("schedules", "limits", "queues")],
        "ada": [
            *(plain(f"Write browser tests for {part}", type="code", model="claude-sonnet-4") for part in tests),
            plain("Cut over to the new ledger", type="deploy", scheduled_for=(now + timedelta(hours=7)).isoformat()),
            plain("Draft the changelog for 4.14", name="changelog", type="docs", model="gpt-5"),
            plain("Publish the release", depends_on=["changelog"], type="deploy", priority="high"),
            plain("Sync contacts from the CRM", type="crm-sync", priority="high"),
            plain("Load-test the new ledger", type="code", capabilities=["code", "big-memory"], priority="critical"),
        ],
        "grace": [
            plain("Chart the refunds by week", type="report", priority="low"),
            plain("Summarise 90 interviews", type="research", model="ollama/llama3"),
            plain("Translate the emails into Korean", type="translate", priority="low"),
        ],
        "mira": [plain("Re-index the knowledge base", type="label", capabilities=["gpu"], memory_mb=512_000)],
    }


def quick(number: int) -> dict[str, Any]:
    """Something that is done in a moment, so that the last minute's figures have something in them."""
    title = f"Answer: ticket {4100 + number}"
    script = {"ms": 700 + 113 * (number % 17), "result": {"reply": "sent", "ticket": 4100 + number}}
    priority = ("normal", "high", "normal", "low")[number % 4]
    return {"title": title, "input": f"{title}.", "type": "support", "payload": script, "priority": priority}


def failing(title: str, kind: str, code: str, message: str) -> dict[str, Any]:
    script = {"ms": 400, "fail": {"code": code, "message": message}}
    return {"title": title, "input": f"{title}.", "type": kind, "payload": script, "max_attempts": 1}


REFUSED_TOKEN: Final = "The CRM refused the token: 401 Unauthorized"


def failures() -> Sequence[dict[str, Any]]:
    """As many of one type in a row as open its breaker, and two of another."""
    contacts = [failing("Sync contacts from the CRM", "crm-sync", "HTTP_401", REFUSED_TOKEN) for _ in range(5)]
    lost = "The page has no table of prices any more"
    return [*contacts, *(failing(f"Read the prices of {who}", "prices", "NOT_UNDERSTOOD", lost) for who in ("A", "B"))]


VERDICTS: Final[Sequence[tuple[str, str, Mapping[str, str]]]] = (
    ("translate", "discard", {"reason": "Too long for any model: it comes again, chapter by chapter"}),
    ("crm-sync", "escalate", {"to": "the CRM team", "reason": "their token expired on Friday"}),
)
"""What was decided about the newest dead letter of a type, and on which terms."""


def refused_by_its_provider() -> dict[str, Any]:
    """Lets its queue cool down."""
    fail = {"code": "PROVIDER", "message": "HTTP error 429: Too Many Requests", "details": {"retry_after": 1500}}
    title = "Classify the week's feedback"
    return {
        "title": title, "input": f"{title}.", "type": "research", "model": "ollama/llama3", "payload": {"fail": fail},
    }  # fmt: skip
