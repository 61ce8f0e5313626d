import { expect, test } from "vitest";

import { HUB_TIME, hubTime, plainSentence } from "./hubTimes";

const NOW = Date.parse("2026-11-16T22:30:00Z");

test.each([
  ["05:19:29 UTC", "2026-11-16T05:19:29Z"],
  ["2026-12-01 00:00 UTC", "2026-12-01T00:00:00Z"],
  ["2026-12-01 at 00:00 UTC", "2026-12-01T00:00:00Z"],
])("%s is a moment", (text, at) => {
  expect(hubTime(text, NOW)).toBe(Date.parse(at));
});

test.each(["T-12", "`05:19:29 UTC`", "05:19 UTC", "2026-13-01 00:00 UTC", "29:19:29 UTC"])("%s is none", (text) => {
  const found = new RegExp(`^${HUB_TIME}$`).test(text) ? hubTime(text, NOW) : null;
  expect(found).toBeNull();
});

test("they are found in a sentence, each as a whole", () => {
  const said = "It rests until 05:44:26 UTC, and starts anew on 2026-12-01 at 00:00 UTC.";
  expect(said.match(new RegExp(HUB_TIME, "g"))).toEqual(["05:44:26 UTC", "2026-12-01 at 00:00 UTC"]);
});

test("a title tells them by the reader's clock, and names without marks", () => {
  const said = "Only one task of the key `ledger` runs at a time until 05:44:26 UTC, on 2026-12-01 at 20:00 UTC at the latest.";
  expect(plainSentence(said, NOW, "Asia/Tokyo")).toBe(
    "Only one task of the key ledger runs at a time until 2026-11-16 14:44 GMT+9, on 2026-12-02 05:00 GMT+9 at the latest.",
  );
});
