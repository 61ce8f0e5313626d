"""A week of a small company's agents, as records that an import takes: what a yard remembers that has been in use.

The same dice every time, so that two demonstrations differ in nothing but the hour at which they were made.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

DAYS: Final = 6
TASKS: Final = 9_000
IN_THE_LAST_DAY: Final = 0.6
"""A yard that is used more from day to day."""

# What they are asked, by type: titles, and how long one takes (s).
WORK: Final[Mapping[str, tuple[Sequence[str], float]]] = {
    "code": (
        (
            "Fix the flaky checkout test",
            "Upgrade the billing service to Python 3.13",
            "Add retries to the webhook sender",
            "Remove the old feature flags",
            "Paginate the invoices endpoint",
            "Make the login form accessible",
        ),
        150,
    ),
    "review": (
        ("Review #482: cache the price list", "Review #485: new onboarding", "Review #491: rotate tokens"),
        55,
    ),
    "research": (
        (
            "Compare three vector databases",
            "Summarise what customers said about exports",
            "Find conferences worth a talk",
            "Look into the rise in refunds",
        ),
        105,
    ),
    "report": (("Weekly numbers for the board", "Morning summary", "Cost of models by team"), 32),
    "support": (
        (
            "Answer: invoice shows the wrong address",
            "Answer: how do I export my data?",
            "Answer: cannot sign in with SSO",
            "Answer: please cancel the second seat",
        ),
        15,
    ),
    "translate": (("Release notes into Japanese", "Help centre into Portuguese", "Emails into German"), 42),
    "crm-sync": (("Sync contacts from the CRM", "Push renewals to the CRM"), 8),
}
PEOPLE: Final = ("ada", "grace", "linus", "mira")
DAEMONS: Final = ("studio-1", "studio-2", "gpu-1")

# What went wrong for good, with how often.
FAILURES: Final = (
    ("crm-sync", "HTTP_401", "The CRM refused the token: 401 Unauthorized", 5),
    ("code", "TESTS_FAILED", "3 tests failed after the change: tests/test_checkout.py", 3),
    ("translate", "CONTEXT_LENGTH", "The document has 212,480 tokens; the model takes 200,000", 3),
)
FAILED_WITHIN: Final = timedelta(hours=20)


def history_of(person: str, now: datetime) -> list[dict[str, Any]]:
    """What became of everything that this person's agents did in the last days."""
    dice = random.Random(f"a week of {person}")
    ended = [_one(dice, f"{person}-{number}", now) for number in range(TASKS // len(PEOPLE))]
    return [*ended, *(_failures(dice, now) if person == "ada" else ())]


def _one(dice: random.Random, name: str, now: datetime) -> dict[str, Any]:
    kind = dice.choices(list(WORK), weights=[6, 5, 4, 3, 8, 3, 2])[0]
    titles, takes_s = WORK[kind]
    created = _moment(dice, now)
    started = created + timedelta(seconds=dice.expovariate(1 / (5 + 60 * _bustle(created, now) ** 3)))
    completed = min(started + timedelta(seconds=dice.lognormvariate(0, 0.5) * takes_s), now - timedelta(seconds=5))
    was_cancelled = dice.random() < 0.03
    title = dice.choice(titles)
    return {
        "id": name,
        "title": title,
        "input": f"{title}.",
        "type": kind,
        "priority": dice.choices(["critical", "high", "normal", "low"], weights=[1, 4, 12, 5])[0],
        "status": "cancelled" if was_cancelled else "completed",
        "created_at": created.isoformat(),
        "queued_at": created.isoformat(),
        "scheduled_at": started.isoformat(),
        "started_at": started.isoformat(),
        "completed_at": completed.isoformat(),
        "attempts": list(_tries(dice, started, completed, "cancelled" if was_cancelled else "success")),
        **({} if was_cancelled else {"result": {"summary": f"{title}: done."}, "result_status": "success"}),
    }


def _moment(dice: random.Random, now: datetime) -> datetime:
    """More by day than by night, and nothing that would not have ended yet."""
    is_recent = dice.random() < IN_THE_LAST_DAY
    while True:
        days = dice.random() if is_recent else 1 + (DAYS - 1) * dice.random()
        at = now - timedelta(minutes=2) - timedelta(days=days)
        if dice.random() < _bustle(at, now):
            return at


def _bustle(at: datetime, now: datetime) -> float:
    """From 0.1 in the depth of the night to 1. The busiest hour is two hours ago, whenever it is looked at."""
    hours = (now - at) / timedelta(hours=1) - 2
    return 0.1 + 0.9 * (0.5 + 0.5 * math.cos(2 * math.pi * hours / 24)) ** 2


def _tries(dice: random.Random, started: datetime, completed: datetime, ended: str) -> Iterator[dict[str, Any]]:
    daemon = dice.choice(DAEMONS)
    if dice.random() < 0.08:
        middle = started + (completed - started) / 2
        error = {"code": "PROVIDER", "message": "The model's provider closed the connection", "retryable": True}
        yield _try(daemon, "failed", started, middle) | {"error": error}
        started = middle
    yield _try(dice.choice(DAEMONS), ended, started, completed)


def _try(daemon: str, status: str, started: datetime, ended: datetime) -> dict[str, Any]:
    return {"daemon": daemon, "status": status, "started_at": started.isoformat(), "ended_at": ended.isoformat()}


def _failures(dice: random.Random, now: datetime) -> Iterator[dict[str, Any]]:
    """The dead letters that somebody should look at."""
    for kind, code, message, times in FAILURES:
        for number in range(times):
            ended = now - FAILED_WITHIN * dice.random() - timedelta(minutes=3)
            began = ended - timedelta(seconds=dice.uniform(5, 90))
            error = {"code": code, "message": message, "retryable": False}
            title = WORK[kind][0][number % len(WORK[kind][0])]
            yield {
                "id": f"failed-{kind}-{number}",
                "title": title,
                "input": f"{title}.",
                "type": kind,
                "status": "permanently_failed",
                "created_at": began.isoformat(),
                "queued_at": began.isoformat(),
                "scheduled_at": began.isoformat(),
                "started_at": began.isoformat(),
                "completed_at": ended.isoformat(),
                "error": error,
                "attempts": [_try(dice.choice(DAEMONS), "failed", began, ended) | {"error": error}],
            }
