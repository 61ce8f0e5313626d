import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { type Batch, GATHER_EVENTS_MAX, GATHER_MS, Gatherer } from "./batches";
import type { LiveEvent } from "./stream";
import { topicsOf } from "./topics";

const event = (name: LiveEvent["event"]): LiveEvent => ({
  id: null,
  event: name,
  at: "2026-01-01T00:00:00Z",
  user_id: null,
  task_id: null,
  ref: null,
  attempt: null,
  from: null,
  to: null,
  data: {},
});

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("what happens within a quarter of a second is told at once", () => {
  const told: Batch[] = [];
  const gatherer = new Gatherer((batch) => told.push(batch));
  for (let index = 0; index < 100; index += 1) gatherer.add(event("task.started"));
  expect(told).toEqual([]);
  vi.advanceTimersByTime(GATHER_MS);
  expect(told.map((batch) => [batch.events.length, batch.hasGap])).toEqual([[100, false]]);
});

test("more than it can hold is a gap, not more memory", () => {
  const told: Batch[] = [];
  const gatherer = new Gatherer((batch) => told.push(batch));
  for (let index = 0; index < GATHER_EVENTS_MAX + 5; index += 1) gatherer.add(event("task.started"));
  vi.advanceTimersByTime(GATHER_MS);
  expect(told[0]?.events).toHaveLength(GATHER_EVENTS_MAX);
  expect(told[0]?.hasGap).toBe(true);
});

test("a gap is told at once, with what was gathered before it", () => {
  const told: Batch[] = [];
  const gatherer = new Gatherer((batch) => told.push(batch));
  gatherer.add(event("task.started"));
  gatherer.gap();
  expect(told.map((batch) => [batch.events.length, batch.hasGap])).toEqual([[1, true]]);
  vi.advanceTimersByTime(GATHER_MS);
  expect(told).toHaveLength(1);
});

test("progress and logs touch no list and no figure", () => {
  expect(topicsOf([event("task.progress"), event("task.log")])).toEqual(new Set());
});

test("a breaker that opens touches breakers, reasons and figures", () => {
  expect(topicsOf([event("breaker.opened")])).toEqual(new Set(["breakers", "why", "held", "figures"]));
});
