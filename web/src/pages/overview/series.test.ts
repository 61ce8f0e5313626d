import { expect, test } from "vitest";

import type { History } from "~/api/queries/figures";

import { line, type Point, rate, stepsOf } from "./series";

const point = (at: string, completed: number): Point => ({
  at,
  depth: {},
  running: 0,
  enqueued: 0,
  completed,
  failed: 0,
  wait_p50_ms: null,
  wait_p99_ms: null,
  execution_p50_ms: null,
  execution_p99_ms: null,
  slots: 0,
  slots_used: 0,
  daemons_online: 0,
});

const history = (...points: Point[]): History => ({ range: "hour", step_s: 120, from: "2026-01-01T00:00:00Z", points });

test("a step that nobody wrote down is a gap in the line", () => {
  const steps = stepsOf(history(point("2026-01-01T00:00:00Z", 4), point("2026-01-01T00:04:00Z", 6)));
  expect(steps.times.map((time) => time - (steps.times[0] ?? 0))).toEqual([0, 120, 240]);
  expect(line(steps, (one) => one.completed)).toEqual([4, null, 6]);
});

test("a minute in which nothing started has no wait, and does not break the line", () => {
  const steps = stepsOf(history(point("2026-01-01T00:00:00Z", 4)));
  expect(line(steps, (one) => one.wait_p50_ms)).toEqual([undefined]);
});

test("a rate is per minute, whatever the step", () => {
  const steps = stepsOf(history(point("2026-01-01T00:00:00Z", 4)));
  expect(rate(steps, 120, (one) => one.completed)).toEqual([2]);
});

test("the step that is going on is left out: its count is of less than a step", () => {
  const steps = stepsOf(history(point("2026-01-01T00:58:00Z", 4), point("2026-01-01T01:00:00Z", 1)));
  expect(steps.points.at(-1)?.completed).toBe(4);
  expect(steps.times).toHaveLength(30);
});

test("a hub that has just started has nothing to show", () => {
  expect(stepsOf(history())).toEqual({ times: [], points: [] });
});
