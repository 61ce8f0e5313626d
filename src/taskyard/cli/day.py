"""A day's work for `taskyard demo`: enough of everything to see a yard alive.

Only the types that the built-in daemon runs, with dependencies, priorities, deadlines, times to come and one
task that nobody can run, so that each page of the dashboard and each command has something to show.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from taskyard.sdk.submission import NewTask

# What a small company's agents do before lunch: (title, priority).
MORNING: Final = (
    ("Summarise the overnight alerts", "high"),
    ("Draft replies to the support inbox", "high"),
    ("Reconcile yesterday's invoices", "normal"),
    ("Check the competitors' price pages", "normal"),
    ("Translate the release notes into German", "normal"),
    ("Translate the release notes into Japanese", "normal"),
    ("Tag the new photos", "low"),
    ("Tidy the shared drive", "low"),
    ("Look for broken links on the website", "low"),
    ("Rank the open bugs by customer pain", "normal"),
    ("Prepare the stand-up notes", "high"),
    ("Find a slot for the design review", "normal"),
)
CITIES: Final = ("Amsterdam", "Berlin", "Kraków", "Lisbon", "Seoul", "São Paulo")
ECHOES: Final = ("ping", "Is anybody there?", "¿Hay alguien?", "有人吗", "Good morning, yard.")
LATER: Final = ((2, "Remind the team about the demo"), (5, "Water the plants"), (30, "Close the books"))


def a_days_work(now: datetime) -> "list[NewTask]":
    return [*_morning(), *_research(), *_release(now), *_echoes(), *_later(now), *_nobody()]


def _demo(title: str, *, name: str | None = None, **options: object) -> "NewTask":
    task: NewTask = {"type": "demo", "title": title, "input": f"{title}.", "metadata": {"demo": True}}
    if name is not None:
        task["name"] = name
    task.update(options)  # type: ignore[typeddict-item]
    return task


def _morning() -> "list[NewTask]":
    return [_demo(title, priority=priority) for title, priority in MORNING]


def _research() -> "list[NewTask]":
    """Many at once, then one that gathers them."""
    found = [_demo(f"Research offices in {city}", name=f"office-{city}") for city in CITIES]
    gathered = _demo(
        "Compare the offices and recommend one",
        name="recommendation",
        depends_on=[task["name"] for task in found],
        on_depends_fail="continue",
        goal="one page that ends in a recommendation",
    )
    presented = _demo("Turn the recommendation into slides", depends_on=["recommendation"], priority="high")
    return [*found, gathered, presented]


def _release(now: datetime) -> "list[NewTask]":
    """One after the other, with the clock ticking."""
    deadline = now + timedelta(minutes=45)
    steps = ("Run the test suite", "Write the changelog", "Build the packages", "Announce the release")
    chain: list[NewTask] = []
    for number, step in enumerate(steps):
        before = [f"release-{number - 1}"] if number else []
        chain.append(_demo(step, name=f"release-{number}", depends_on=before, deadline=deadline, estimated_duration=3))
    chain[0]["priority"] = "critical"
    return chain


def _echoes() -> "list[NewTask]":
    return [{"type": "echo", "title": "Say it back", "input": text, "metadata": {"demo": True}} for text in ECHOES]


def _later(now: datetime) -> "list[NewTask]":
    return [_demo(title, scheduled_for=now + timedelta(minutes=minutes)) for minutes, title in LATER]


def _nobody() -> "list[NewTask]":
    return [_demo("Feed the office cat", capabilities=["hands"])]
