import { expect, test } from "vitest";

import type { Level } from "~/api/client";
import type { BulkAnswer } from "~/lib/taskActions";

import { settled } from "./sentences";

function answered(...levels: (Level | "refused")[]): BulkAnswer {
  const results = levels.map((level, index) => {
    const id = `T-00${String(index + 1)}`;
    const said = { id, task_id: id, ref: id, code: null, detail: null };
    if (level !== "refused") return { ...said, ok: true, status: "queued" as const, priority: level };
    return { ...said, ok: false, status: "running" as const, priority: "low" as const, detail: `${id} is running already.` };
  });
  const refused = levels.filter((level) => level === "refused").length;
  return { preview: false, results, also: [], counts: { ok: levels.length - refused, refused, also: 0 } };
}

function asked(level: Level, { results }: BulkAnswer): Map<string, Level> {
  return new Map(results.map((one) => [one.id, level]));
}

function said(level: Level, told: BulkAnswer): string {
  return settled(asked(level, told), told);
}

test("a level that was granted is told for one and for many", () => {
  expect(said("high", answered("high"))).toBe("T-001 is high now.");
  expect(said("high", answered("high", "high"))).toBe("2 tasks are high now.");
});

test("a level that was not granted is not claimed", () => {
  expect(said("critical", answered("normal"))).toBe("T-001 is normal: your key or plan allows no more.");
  expect(said("critical", answered("critical", "normal", "normal"))).toBe("T-001 is critical now. 2 tasks are normal: your key or plan allows no more.");
});

test("those that were refused are told with the reason", () => {
  expect(said("high", answered("refused"))).toBe("T-001 is running already.");
  expect(said("high", answered("high", "refused"))).toBe("T-001 is high now. 1 could not be changed. T-002 is running already.");
});
