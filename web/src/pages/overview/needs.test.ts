import { expect, test } from "vitest";

import type { Breaker, Daemon, Queue, User } from "~/api/client";

import { type Found, needsOf } from "./needs";

const NOW = Date.parse("2026-01-02T12:00:00Z");
const online = { name: "here", status: "online" } as Daemon;
const nothing: Found = { patterns: [], blocked: 0, breakers: [], queues: [], daemons: [online], users: [], held: [], isAdmin: true, now: NOW };

const texts = (found: Partial<Found>) => needsOf({ ...nothing, ...found }).map((need) => [need.text, need.note]);

test("a yard that goes on by itself needs nobody", () => {
  expect(needsOf(nothing)).toEqual([]);
});

test("dead letters are counted with the ways in which they failed", () => {
  expect(texts({ patterns: [{ count: 12 }, { count: 5 }] })).toEqual([["17 tasks failed for good", "in 2 ways"]]);
});

test("blocked tasks lead to the list of them", () => {
  const [need] = needsOf({ ...nothing, blocked: 1 });
  expect([need?.text, need?.to, need?.search]).toEqual(["1 task is blocked", "/queue", { status: "blocked" }]);
});

test("an open breaker names its type, and its owner where there are several", () => {
  const breakers = [{ type: "docs", user_id: "u_1", state: "open" } as Breaker, { type: "ops", state: "closed" } as Breaker];
  expect(texts({ breakers })).toEqual([["1 breaker is open", "docs"]]);
  const users = [{ id: "u_1", name: "ann" } as User, { id: "u_2", name: "bob" } as User];
  expect(texts({ breakers, users })).toEqual([["1 breaker is open", "docs of ann"]]);
});

test("a daemon that went away is told for a day", () => {
  const gone = (name: string, last_heartbeat: string) => ({ name, status: "offline", last_heartbeat }) as Daemon;
  const daemons = [online, gone("mac", "2026-01-02T11:00:00Z"), gone("old", "2025-12-01T00:00:00Z")];
  expect(texts({ daemons })).toEqual([["1 daemon went away within a day", "mac"]]);
});

test("a yard without a daemon says that one is to be added, or looked after, and nothing beside it", () => {
  const held = [{ code: "NO_DAEMON" as const, message: "None came.", would_help: null, tasks: 2, example: "T-001" }];
  const [need, ...others] = needsOf({ ...nothing, daemons: [], held });
  expect([need?.text, need?.to, need?.action, others]).toEqual(["No daemon is connected", "/daemons", "Add one", []]);
  const gone = [{ name: "mac", status: "offline", last_heartbeat: "2026-01-02T11:00:00Z" } as Daemon];
  expect(needsOf({ ...nothing, daemons: gone }).map(({ text, action }) => [text, action])).toEqual([["No daemon is connected", "Look"]]);
});

test("a paused queue that somebody neither uses nor may resume is none of their business", () => {
  const queues = [{ name: "gpt", state: "paused", waiting: 0 } as Queue];
  expect(needsOf({ ...nothing, queues, isAdmin: false })).toEqual([]);
  expect(texts({ queues })).toEqual([["1 queue is paused", "gpt; 0 tasks wait"]]);
});

test("a paused queue tells how many wait for it", () => {
  const queues = [{ name: "gpt", state: "paused", waiting: 3 } as Queue, { name: "default", state: "open" } as Queue];
  expect(texts({ queues })).toEqual([["1 queue is paused", "gpt; 3 tasks wait"]]);
});

test("what no daemon can run is told with what would help", () => {
  const held = [
    { code: "NO_ELIGIBLE_DAEMON" as const, message: "None has hands.", would_help: "mac would qualify", tasks: 2, example: "T-001" },
    { code: "BEHIND_OTHERS" as const, message: "Others go first.", would_help: null, tasks: 9, example: "T-002" },
  ];
  expect(texts({ held })).toEqual([["2 tasks have no daemon that can run them", "mac would qualify"]]);
});
