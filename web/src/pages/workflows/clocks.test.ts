import { expect, test } from "vitest";

import { nextChange, offsetWords } from "./clocks";

const NOVEMBER = Date.UTC(2026, 10, 15);

test("the next change is found to the minute, with what it changes", () => {
  const change = nextChange("Europe/Berlin", NOVEMBER);
  expect(change?.byMs).toBe(3_600_000);
  expect(Math.abs((change?.at ?? 0) - Date.UTC(2027, 2, 28, 1))).toBeLessThanOrEqual(60_000);
});

test("where clocks never change there is none", () => {
  expect(nextChange("Asia/Tokyo", NOVEMBER)).toBeNull();
  expect(nextChange("UTC", NOVEMBER)).toBeNull();
});

test("a place's distance from UTC is said in hours and minutes", () => {
  expect(offsetWords("Asia/Kolkata", NOVEMBER)).toBe("UTC+5:30");
  expect(offsetWords("America/New_York", NOVEMBER)).toBe("UTC−5");
  expect(offsetWords("UTC", NOVEMBER)).toBe("UTC");
});
