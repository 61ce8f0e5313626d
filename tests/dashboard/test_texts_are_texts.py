"""Sixty ways to smuggle markup or script, in every text that somebody may hand in: each page shows them as they are."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import pytest
from playwright.sync_api import Locator, Page, expect

from taskyard.sdk.errors import TaskyardError
from tests.dashboard.pages import settle, visit
from tests.dashboard.payloads import ALL_OF_THEM, INTRUDERS, PAYLOADS
from tests.dashboard.yard import Yard
from tests.support.live import live_yard
from tests.support.wire_client import WireClient

SHOWN_S: Final = 10.0
CHANGED_MS: Final = 60
NAMES: Final = [payload for payload in PAYLOADS if payload.isprintable()]
"""Those that the hub takes for the name of something."""
ABILITIES_MAX: Final = 50
"""So many of a kind a daemon can name."""

TEXTS: Final = """async () => {
  const MANY = 200;
  const seen = new Set([document.title]);
  // Whose names there are to choose from stands on many pages, and would hide that a page does not show its own texts.
  const textOf = (node) =>
    node.nodeType === Node.TEXT_NODE ? node.data :
    node.matches?.("select, datalist") ? "" : [...node.childNodes].map(textOf).join("");
  const places = () => [...document.querySelectorAll("main, dialog[open]")];
  const take = () => {
    for (const place of places()) {
      seen.add(textOf(place));
      for (const field of place.querySelectorAll("input, textarea")) seen.add(field.value);
    }
  };
  const page = document.scrollingElement;
  const scrollers = [page, ...places().flatMap((place) => [...place.querySelectorAll("*")])].filter(
    (one) => one.scrollHeight > one.clientHeight + 40 &&
      (one === page || /auto|scroll/.test(getComputedStyle(one).overflowY)),
  );
  for (const one of scrollers) one.scrollTop = 0;
  for (let step = 0; step < MANY; step += 1) {
    await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
    take();
    const before = scrollers.map((one) => one.scrollTop);
    for (const one of scrollers) one.scrollTop += one.clientHeight * 0.8;
    if (scrollers.every((one, index) => one.scrollTop === before[index])) break;
  }
  return [...seen].join("\\n");
}"""
"""Every text of a page and of what is open before it, from the top to the end of each list."""
PRESS_MORE: Final = r"""() => {
  const more = /^Show (all|what is older|\d+ (more|earlier))/;
  const buttons = [...document.querySelectorAll("main button:enabled")];
  const found = buttons.find((one) => more.test(one.textContent));
  found?.click();
  return found !== undefined;
}"""
"""Asks for the rest of what a page shows in part; false where it shows all."""
PRESSES_MAX: Final = 40

EACH: Final = 6
"""Messages come one by one; one of so many names is enough, since all are shown by the same few lines."""
IN_JSON: Final = [json.dumps(payload, ensure_ascii=False)[1:-1] for payload in PAYLOADS]
PROGRESS: Final = ALL_OF_THEM[:400]


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """One in which everything is named by somebody who means harm."""
    with live_yard(tmp_path_factory.mktemp("yard")) as live:
        yard = Yard(live)
        try:
            yard.crew(slots=8)
            fill(yard)
            yield yard
        finally:
            yard.end()


def fill(yard: Yard) -> None:
    client = yard.client
    for number, payload in enumerate(PAYLOADS):
        accepted(client.add_user, payload)
        accepted(client.add_key, "local", name=payload, scopes=["tasks"])
        accepted(client.add_schedule, payload, task_of(payload), every="24h")
        accepted(client.put_queue, payload, models=[payload])
        accepted(client.open_breaker, payload)
        accepted(client.add_hook, payload, provider="generic", template={"input": payload, "title": payload})
        failure = {"code": payload[:60], "message": f"{number} {payload}"}
        # Of a type of its own: enough of one would open its breaker.
        client.submit(payload, type=f"fails {payload}", **task_of(payload, script={"fail": failure}))
    for name in NAMES:
        introduce(yard, name, capabilities=[name], models=[name], types=[name])
    introduce(yard, "armed", capabilities=NAMES[:ABILITIES_MAX], types=NAMES[ABILITIES_MAX:])
    yard.schedule = client.add_schedule("All of it", {"input": ALL_OF_THEM, "type": PAYLOADS[0]}, every="24h")
    client.submit_batch([waiting(payload) for payload in PAYLOADS])
    everything = {"lines": list(PAYLOADS), "progress": [[50, PROGRESS]], "result": list(PAYLOADS)}
    yard.completed = client.submit(ALL_OF_THEM, **task_of(PAYLOADS[0], script=everything))
    yard.running = client.submit(ALL_OF_THEM, **task_of(PAYLOADS[1], script={**everything, "hold_ms": 600_000}))
    failure = {"code": "WRONG", "message": ALL_OF_THEM, "details": {payload: payload for payload in PAYLOADS}}
    yard.failed = client.submit(ALL_OF_THEM, **task_of(PAYLOADS[2], script={"fail": failure}))
    yard.until_status(yard.completed.id, "completed")
    yard.until_status(yard.failed.id, "permanently_failed")
    yard.until_status(yard.running.id, "running")
    yard.until(lambda: len(list(client.dead_letters())) >= len(PAYLOADS), "every task that fails to have failed")


def introduce(yard: Yard, name: str, **abilities: Sequence[str]) -> None:
    """A daemon that says who it is and what it can do, and goes away again; the yard remembers it."""
    with WireClient("127.0.0.1", yard.hub.port, yard.hub.key) as daemon:
        daemon.hello(boot_id=name, name=name, **abilities)


def accepted(call: Callable[..., Any], *arguments: Any, **options: Any) -> bool:
    """Whether the hub took it; some places take only plain names, which is as good."""
    try:
        call(*arguments, **options)
    except TaskyardError as refusal:
        if refusal.status not in (404, 409, 422):
            raise
        return False
    return True


def task_of(payload: str, *, script: dict[str, Any] | None = None) -> dict[str, Any]:
    """Everything that a submission can say in words, in the words of one payload."""
    described = {
        "title": payload,
        "goal": payload,
        "constraints": [payload, ALL_OF_THEM[:900]],
        "context": {"note": payload, payload[:60]: payload},
        "metadata": {payload[:60]: payload},
        "max_attempts": 1,
    }
    if script is None:
        return {"input": payload, **{name: described[name] for name in ("title", "goal", "constraints", "context")}}
    return {**described, "payload": {**script, "note": payload}, "correlation_id": payload, "project_id": payload}


def waiting(payload: str) -> Any:
    """Of a type, and for an ability, that the daemon does not have."""
    described = task_of(payload, script={})
    return {"input": payload, **described, "title": f"waiting {payload}", "capabilities": [payload]}


def unseen(page: Page, wanted: Sequence[str] = PAYLOADS) -> list[str]:
    """Which of them a page does not show as they are, once it has had the time."""
    until = time.monotonic() + SHOWN_S
    for _ in range(PRESSES_MAX):
        if not page.evaluate(PRESS_MORE):
            break
        settle(page, CHANGED_MS)
    while True:
        texts = page.evaluate(TEXTS)
        missing = [text for text in wanted if text not in texts]
        if not missing or time.monotonic() > until:
            return missing
        settle(page, CHANGED_MS)


def misnamed(yard: Yard, options: Locator) -> list[str]:
    """Those of a list to choose from, each a task's ref and title, that are not called what they are."""
    titles = {task.ref: task.title for task in yard.client.tasks()}

    def shown() -> list[tuple[str, str]]:
        # All at one moment: the list changes with every letter that is typed.
        return [(text, found[0]) for text in options.all_text_contents() if (found := re.match(r"T-\d+", text))]

    found: list[tuple[str, str]] = yard.until(shown, "tasks to choose from")
    return [text for text, ref in found if str(titles[ref]) not in text]


WANTED: Final[Mapping[str, Callable[[Yard], Sequence[str]]]] = {
    # What needs a person names three of a kind: the daemons that went first, and the breakers that opened last.
    "/": lambda _: (NAMES[0], PAYLOADS[-1]),
    "/queue": lambda _: [f"waiting {payload}" for payload in PAYLOADS],
    "/workflows": lambda yard: [schedule.name for schedule in yard.client.schedules()],
    "/dead-letters": lambda _: PAYLOADS,
    "/daemons": lambda _: NAMES,
    "/queues": lambda _: NAMES,
    "/breakers": lambda _: PAYLOADS,
    "/admin/users": lambda _: PAYLOADS,
    "/admin/plans": lambda _: (),
    "/admin/keys": lambda _: PAYLOADS,
    "/admin/audit": lambda _: PAYLOADS,
}
"""What each page shows of what was handed in."""


@pytest.mark.parametrize("path", WANTED)
def test_no_page_takes_a_text_for_anything_else(yard: Yard, watched_page: Page, path: str) -> None:
    visit(watched_page, path)
    assert unseen(watched_page, WANTED[path](yard)) == []
    assert watched_page.evaluate(INTRUDERS) == []


@pytest.mark.parametrize(
    ("which", "wanted"),
    [
        ("completed", {"Log": PAYLOADS, "Input": PAYLOADS, "Result": IN_JSON, "Tied tasks": (), "Events": ()}),
        ("running", {"Log": PAYLOADS, "Events": [payload for payload in PAYLOADS if payload in PROGRESS]}),
        ("failed", {"Result": PAYLOADS}),
    ],
)
def test_a_tasks_page_shows_every_text_as_it_is(
    yard: Yard, watched_page: Page, which: str, wanted: Mapping[str, Sequence[str]]
) -> None:
    visit(watched_page, f"/tasks/{getattr(yard, which).id}")
    for view, texts in wanted.items():
        watched_page.get_by_role("tab", name=view).click()
        assert unseen(watched_page, texts) == [], view
        assert watched_page.evaluate(INTRUDERS) == []


def test_what_a_daemon_can_do_is_told_in_its_own_words(yard: Yard, watched_page: Page) -> None:
    visit(watched_page, "/daemons")
    watched_page.get_by_role("cell", name="armed").first.click()
    expect(watched_page.get_by_role("dialog", name="armed")).to_be_visible()
    assert unseen(watched_page, NAMES) == []
    assert watched_page.evaluate(INTRUDERS) == []


def test_what_a_schedule_does_is_told_in_its_own_words(yard: Yard, watched_page: Page) -> None:
    visit(watched_page, f"/workflows?schedule={yard.schedule.id}")
    assert unseen(watched_page) == []
    watched_page.get_by_role("button", name="Edit", exact=True).click()
    expect(watched_page.get_by_label("What is to be done")).to_have_value(ALL_OF_THEM)
    assert watched_page.evaluate(INTRUDERS) == []


def test_tasks_to_wait_for_are_called_what_they_are(yard: Yard, watched_page: Page) -> None:
    visit(watched_page, "/add")
    watched_page.get_by_role("combobox", name="After these tasks").focus()
    assert misnamed(yard, watched_page.get_by_role("listbox", name="Tasks").get_by_role("option")) == []
    assert watched_page.evaluate(INTRUDERS) == []


@pytest.mark.parametrize("words", ["waiting <", "javascript:", "constructor"])
def test_the_palette_calls_tasks_what_they_are(yard: Yard, watched_page: Page, words: str) -> None:
    visit(watched_page, "/breakers")
    watched_page.keyboard.press("Control+k")
    watched_page.keyboard.type(words)
    assert misnamed(yard, watched_page.get_by_role("listbox", name="Found").get_by_role("option")) == []
    assert watched_page.evaluate(INTRUDERS) == []


def test_messages_call_things_what_they_are(yard: Yard, watched_page: Page) -> None:
    visit(watched_page, "/queues")
    quoted = [name for name in NAMES if "`" in name]
    for name in dict.fromkeys([*NAMES[::EACH], *quoted]):
        watched_page.get_by_role("button", name=f"Pause {name}", exact=True).click()
        expect(watched_page.get_by_label("Messages")).to_contain_text(f"{name} is paused")
    assert watched_page.evaluate(INTRUDERS) == []
