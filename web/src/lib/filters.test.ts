import { expect, test } from "vitest";

import { parseFilters, writeFilters } from "./filters";

test("what is written into an address is read from it", () => {
  const filters = { status: "running,failed", q: 'a "quoted" & odd=word', user: "u_1" };
  expect(parseFilters(writeFilters(filters))).toEqual(filters);
});

test("a number stays the text that it was", () => {
  expect(parseFilters("?q=042")).toEqual({ q: "042" });
});

test("what is empty is left out", () => {
  expect(writeFilters({ status: "", q: undefined })).toBe("");
});

test("the same filters make the same address, whichever was chosen first", () => {
  expect(writeFilters({ q: "gate", priority: "low" })).toBe("?priority=low&q=gate");
  expect(writeFilters({ priority: "low", q: "gate" })).toBe("?priority=low&q=gate");
});
