import { expect, test } from "vitest";

import { clockInZone, counted, duration, exact, relative } from "./format";

const MINUTE = 60_000;

test.each([
  [0, "0 s"],
  [0.4, "< 1 ms"],
  [820, "820 ms"],
  [4_230, "4.2 s"],
  [42_400, "42 s"],
  [192_000, "3 min 12 s"],
  [3_599_999, "60 min"],
  [125 * MINUTE, "2 h 5 min"],
  [76 * 60 * MINUTE, "3 d 4 h"],
])("%d ms is %s", (ms, said) => {
  expect(duration(ms)).toBe(said);
});

test("what is past and what is to come are told apart", () => {
  const now = Date.parse("2026-03-01T12:00:00Z");
  expect(relative(now - 5 * MINUTE, now)).toBe("5 min ago");
  expect(relative(now + 3 * 60 * MINUTE, now)).toBe("in 3 h");
  expect(relative(now + 500, now)).toBe("just now");
});

test("the exact time is that of the chosen zone, and names it", () => {
  expect(exact(Date.parse("2026-03-01T12:00:00Z"), "Asia/Tokyo")).toContain("21:00:00 GMT+9");
});

test("within a sentence a time is of the reader's clock, and says which that is", () => {
  const now = Date.parse("2026-03-01T22:30:00Z");
  expect(clockInZone(now, now, "UTC")).toBe("22:30:00 UTC");
  expect(clockInZone(now + 15 * MINUTE, now, "Europe/Berlin")).toBe("23:45:00 CET");
  expect(clockInZone(now + 60 * MINUTE, now, "Europe/Berlin")).toBe("2026-03-02 00:30 CET");
});

test("one is one", () => {
  expect([counted(1, "task"), counted(1200, "task")]).toEqual(["1 task", "1,200 tasks"]);
});
