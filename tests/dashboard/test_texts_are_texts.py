"""Sixty ways to smuggle markup or script, in every text that somebody may hand in: each page shows them as they are.

Which field is seen where stands in `tests/dashboard/text_fields.py`, and no field of the contract may be missing there.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from taskyard.sdk.records import AuditEntry
from tests.dashboard.hostile import NAMES, SLOTS, HostileYard, group_of, name_for, schedule_for
from tests.dashboard.pages import visit
from tests.dashboard.payloads import ALL_OF_THEM, INTRUDERS, PAYLOADS
from tests.dashboard.text_fields import SEEN, texts_of
from tests.dashboard.tour import Stop, Text, alone, in_json, part, sentence, set_out, whole, wrong_on
from tests.dashboard.yard import PATIENT, SETTINGS
from tests.support.live import live_yard

pytestmark = pytest.mark.takes(60)

TALL: Final[ViewportSize] = {"width": 1440, "height": 12_000}
"""The queue draws only the rows that fit: here they all do. Elsewhere it would only be more to paint."""
AUDIT_ROWS: Final = 100
"""So many the page shows at first, and more with each press."""


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileYard]:
    with live_yard(tmp_path_factory.mktemp("yard")) as live:
        yard = HostileYard(live, settings=SETTINGS + PATIENT)
        try:
            yard.crew(slots=SLOTS)
            yard.fill()
            yield yard
        finally:
            yard.end()


# --- a task's page, where each text stands under its name ----------------------------------------------------


def held(yard: HostileYard) -> Iterator[Stop]:
    for payload, task in zip(PAYLOADS, yard.held, strict=True):
        wanted = [*said_of(payload), *why(yard, payload, task)]
        yield Stop([*wanted, *(tried(payload) if payload in NAMES else ())], f"/tasks/{task.id}?view=given")


def said_of(payload: str) -> Iterator[Text]:
    for name in ("Type", "Model", "Source", "Project", "Needs", "Alone as", "Correlation", "Idempotency key"):
        yield whole(name, payload)
    yield whole("Queue", name_for(payload))
    yield whole("Only on", name_for(payload))
    yield part("Source", f" · {payload}")
    yield whole("Not on", f"not {payload}")
    yield whole("", payload)
    yield whole("Input", payload)
    for name in ("Goal", "What must hold"):
        yield whole(name, payload)
    for name in ("Payload", "Context", "Metadata"):
        yield in_json(name, payload)


def why(yard: HostileYard, payload: str, task: Any) -> Iterator[Text]:
    """What names it: the rest is the same for all."""
    said = [text for reason in yard.client.why(task.id).reasons for text in (reason.message, reason.would_help)]
    naming = [text for text in said if payload in str(text)]
    assert naming
    for text in naming:
        yield sentence("Why it is not running", str(text))


def tried(payload: str) -> Iterator[Text]:
    yield part("Timeline", f"Attempt 1 on {payload}")
    yield whole("What went wrong", payload)
    yield in_json("Details of the error", payload)
    yield in_json("Checkpoint", payload)


def running(yard: HostileYard) -> Iterator[Stop]:
    for payload, task in zip(PAYLOADS, yard.running, strict=True):
        yield Stop([whole("Progress", payload), whole("Log", payload)], f"/tasks/{task.id}?view=log")


def completed(yard: HostileYard) -> Iterator[Stop]:
    for payload, task in zip(PAYLOADS, yard.completed, strict=True):
        brought = [whole("Result", payload), in_json("Result", payload), whole("Files changed", payload)]
        yield Stop([*brought, in_json("Decision report", payload)], f"/tasks/{task.id}?view=result")


def failed(yard: HostileYard) -> Iterator[Stop]:
    for payload, task in zip(PAYLOADS, yard.failed, strict=True):
        wanted = [whole("What went wrong", text) for text in (payload, f"Failed: {payload}")]
        wanted += [in_json("Details of the error", payload), part("Events", payload)]
        yield Stop(wanted, f"/tasks/{task.id}?view=events")


def cancelled(yard: HostileYard) -> Iterator[Stop]:
    for payload, task in zip(PAYLOADS, yard.cancelled, strict=True):
        told = yard.client.why(task.id).summary
        assert payload.rstrip(".") in told
        yield Stop([sentence("How it stands", told)], f"/tasks/{task.id}")


def gathering(yard: HostileYard) -> Iterator[Stop]:
    passed_on = [text for payload in PAYLOADS for text in (whole("Passed on", payload), in_json("Passed on", payload))]
    yield Stop(passed_on, f"/tasks/{yard.gathering.id}?view=given")
    yield Stop([whole("Dependency graph", payload) for payload in PAYLOADS], f"/tasks/{yard.gathering.id}?view=tied")


# --- the other pages ---------------------------------------------------------------------------------------------


def overview(yard: HostileYard) -> Iterator[Stop]:
    """It names a few of a kind, so everybody has a few; who looks at all of them sees some."""
    yield Stop([whole("", "Overview")], "/")
    for person in yard.people:
        wanted = [sentence(f"{len(person.types)} breakers are open", name) for name in person.types]
        wanted += [sentence(f"{len(person.daemons)} daemons went away within a day", name) for name in person.daemons]
        for held in person.held:
            wanted += [sentence("1 task has no daemon that can run it", str(held.would_help))]
            wanted += [sentence("What tasks wait for", str(said)) for said in (held.message, held.would_help)]
        yield Stop(wanted, enter=("Whose tasks", person.id))


def queue(yard: HostileYard) -> Iterator[Stop]:
    """Of each kind by itself: what they are called is the same."""
    for status, word in (("completed", "ends"), ("permanently_failed", "fails")):
        types = [f"{word} {name_for(payload)}" for payload in PAYLOADS]
        errors = [alone("Tasks", f"Failed: {payload}") for payload in PAYLOADS if word == "fails"]
        yield Stop([*(whole("Tasks", text) for text in (*PAYLOADS, *types)), *errors], f"/queue?status={status}")
    for status in ("running", "skipped", "cancelled"):
        yield Stop([alone("Tasks", payload) for payload in PAYLOADS], f"/queue?status={status}")
    reasons = [held.message for person in yard.people for held in person.held]
    types_and_queues = [whole("Tasks", text) for text in (*PAYLOADS, *NAMES)]
    yield Stop([*types_and_queues, *(sentence("Tasks", reason) for reason in reasons)], "/queue?status=queued")


def workflows(yard: HostileYard) -> Iterator[Stop]:
    schedules = {schedule.name: schedule for schedule in yard.client.schedules()}
    yield Stop([whole("Schedules", name) for name in schedules], "/workflows")
    for payload in PAYLOADS:
        found = schedules[schedule_for(payload)]
        made = [whole("Makes", payload), part("Makes", f"of type {payload}")]
        yield Stop([*made, whole(found.name, found.name)], f"/workflows?schedule={found.id}")


def dead_letters(yard: HostileYard) -> Iterator[Stop]:
    patterns: dict[str, Any] = {letter.id: letter.pattern for letter in yard.client.dead_letters()}
    types = {payload: f"fails {name_for(payload)}" for payload in PAYLOADS}
    told = [text for payload in PAYLOADS for text in (payload, f"Failed: {payload}", f"type {types[payload]}")]
    yield Stop([whole("Failure patterns", text) for text in told], "/dead-letters")
    for payload, task in zip(PAYLOADS, yard.failed, strict=True):
        path = f"/dead-letters?pattern={patterns[task.id].fingerprint}"
        yield Stop([whole("Dead letters of this kind", text) for text in (payload, types[payload])], path)
        opened = [whole("Dead letters of this kind", f"Failed: {payload}")]
        opened += [in_json("Details of the error", payload), part("Verdicts so far", payload)]
        yield Stop(opened, press=f"Show what happened to {task.ref}")


def daemons(_: HostileYard) -> Iterator[Stop]:
    yield Stop([whole("Daemons", name) for name in NAMES], "/daemons")
    for name in NAMES:
        facts = [whole(fact, name) for fact in ("Can do", "Models", "Types of task", "Version")]
        yield Stop([whole(name, name), *facts], press=name)


def queues(_: HostileYard) -> Iterator[Stop]:
    """With a message for each, which comes and goes."""
    yield Stop([whole("Queues", text) for text in (*NAMES, *PAYLOADS)], "/queues")
    for name in NAMES:
        yield Stop([whole("Messages", f"{name} is paused; what runs goes on.")], press=f"Pause {name}")


def breakers(_: HostileYard) -> Iterator[Stop]:
    yield Stop([whole("Breakers", payload) for payload in PAYLOADS], "/breakers")


def people(_: HostileYard) -> Iterator[Stop]:
    yield Stop([whole("Users", payload) for payload in PAYLOADS], "/admin/users")
    yield Stop([whole("Keys", payload) for payload in PAYLOADS], "/admin/keys")
    yield Stop([whole("", "Plans")], "/admin/plans")


def audit(yard: HostileYard) -> Iterator[Stop]:
    """To its end, and then by what was done: the same names are in many entries."""
    client = yard.client
    for daemon in yard.named_daemons():
        client.drain(daemon.id)
    entries = list(client.audit())
    named: Sequence[Any] = (*client.users(), *client.schedules(), *client.daemons())
    names = {one.id: one.name for one in named}

    def told(some: Sequence[AuditEntry]) -> list[Text]:
        subjects = [names.get(entry.subject, entry.subject) for entry in some]
        changes = [text for entry in some for text in (entry.old, entry.new) if text is not None]
        return [whole("Audit", text) for text in (*subjects, *changes)]

    yield Stop(told(entries[:AUDIT_ROWS]), "/admin/audit")
    for at in range(AUDIT_ROWS, len(entries), AUDIT_ROWS):
        yield Stop(told(entries[at : at + AUDIT_ROWS]), press="Show what is older")
    for action in dict.fromkeys(entry.action for entry in entries):
        wanted = told([entry for entry in entries if entry.action == action])
        yield Stop(wanted, f"/admin/audit?q={action}", away="/admin/audit?q=nothing")


@pytest.mark.parametrize("schema", SEEN)
def test_it_is_known_of_every_text_where_it_is_shown(schema: str) -> None:
    assert sorted(SEEN[schema]) == sorted(texts_of(schema))


ON_TASKS: Final = (held, running, completed, failed, cancelled, gathering)
# Queues last: their pausing is one more thing that holds tasks.
ON_LISTS: Final = (overview, queue, workflows, dead_letters, daemons, breakers, people, audit, queues)
Tour = Callable[[HostileYard], Iterator[Stop]]


@pytest.mark.parametrize("tour", ON_TASKS)
def test_a_tasks_page_shows_every_text_as_it_is(yard: HostileYard, page: Page, tour: Tour) -> None:
    set_out(page)
    assert wrong_on(page, tour(yard)) == []


@pytest.mark.parametrize("tour", ON_LISTS)
def test_every_other_page_shows_every_text_as_it_is(yard: HostileYard, page: Page, tour: Tour) -> None:
    if tour is queue:
        page.set_viewport_size(TALL)
    set_out(page)
    assert wrong_on(page, tour(yard)) == []


def test_a_message_is_read_out_in_its_own_words(yard: HostileYard, page: Page) -> None:
    visit(page, "/add?by=chat")
    text = "\n".join(f"add task: {payload}" for payload in PAYLOADS)
    page.get_by_label("Message", exact=True).fill(text)
    read = yard.client.say(text, dry_run=True).parsed
    assert len(read) == len(PAYLOADS)
    assert wrong_on(page, [Stop([whole("What will be done", task.input) for task in read], "/add?by=chat")]) == []


def test_what_a_schedule_does_is_changed_in_its_own_words(yard: HostileYard, page: Page) -> None:
    schedule = yard.client.add_schedule("All of it", {"input": ALL_OF_THEM, "type": PAYLOADS[0]}, every="24h")
    visit(page, f"/workflows?schedule={schedule.id}")
    page.get_by_role("button", name="Edit", exact=True).click()
    expect(page.get_by_label("What is to be done")).to_have_value(ALL_OF_THEM)
    expect(page.get_by_role("textbox", name="Type")).to_have_value(PAYLOADS[0])
    assert page.evaluate(INTRUDERS) == []


@pytest.mark.parametrize("place", ["Found", "Tasks"])
def test_tasks_to_choose_from_are_called_what_they_are(yard: HostileYard, page: Page, place: str) -> None:
    groups: dict[str, list[Text]] = {}
    for payload, task in zip(PAYLOADS, yard.completed, strict=True):
        text = f"{task.ref}  {payload}" if place == "Found" else payload
        groups.setdefault(group_of(payload), []).append(whole(place, text))
    visit(page, "/add")
    if place == "Found":
        page.keyboard.press("Control+k")
    field = "Find a task or a page" if place == "Found" else "After these tasks"
    assert wrong_on(page, [Stop(wanted, enter=(field, group)) for group, wanted in groups.items()]) == []
