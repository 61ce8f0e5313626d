"""Sixty ways to smuggle markup or script, in every text that somebody may hand in: each page shows them as they are."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from playwright.sync_api import Page

from taskyard.sdk.errors import TaskyardError
from tests.dashboard.payloads import ALL_OF_THEM, INTRUDERS, PAYLOADS
from tests.dashboard.yard import Yard
from tests.support.live import live_yard

SCROLLS_MAX = 80

COLLECT = """() => {
  window.seenTexts ??= new Set();
  const values = [...document.querySelectorAll("input, textarea, option")].map((field) => field.value);
  for (const text of [document.body.textContent, document.title, ...values]) window.seenTexts.add(text);
  const scroller = [...document.querySelectorAll("main *")].find(
    (one) => one.scrollHeight > one.clientHeight + 40 && /auto|scroll/.test(getComputedStyle(one).overflowY),
  ) ?? document.scrollingElement;
  const before = scroller.scrollTop;
  scroller.scrollTop += scroller.clientHeight * 0.8;
  return scroller.scrollTop > before;
}"""
"""Takes down every text that is there, and goes on by a screen; false at the end."""


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
        accepted(client.claim, payload, types=[payload], capabilities=[payload], wait_s=0)
        accepted(client.add_hook, payload, provider="generic", template={"input": payload, "title": payload})
        failure = {"code": payload[:60], "message": f"{number} {payload}"}
        # Of a type of its own: enough of one would open its breaker.
        client.submit(payload, type=f"fails {payload}", **task_of(payload, script={"fail": failure}))
    client.submit_batch([waiting(payload) for payload in PAYLOADS])
    everything = {"lines": list(PAYLOADS), "progress": [[50, ALL_OF_THEM[:400]]], "result": list(PAYLOADS)}
    yard.completed = client.submit(ALL_OF_THEM, **task_of(PAYLOADS[0], script=everything))
    yard.running = client.submit(ALL_OF_THEM, **task_of(PAYLOADS[1], script={**everything, "hold_ms": 600_000}))
    failure = {"code": "WRONG", "message": ALL_OF_THEM, "details": {payload: payload for payload in PAYLOADS}}
    yard.failed = client.submit(ALL_OF_THEM, **task_of(PAYLOADS[2], script={"fail": failure}))
    yard.until_status(yard.completed.id, "completed")
    yard.until_status(yard.failed.id, "permanently_failed")
    yard.until_status(yard.running.id, "running")
    yard.until(lambda: len(list(client.dead_letters())) >= len(PAYLOADS), "every task that fails to have failed")


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


def texts_of(page: Page, path: str) -> str:
    """Everything that a page shows, from its top to its end."""
    page.goto(path)
    page.get_by_role("heading", level=1).first.wait_for()
    page.wait_for_function("() => !document.querySelector('[aria-busy=true], [data-loading=true]')")
    for _ in range(SCROLLS_MAX):
        if not page.evaluate(COLLECT):
            more = page.get_by_role("button", name=re.compile(r"^(show |load )?more", re.IGNORECASE))
            if more.count() == 0 or not more.first.is_enabled():
                break
            more.first.click()
        page.wait_for_timeout(40)
    return str(page.evaluate("() => [...window.seenTexts].join('\\n')"))


def missing(texts: str, wanted: Sequence[str] = PAYLOADS) -> list[str]:
    return [payload for payload in wanted if payload not in texts]


PAGES = ("/", "/queue", "/workflows", "/dead-letters", "/daemons", "/queues", "/breakers", "/add", "/admin/users")
MORE_PAGES = ("/admin/plans", "/admin/keys", "/admin/audit")


@pytest.mark.parametrize("path", [*PAGES, *MORE_PAGES])
def test_no_page_takes_a_text_for_anything_else(yard: Yard, watched_page: Page, path: str) -> None:
    texts = texts_of(watched_page, path)
    assert watched_page.evaluate(INTRUDERS) == []
    if path in ("/queue", "/workflows", "/dead-letters", "/breakers"):
        assert missing(texts) == [], "each is there, as it was written"


@pytest.mark.parametrize("which", ["completed", "running", "failed"])
def test_a_tasks_page_shows_every_text_as_it_is(yard: Yard, watched_page: Page, which: str) -> None:
    task = getattr(yard, which)
    texts = texts_of(watched_page, f"/tasks/{task.id}")
    assert watched_page.evaluate(INTRUDERS) == []
    assert missing(texts) == []
