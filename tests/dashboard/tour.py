"""A walk past many things in one page, without loading it anew: what stands where, and whether it is nothing but text.

A place is named as a person would name it: by the heading, term or label that it stands under, or by the words that a
row begins with; without a name it is the page's own heading. Steps are taken in the page itself: driven from without,
a hundred of them would take a minute.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from playwright.sync_api import Page

from tests.dashboard.payloads import INTRUDERS

TIME: Final = re.compile(r"(?:[\d-]{10} )?\d\d:\d\d(?::\d\d)? UTC")
SHOWN_S: Final = 30.0
"""Far more than anything takes: whatever is missing then does not come."""
LOOK_MS: Final = 200
"""What is shown may depend on more than changes of the page: on where it stands, for one."""
NOWHERE: Final = "/admin/plans"
"""Shows nothing that somebody hands in, and does not take long."""
AT_ONCE: Final = 10
"""Steps of one call; a page that shows nothing of what is wanted is given up soon enough."""


class Text(NamedTuple):
    """Something to be read in a place."""

    place: str
    text: str
    is_part: bool = False
    """Of a longer text; else a text node says this and nothing else, so that no other can be taken for it."""
    is_sentence: bool = False
    """Part of a sentence of the hub's, which is shown without the backquotes around what is to be typed."""


class Stop(NamedTuple):
    """Where to go or what to press, by its text or label, and what is to be seen then."""

    wanted: Sequence[Text]
    path: str | None = None
    press: str | None = None
    enter: tuple[str, str] | None = None
    """A label of a list or a field, and the value that is chosen or typed there."""
    away: str = NOWHERE
    """A page that shows nothing of what is wanted: there first, if any of it is to be seen already."""


def whole(place: str, text: str) -> Text:
    return Text(place, text)


def part(place: str, text: str) -> Text:
    return Text(place, text, is_part=True)


def in_json(place: str, text: str) -> Text:
    return part(place, json.dumps(text, ensure_ascii=False))


def sentence(place: str, text: str) -> Text:
    """As far as the first time in it, which is told by the reader's clock."""
    return Text(place, TIME.split(text)[0].replace("`", ""), is_sentence=True)


def alone(place: str, text: str) -> Text:
    """Said by the hub as a sentence of its own."""
    return sentence(place, text) if "`" in text else whole(place, text)


WALK: Final = """async ({ stops, withinMs }) => {
  const intruders = INTRUDERS;
  // To look again and again would keep the page from drawing what is waited for.
  const change = (withinMs) => new Promise((over) => {
    const watch = new MutationObserver(() => end());
    const timer = setTimeout(() => end(), withinMs);
    const end = () => { watch.disconnect(); clearTimeout(timer); setTimeout(over); };
    watch.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  });
  const nodesOf = (place) => {
    const found = [];
    const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) found.push(walker.currentNode);
    return found;
  };
  const headOf = (element) => document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode()?.data;
  const placesByName = () => {
    const named = new Map();
    const add = (name, place) => place && named.set(name, [...(named.get(name) ?? []), place]);
    for (const one of document.querySelectorAll("h1")) add("", one);
    for (const one of document.querySelectorAll("[aria-label]")) {
      // What is measured is told beside the bar.
      add(one.ariaLabel, one.role === "progressbar" ? one.parentElement : one);
    }
    for (const head of document.querySelectorAll("dt, h2, h3, li")) {
      add(headOf(head), head.localName === "dt" ? head.nextElementSibling : head.closest("li, section, dialog"));
    }
    return named;
  };
  const read = (place) => {
    const all = place.textContent;
    return { all, plain: all.replaceAll("`", ""), nodes: new Set(nodesOf(place).map((node) => node.data)) };
  };
  const isIn = ({ all, plain, nodes }, { text, is_part, is_sentence }) =>
    is_sentence ? plain.includes(text) : is_part ? all.includes(text) : nodes.has(text);
  const missingOf = (wanted) => {
    const named = placesByName();
    const texts = new Map();
    const textsOf = (name) => {
      // Many are looked for in one place, so it is read once.
      if (!texts.has(name)) texts.set(name, (named.get(name) ?? []).map(read));
      return texts.get(name);
    };
    return wanted.filter((one) => !textsOf(one.place).some((place) => isIn(place, one)));
  };
  const called = (name) => {
    const labelled = [...document.querySelectorAll("[aria-label]")].find((one) => one.ariaLabel === name);
    return labelled ?? nodesOf(document.querySelector("main")).find((node) => node.data === name)?.parentElement;
  };
  const enter = ([label, value]) => {
    const isCalled = (one) => one.ariaLabel === label || one.labels[0]?.textContent === label;
    const field = [...document.querySelectorAll("select, input")].find(isCalled);
    if (field === undefined || (field.options && ![...field.options].some((one) => one.value === value))) return false;
    field.focus();
    // Past the library, which takes for its own doing whatever is set by the element.
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set.call(field, value);
    field.dispatchEvent(new Event(field.options ? "change" : "input", { bubbles: true }));
    return true;
  };
  const wrong = [];
  for (const { path, press, enter: entered, away, wanted } of stops) {
    const began = performance.now();
    const until = async (condition) => {
      while (!condition() && performance.now() - began < withinMs) await change(LOOK_MS);
    };
    document.querySelector("dialog[open] [aria-label=Close]")?.click();
    if (path !== null) {
      const isThere = () => missingOf(wanted).length < wanted.length;
      if (isThere()) history.pushState({}, "", away);
      await until(() => !isThere());
      history.pushState({}, "", path);
    }
    if (press !== null) {
      await until(() => called(press) !== undefined);
      called(press)?.click();
    }
    if (entered !== null) await until(() => enter(entered));
    let missing = wanted;
    await until(() => (missing = missingOf(missing)).length === 0);
    const at = path ?? press ?? entered.join(": ");
    wrong.push(...missing.map(({ place, text }) => `${at}, ${place}: nowhere is ${text}`));
    wrong.push(...intruders().map((one) => `${at}: ${one}`));
    if (missing.length > 0) break;
  }
  return wrong;
}""".replace("INTRUDERS", INTRUDERS).replace("LOOK_MS", str(LOOK_MS))
"""What is wrong at the first stop that lacks something, and what no page of ours has."""


def set_out(page: Page) -> None:
    """Without waiting for it to settle: each stop is waited for."""
    page.goto(NOWHERE)
    page.get_by_role("heading", level=1).first.wait_for()


def wrong_on(page: Page, stops: Iterable[Stop]) -> list[str]:
    """What a walk found; nothing, if every stop shows what it should, as texts."""
    rest = list(stops)
    wrong: list[str] = []
    assert rest
    while rest and not wrong:
        some, rest = rest[:AT_ONCE], rest[AT_ONCE:]
        wrong = page.evaluate(WALK, {"stops": [as_said(stop) for stop in some], "withinMs": SHOWN_S * 1000})
    return wrong


def as_said(stop: Stop) -> dict[str, Any]:
    return {**stop._asdict(), "wanted": [text._asdict() for text in stop.wanted]}
