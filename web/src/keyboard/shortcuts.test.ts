import { expect, test } from "vitest";

import { chosen, type Shortcut } from "./shortcuts";

const shortcut = (keys: string, group: Shortcut["group"], label: string): Shortcut => ({ keys, group, label, run: () => undefined });

test("a page overrules the shell, whichever was there first", () => {
  const [page, shell] = [shortcut("/", "This page", "Search tasks"), shortcut("/", "Everywhere", "Search")];
  expect(chosen([page, shell], "/")).toBe(page);
  expect(chosen([shell, page], "/")).toBe(page);
});

test("of two on one page the later one counts", () => {
  const [first, second] = [shortcut("j", "Lists", "one"), shortcut("j", "Lists", "two")];
  expect(chosen([first, second], "j")).toBe(second);
  expect(chosen([first], "k")).toBeUndefined();
});
