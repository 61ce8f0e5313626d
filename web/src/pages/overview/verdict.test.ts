import { expect, test } from "vitest";

import { type Facts, verdictOf } from "./verdict";

const calm: Facts = { running: 12, waiting: 40, daemonsOnline: 3, pressure: "normal", waitS: 6, needs: 0, held: [] };
const hours = { code: "USER_HOURS" as const, message: "You have used 40 of 40 hours.", tasks: 310 };

test("a yard at work is well, and says when a new task would start", () => {
  expect(verdictOf(calm)).toEqual({
    tone: "well",
    head: "All well",
    says: "12 running, 40 queued, a new task would start in about 6 s.",
  });
});

test("waiting behind others is no trouble", () => {
  const held = [{ code: "BEHIND_OTHERS" as const, message: "Others go first.", tasks: 40 }];
  expect(verdictOf({ ...calm, held }).head).toBe("All well");
});

test("what holds most of the tasks back is the verdict, in the hub's words", () => {
  const said = verdictOf({ ...calm, waiting: 320, held: [hours] });
  expect(said).toEqual({
    tone: "attention",
    head: "Held back",
    says: "310 tasks wait. You have used 40 of 40 hours.",
  });
});

test("somebody else's reason names them", () => {
  const said = verdictOf({ ...calm, waiting: 320, held: [{ ...hours, user: { name: "mira" } }] });
  expect(said.says).toBe("310 tasks wait. mira: You have used 40 of 40 hours.");
});

test("work that goes on while something needs a person is mostly well", () => {
  expect(verdictOf({ ...calm, needs: 3, held: [{ ...hours, tasks: 3 }] })).toEqual({
    tone: "attention",
    head: "Mostly well",
    says: "12 running, 40 queued, a new task would start in about 6 s. 3 things need a person.",
  });
});

test("without a daemon it stands still", () => {
  expect(verdictOf({ ...calm, daemonsOnline: 0 })).toMatchObject({ tone: "failed", head: "Standing still" });
  expect(verdictOf({ ...calm, daemonsOnline: 0, waiting: 0 }).tone).toBe("attention");
});

test("a line that is too long goes before what holds it", () => {
  expect(verdictOf({ ...calm, pressure: "critical", held: [hours] }).head).toBe("Overfull");
});

test("nothing to do is quiet", () => {
  expect(verdictOf({ ...calm, running: 0, waiting: 0 }).head).toBe("All quiet");
});
