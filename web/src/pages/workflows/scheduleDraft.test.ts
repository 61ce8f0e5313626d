import { expect, test } from "vitest";

import type { Schedule } from "~/api/client";

import { bodyOf, changeOf, draftOfSchedule, newDraft } from "./scheduleDraft";

const SCHEDULE = {
  name: "Watch",
  every: "15m",
  cron: null,
  timezone: "UTC",
  catch_up: "one",
  max_lateness: 120,
  task: { title: "Watch", input: "Watch it.", goal: "know" },
} as unknown as Schedule;

test("a schedule that nobody changed has nothing to be changed", () => {
  expect(changeOf(SCHEDULE, draftOfSchedule(SCHEDULE))).toEqual({});
});

test("only what differs is sent, and a task keeps what the form does not show", () => {
  const draft = draftOfSchedule(SCHEDULE);
  const change = changeOf(SCHEDULE, { ...draft, amount: "20", latenessMin: "", task: { ...draft.task, input: "Look." } });
  expect(change).toEqual({ every: "20m", max_lateness: null, task: { title: "Watch", input: "Look.", goal: "know" } });
});

test("a new one goes by what was chosen alone", () => {
  const body = bodyOf({ ...newDraft("Asia/Tokyo"), name: " Daily ", cron: "0 9 * * *" });
  expect(body).toMatchObject({ name: "Daily", cron: "0 9 * * *", timezone: "Asia/Tokyo" });
  expect(body).not.toHaveProperty("every");
});
