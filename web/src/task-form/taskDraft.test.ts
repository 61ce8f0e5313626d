import { expect, test } from "vitest";

import { draftOf, EMPTY_DRAFT, submissionOf } from "./taskDraft";

test("what was left empty is not sent, so that the hub's own defaults hold", () => {
  expect(submissionOf({ ...EMPTY_DRAFT, input: "Count the boats" })).toEqual({ input: "Count the boats" });
});

test("a task that goes through the form comes out as it was, also what the form has no field for", () => {
  const task = {
    input: "Count the boats",
    type: "report",
    priority: 7,
    goal: "know",
    requirements: { capabilities: ["eyes", "boat"], memory_mb: 512 },
    execution: { timeout: 60, on_lost: "fail" },
  };
  expect(submissionOf(draftOf(task), task)).toEqual(task);
});

test("a field that is emptied takes its value away", () => {
  const task = { input: "x", queue: "claude", requirements: { target_daemon: "d1" } };
  const draft = { ...draftOf(task), queue: "", daemon: " " };
  expect(submissionOf(draft, task)).toEqual({ input: "x" });
});
