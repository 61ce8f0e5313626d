import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { MINUTE_MS, REFRESH_HELD_MS, REFRESH_MS, Refresher } from "./refresher";
import type { LiveEvent } from "./stream";

const event = (name: LiveEvent["event"]) => ({ event: name }) as LiveEvent;
const started = { events: [event("task.started")], hasGap: false };

let client: QueryClient;
let refresher: Refresher;
let isHidden: boolean;

/** How often the query of this key was fetched, the first time included. */
function watched(key: string, meta?: { live: boolean }): () => number {
  let fetched = 0;
  const options = { queryKey: [key], queryFn: () => (fetched += 1), ...(meta === undefined ? {} : { meta }) };
  new QueryObserver(client, options).subscribe(() => undefined);
  return () => fetched;
}

beforeEach(() => {
  vi.useFakeTimers();
  isHidden = false;
  client = new QueryClient();
  refresher = new Refresher(client, () => isHidden);
});

afterEach(() => {
  refresher.stop();
  client.clear();
  vi.useRealTimers();
});

test("an event fetches what it touches at once, and then at most once a second", async () => {
  const [tasks, plans] = [watched("tasks"), watched("people")];
  await vi.advanceTimersByTimeAsync(1);
  for (let quarter = 0; quarter < 8; quarter += 1) {
    refresher.take(started);
    await vi.advanceTimersByTimeAsync(250);
  }
  expect(tasks()).toBe(1 + 3);
  await vi.advanceTimersByTimeAsync(REFRESH_MS);
  expect(tasks()).toBe(1 + 3);
  expect(plans()).toBe(1);
});

test("what each user is asked for by itself is asked less often", async () => {
  const [held, tasks] = [watched("held"), watched("tasks")];
  await vi.advanceTimersByTimeAsync(1);
  for (let quarter = 0; quarter < 4 * 5; quarter += 1) {
    refresher.take(started);
    await vi.advanceTimersByTimeAsync(250);
  }
  expect([held(), tasks()]).toEqual([1 + 2, 1 + 6]);
  await vi.advanceTimersByTimeAsync(REFRESH_HELD_MS);
  expect([held(), tasks()]).toEqual([1 + 3, 1 + 6]);
});

test("an event during a fetch is followed by another, since the first may be from before it", async () => {
  let began = 0;
  const queryFn = () =>
    new Promise<number>((answered) => {
      began += 1;
      setTimeout(answered, 500, began);
    });
  new QueryObserver(client, { queryKey: ["tasks"], queryFn }).subscribe(() => undefined);
  await vi.advanceTimersByTimeAsync(1);
  refresher.take(started);
  await vi.advanceTimersByTimeAsync(10 * REFRESH_MS);
  expect(began).toBe(2);
});

test("a list that patches its own rows is left alone, until something was missed", async () => {
  const rows = watched("tasks", { live: false });
  await vi.advanceTimersByTimeAsync(1);
  refresher.take(started);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(rows()).toBe(1);
  refresher.take({ events: [], hasGap: true });
  await vi.advanceTimersByTimeAsync(1);
  expect(rows()).toBe(2);
});

test("rates follow the minute while somebody looks", async () => {
  const figures = watched("figures");
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  expect(figures()).toBe(2);
  isHidden = true;
  await vi.advanceTimersByTimeAsync(3 * MINUTE_MS);
  expect(figures()).toBe(2);
  isHidden = false;
  refresher.seen();
  await vi.advanceTimersByTimeAsync(1);
  expect(figures()).toBe(3);
});
