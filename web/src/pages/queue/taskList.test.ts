import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { Page, Status, Task } from "~/api/client";
import type { LiveEvent } from "~/live/stream";

import { KEPT_PAGES_MAX, REFRESH_MS, TaskList } from "./taskList";

const PAGE = 10;

/** A hub's list: the newest first, pages behind cursors. */
class Hub {
  tasks: Task[] = [];
  asked: (string | null)[] = [];

  constructor(count: number) {
    for (let number = 1; number <= count; number += 1) this.add(number);
  }

  add(number: number, status: Status = "queued"): void {
    this.tasks.unshift(task(number, status));
  }

  change(number: number, status: Status): LiveEvent {
    const at = this.tasks.findIndex((one) => one.id === idOf(number));
    const before = this.tasks[at]?.status ?? null;
    this.tasks[at] = task(number, status);
    return event("task.changed", number, before, status);
  }

  fetch = (cursor: string | null, statuses: readonly Status[] = []): Promise<Page<Task>> => {
    this.asked.push(cursor);
    const place = cursor?.slice("after ".length) ?? null;
    const below = this.tasks.filter((one) => place === null || one.id < place);
    const listed = below.filter((one) => statuses.length === 0 || statuses.includes(one.status));
    const rows = listed.slice(0, PAGE);
    // Nothing that could be compared with an id: cursors are the hub's own affair.
    return Promise.resolve({ rows, cursor: listed.length > PAGE ? `after ${rows.at(-1)?.id ?? ""}` : null });
  };
}

function idOf(number: number): string {
  return String(number).padStart(6, "0");
}

function task(number: number, status: Status): Task {
  const said = { id: idOf(number), ref: `T-${String(number)}`, user_id: "u", title: `Task ${String(number)}`, input: "" };
  const rest = { status, priority: "normal", priority_value: 5, type: "code", queue: "default", source: { type: "user" } };
  return { ...said, ...rest, depends_on: [], created_at: "2026-01-01T00:00:00Z" } as unknown as Task;
}

function event(name: LiveEvent["event"], number: number, from: Status | null, to: Status | null): LiveEvent {
  const about = { task_id: idOf(number), ref: null, user_id: "u", attempt: null, data: {} };
  return { id: null, event: name, at: "2026-01-01T00:00:01Z", from, to, ...about };
}

function listOf(hub: Hub, { statuses = [] as Status[], atRest = { is: true } } = {}) {
  return new TaskList({
    fetch: (cursor) => hub.fetch(cursor, statuses),
    statuses,
    isAtRest: () => atRest.is,
    isBelow: (row, other) => row.id < other.id,
  });
}

function refsOf(list: TaskList): (string | undefined)[] {
  return Array.from({ length: list.snapshot().rows }, (_, index) => list.rowAt(index)?.ref);
}

async function told(list: TaskList, ...events: LiveEvent[]) {
  list.take({ events, hasGap: false });
  await vi.advanceTimersByTimeAsync(REFRESH_MS);
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("it begins with as many rows as a screen has, and goes on when its end comes near", async () => {
  const list = listOf(new Hub(100));
  await list.restart();
  expect(list.snapshot()).toMatchObject({ rows: 30, hasMore: true, isLoading: false });
  await list.more();
  expect(list.snapshot().rows).toBe(60);
  expect(list.rowAt(59)?.ref).toBe("T-41");
});

test("only the pages around what is in sight are kept, and the others come back when they are looked at", async () => {
  const hub = new Hub(500);
  const list = listOf(hub);
  await list.restart();
  while (list.snapshot().hasMore) {
    await list.more();
    list.show(list.snapshot().rows - 5, list.snapshot().rows - 1);
  }
  expect(list.snapshot().rows).toBe(500);
  // The first page and so many others.
  expect(list.kept()).toHaveLength((KEPT_PAGES_MAX + 1) * PAGE);
  expect(list.rowAt(100)).toBeUndefined();
  list.show(100, 119);
  await vi.advanceTimersByTimeAsync(REFRESH_MS);
  expect(list.rowAt(100)?.ref).toBe("T-400");
  expect(list.rowAt(119)?.ref).toBe("T-381");
});

test("an event changes its row where it is", async () => {
  const hub = new Hub(5);
  const list = listOf(hub, { atRest: { is: false } });
  await list.restart();
  list.take({ events: [hub.change(3, "running")], hasGap: false });
  expect(list.rowAt(2)).toMatchObject({ ref: "T-3", status: "running", isGone: false });
});

test("what happens while the first page is on its way is not missed", async () => {
  const hub = new Hub(5);
  const list = listOf(hub);
  const coming = list.restart();
  hub.add(6);
  list.take({ events: [hub.change(3, "running"), event("task.created", 6, null, "queued")], hasGap: false });
  await coming;
  await vi.advanceTimersByTimeAsync(REFRESH_MS);
  expect(refsOf(list)[0]).toBe("T-6");
  expect(list.rowAt(3)).toMatchObject({ ref: "T-3", status: "running" });
});

test("what has come is not asked for again while nothing happens", async () => {
  const hub = new Hub(5);
  const list = listOf(hub);
  await list.restart();
  await vi.advanceTimersByTimeAsync(REFRESH_MS);
  expect(hub.asked).toEqual([null]);
});

test("a list at rest takes in what is new, and lets go what no longer fits", async () => {
  const hub = new Hub(5);
  const list = listOf(hub, { statuses: ["queued"] });
  await list.restart();
  hub.add(6);
  await told(list, hub.change(2, "running"), event("task.created", 6, null, "queued"));
  expect(refsOf(list)).toEqual(["T-6", "T-5", "T-4", "T-3", "T-1"]);
});

test("under a pointer nothing moves: what is new is counted, and what no longer fits stays", async () => {
  const hub = new Hub(5);
  const atRest = { is: false };
  const list = listOf(hub, { statuses: ["queued"], atRest });
  await list.restart();
  hub.add(6);
  hub.add(7);
  await told(list, hub.change(2, "running"), event("task.created", 6, null, "queued"));
  expect(refsOf(list)).toEqual(["T-5", "T-4", "T-3", "T-2", "T-1"]);
  expect(list.rowAt(3)).toMatchObject({ status: "running", isGone: true });
  expect(list.snapshot().fresh).toBe(2);
  // And when the pointer has left
  atRest.is = true;
  list.settle();
  await vi.advanceTimersByTimeAsync(REFRESH_MS);
  expect(refsOf(list)).toEqual(["T-7", "T-6", "T-5", "T-4", "T-3", "T-1"]);
  expect(list.snapshot().fresh).toBe(0);
});

test("rows that new ones push off the first page have gone nowhere", async () => {
  const hub = new Hub(40);
  const list = listOf(hub, { statuses: ["queued"], atRest: { is: false } });
  await list.restart();
  for (const number of [41, 42, 43]) hub.add(number);
  await told(list, event("task.created", 43, null, "queued"));
  expect(list.snapshot().fresh).toBe(3);
  expect(list.kept().some((row) => row.isGone)).toBe(false);
});

test("five hundred events a second are one look a second", async () => {
  const hub = new Hub(20);
  const list = listOf(hub);
  await list.restart();
  list.show(0, 9);
  hub.asked = [];
  for (let batch = 0; batch < 20; batch += 1) {
    hub.add(100 + batch);
    const events = Array.from({ length: 125 }, () => event("task.created", 100 + batch, null, "queued"));
    list.take({ events, hasGap: false });
    await vi.advanceTimersByTimeAsync(250);
  }
  expect(hub.asked.length).toBeLessThanOrEqual(7);
  expect(list.rowAt(0)?.ref).toBe("T-119");
});

test("what comes while the list is being looked at is looked at next", async () => {
  const hub = new Hub(5);
  let answer = () => undefined as unknown;
  const list = new TaskList({
    fetch: async (cursor) => {
      const found = await hub.fetch(cursor);
      if (hub.asked.length === 2) await new Promise<void>((resolve) => (answer = resolve));
      return found;
    },
    statuses: [],
    isAtRest: () => true,
    isBelow: (row, other) => row.id < other.id,
  });
  await list.restart();
  hub.add(6);
  await told(list, event("task.created", 6, null, "queued"));
  hub.add(7);
  await told(list, event("task.created", 7, null, "queued"));
  answer();
  await vi.advanceTimersByTimeAsync(REFRESH_MS);
  expect(list.rowAt(0)?.ref).toBe("T-7");
});

test("a search goes on through pieces that have nothing, so far and no further", async () => {
  let pieces = 0;
  const list = new TaskList({
    fetch: () => Promise.resolve({ rows: [], cursor: String((pieces += 1)) }),
    statuses: [],
    isAtRest: () => true,
    isBelow: () => false,
  });
  await list.restart();
  expect(pieces).toBe(21);
  expect(list.snapshot()).toMatchObject({ rows: 0, hasMore: true, isLoading: false });
});

test("a hub that is away is said, and asked again", async () => {
  const hub = new Hub(5);
  let isAway = true;
  const list = new TaskList({
    fetch: (cursor) => (isAway ? Promise.reject(new Error("away")) : hub.fetch(cursor)),
    statuses: [],
    isAtRest: () => true,
    isBelow: (row, other) => row.id < other.id,
  });
  await list.restart();
  expect(list.snapshot()).toMatchObject({ rows: 0, isLoading: false, error: new Error("away") });
  isAway = false;
  list.take({ events: [], hasGap: true });
  await vi.advanceTimersByTimeAsync(0);
  expect(list.snapshot()).toMatchObject({ rows: 5, error: null });
});
