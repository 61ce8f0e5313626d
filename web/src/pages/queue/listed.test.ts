import { expect, test } from "vitest";

import { countOf, mayHaveRun, queryOf, statusesOf, tabOf } from "./listed";

test("an address names a tab, some statuses, or all", () => {
  expect(statusesOf("running")).toEqual(["scheduled", "running"]);
  expect(statusesOf("timeout,failed")).toEqual(["timeout", "failed"]);
  expect(statusesOf("no-such-word")).toEqual([]);
  expect(statusesOf(undefined)).toEqual([]);
});

test("the tab that shows exactly these statuses is the chosen one", () => {
  expect(tabOf(undefined)).toBe("all");
  expect(tabOf("failed")).toBe("failed");
  expect(tabOf("queued,pending")).toBe("pending");
  expect(tabOf("timeout")).toBe("");
});

test("a list of what waits has no columns about runs", () => {
  expect(["pending", "waiting", "blocked", "queued"].map(mayHaveRun)).toEqual([false, false, false, false]);
  expect([undefined, "running", "failed", "queued,running"].map(mayHaveRun)).toEqual([true, true, true, true]);
});

test("a tab counts all that it lists", () => {
  const byStatus = { running: 3, scheduled: 1, completed: 40 };
  expect(countOf("running", byStatus)).toBe(4);
  expect(countOf("all", byStatus)).toBe(44);
});

test("what the hub would refuse is left out of its query", () => {
  const asked = { status: "blocked", priority: "urgent", source: "dream", type: "code", q: "  gate ", queue: "" };
  expect(queryOf(asked, { user: "*" })).toEqual({ user: "*", status: "blocked", exact: true, type: "code", q: "gate" });
});
