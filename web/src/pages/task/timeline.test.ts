import { describe, expect, it } from "vitest";

import type { Status, Task } from "~/api/client";

import type { Attempt, TaskEvent } from "./said";
import { placeOf, spansOf } from "./timeline";

const START = Date.parse("2026-01-01T00:00:00Z");
const at = (s: number) => new Date(START + s * 1000).toISOString();

function aTask(some: Partial<Task>): Task {
  return { status: "completed", depends_on: [], created_at: at(0), attempts: [], ...some } as Task;
}

function anAttempt(number: number, some: Partial<Attempt>): Attempt {
  return { number, series: 1, daemon_name: "d1", status: "success", started_at: at(0), ended_at: at(1), ...some } as Attempt;
}

function step(s: number, to: Status, { event = "task.queued", attempt = null }: Partial<TaskEvent> = {}): TaskEvent {
  return { at: at(s), to, event, attempt } as TaskEvent;
}

describe("a task's timeline", () => {
  it("names what was waited for, and who worked", () => {
    const task = aTask({
      depends_on: ["a", "b"],
      attempts: [anAttempt(1, { status: "failed" }), anAttempt(2, { daemon_name: "d2" })],
    });
    const spans = spansOf(task, [
      step(0, "waiting", { event: "task.created" }),
      step(10, "queued"),
      step(12, "scheduled", { attempt: 1 }),
      step(12, "running", { attempt: 1 }),
      step(20, "failed", { attempt: 1 }),
      step(20, "pending"),
      step(50, "queued"),
      step(50, "running", { attempt: 2 }),
      step(60, "completed", { attempt: 2 }),
    ]);
    expect(spans.map(({ name, from, to }) => [name, (from - START) / 1000, to === null ? null : (to - START) / 1000])).toEqual([
      ["Waited for 2 tasks", 0, 10],
      ["Waited in line", 10, 12],
      ["Attempt 1 on d1", 12, 20],
      ["Waited to try again", 20, 50],
      ["Attempt 2 on d2", 50, 60],
    ]);
  });

  it("lets what goes on have no end", () => {
    const task = aTask({ status: "running", attempts: [anAttempt(1, { status: "running", ended_at: null })] });
    const spans = spansOf(task, [step(0, "queued", { event: "task.created" }), step(0, "running", { attempt: 1 })]);
    expect(spans).toHaveLength(1);
    expect(spans[0]?.to).toBeNull();
  });

  it("says of what still waits that it waits", () => {
    const spans = spansOf(aTask({ status: "queued" }), [step(0, "queued", { event: "task.created" })]);
    expect(spans.map(({ name }) => name)).toEqual(["Waits in line"]);
  });

  it("tells from the attempts what no event is left of", () => {
    const attempts = [anAttempt(1, { started_at: at(2), ended_at: at(5) })];
    const spans = spansOf(aTask({ attempts, completed_at: at(5) }), []);
    expect(spans.map(({ name }) => name)).toEqual(["Waited in line", "Attempt 1 on d1"]);
  });

  it("says how long a dead letter lay before it was retried", () => {
    const events = [step(0, "permanently_failed", { event: "task.created" }), step(90, "queued"), step(95, "cancelled")];
    expect(spansOf(aTask({ status: "cancelled" }), events).map(({ name }) => name)).toEqual([
      "Was a dead letter",
      "Waited in line",
    ]);
  });

  it("places a span within the whole", () => {
    const span = { id: "", name: "", tone: "neutral", from: 25, to: 75, attempt: null } as const;
    expect(placeOf(span, 0, 100)).toEqual({ left: 0.25, width: 0.5 });
  });
});
