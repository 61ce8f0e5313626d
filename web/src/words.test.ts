import { expect, test } from "vitest";

import { inWords, settledAt, titleOf } from "./words";

test("a task is called by its title, else by its input's first line", () => {
  expect(titleOf({ title: "Tidy up", input: "x", ref: "T-001" })).toBe("Tidy up");
  expect(titleOf({ title: null, input: "\n Do this.\nThen that.", ref: "T-001" })).toBe("Do this.");
});

test("a name that nobody could see or press is none", () => {
  expect(titleOf({ title: "   ", input: "Do this.", ref: "T-001" })).toBe("Do this.");
  expect(titleOf({ title: "\u200b\u2060", input: "\n \u200b", ref: "T-001" })).toBe("T-001");
  expect(titleOf({ title: "🛠", input: "x", ref: "T-001" })).toBe("🛠");
});

test("a sentence of the hub's names statuses in words", () => {
  expect(inWords("it depends on T-017 (permanently_failed), and waits")).toBe("it depends on T-017 (failed for good), and waits");
});

test("a level that the hub did not grant is not claimed", () => {
  expect(settledAt("T-001 is", "critical", "critical")).toBe("T-001 is critical now.");
  expect(settledAt("T-001 is", "critical", "normal")).toBe("T-001 is normal: your key or plan allows no more.");
  expect(settledAt("T-001 is", "low", "high")).toBe("T-001 is high: its deadline, or a task that waits for it, keeps it there.");
});
