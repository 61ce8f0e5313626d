import { expect, test } from "vitest";

import { deed, type Entry, namesIn, searchable, who, whom } from "./deeds";

const entry: Entry = { at: "2026-01-01T00:00:00Z", actor: "user:u1", action: "queue.pause", subject: "cloud", old: null, new: null, by: "ann" };
const names = new Map([["cloud", "cloud"]]);

test("a known action is told in words, an unknown one in its own", () => {
  expect(deed(entry)).toBe("paused a queue");
  expect(deed({ ...entry, action: "moon.land" })).toBe("moon land");
});

test("whoever acted is named as people know them", () => {
  expect(who({ ...entry, by: "ann (key laptop)" })).toBe("ann (key laptop)");
  expect(who({ ...entry, by: null })).toBe("user:u1");
});

test("an entry is found by who, what and to which", () => {
  for (const word of ["ann", "paused", "queue.pause", "cloud"]) expect(searchable(entry, names)).toContain(word);
});

test("a schedule is called by the name it was made with, also where only its id is told", () => {
  const made = { ...entry, action: "schedule.create", subject: "01a1", new: "Morning summary" };
  expect(whom("01a1", new Map(namesIn([entry, made])))).toBe("Morning summary");
});
