import { expect, test } from "vitest";

import { Problem } from "~/api/problem";

import { faultsIn, faultsUnder } from "./faults";

function refused(...errors: { path: string; message: string }[]): Problem {
  return new Problem({ status: 422, code: "INVALID_INPUT", title: "Not valid", detail: "It is not valid.", errors });
}

test("a fault stands at its field, as a sentence", () => {
  const faults = faultsIn(refused({ path: "priority", message: "should be at most 10" }), ["priority"]);
  expect(faults.of("priority", "Priority")).toBe("Priority should be at most 10.");
  expect(faults.rest).toBeUndefined();
});

test("a fault within a list belongs to the list's field, one of a part to the part's", () => {
  const faults = faultsIn(refused({ path: "task.depends_on[2]", message: "There is no such task." }), ["task.depends_on"]);
  expect(faultsUnder(faults, "task.").of("depends_on", "After")).toBe("There is no such task.");
});

test("a fault that has no field is told with the form", () => {
  expect(faultsIn(refused({ path: "probe.url", message: "is no address" }), ["name"]).rest).toBe("It is not valid.");
  expect(faultsIn(refused(), ["name"]).rest).toBe("It is not valid.");
  expect(faultsIn(null, ["name"]).rest).toBeUndefined();
});
