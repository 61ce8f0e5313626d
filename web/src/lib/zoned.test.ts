import { expect, it } from "vitest";

import { fromField, toField } from "./zoned";

const PARIS = "Europe/Paris";

it.each([
  ["2026-01-15T09:30", PARIS, "2026-01-15T08:30:00Z"],
  ["2026-07-15T09:30", PARIS, "2026-07-15T07:30:00Z"],
  ["2026-07-15T09:30", "Asia/Kolkata", "2026-07-15T04:00:00Z"],
  ["2026-07-15T00:10", "UTC", "2026-07-15T00:10:00Z"],
])("reads %s in %s as %s, and writes it back", (text, zone, instant) => {
  const at = Date.parse(instant);
  expect(fromField(text, zone)).toBe(at);
  expect(toField(at, zone)).toBe(text);
});

it("takes the first of a time that clocks show twice", () => {
  expect(fromField("2026-10-25T02:30", PARIS)).toBe(Date.parse("2026-10-25T00:30:00Z"));
});

it("takes what follows a time that clocks skip", () => {
  expect(toField(fromField("2026-03-29T02:30", PARIS) ?? 0, PARIS)).toBe("2026-03-29T03:30");
});

it.each(["", "tomorrow", "2026-02-31"])("knows that %j is no time", (text) => {
  expect(fromField(text, PARIS)).toBeNull();
});
