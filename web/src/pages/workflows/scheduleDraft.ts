/** A schedule while it is written down in a form. */

import type { Schedule, Schemas } from "~/api/client";
import { DRAFT_PATHS, draftOf, EMPTY_DRAFT, submissionOf, type TaskDraft } from "~/task-form/taskDraft";

import { splitEvery, type Unit } from "./when";

export interface ScheduleDraft {
  name: string;
  how: "cron" | "every";
  cron: string;
  amount: string;
  unit: Unit;
  zone: string;
  catchUp: Schemas["CatchUp"];
  latenessMin: string;
  task: TaskDraft;
}

/** Where the hub's faults are shown. */
export const SCHEDULE_PATHS = [
  ...["name", "cron", "every", "timezone", "catch_up", "max_lateness"],
  ...DRAFT_PATHS.map((path) => `task.${path}`),
];

export function newDraft(zone: string): ScheduleDraft {
  return {
    name: "",
    how: "cron",
    cron: "0 9 * * 1-5",
    amount: "15",
    unit: "m",
    zone,
    catchUp: "one",
    latenessMin: "",
    task: EMPTY_DRAFT,
  };
}

export function draftOfSchedule(schedule: Schedule): ScheduleDraft {
  const split = schedule.every === null ? null : splitEvery(schedule.every);
  return {
    ...newDraft(schedule.timezone),
    name: schedule.name,
    how: schedule.every === null ? "cron" : "every",
    ...(schedule.cron === null ? {} : { cron: schedule.cron }),
    ...(split ?? {}),
    catchUp: schedule.catch_up,
    latenessMin: schedule.max_lateness === null ? "" : String(schedule.max_lateness / 60),
    task: draftOf(schedule.task as Record<string, unknown>),
  };
}

/** Either of the two, as the hub asks for it. */
export function goesBy(draft: ScheduleDraft): { cron: string } | { every: string } {
  return draft.how === "cron" ? { cron: draft.cron.trim() } : { every: `${draft.amount.trim()}${draft.unit}` };
}

export function bodyOf(draft: ScheduleDraft, before: Record<string, unknown> = {}): Schemas["NewSchedule"] {
  return {
    name: draft.name.trim(),
    ...goesBy(draft),
    timezone: draft.zone,
    catch_up: draft.catchUp,
    max_lateness: draft.latenessMin.trim() === "" ? null : Number(draft.latenessMin) * 60,
    task: submissionOf(draft.task, before),
  };
}

/** Only what differs: an interval that is told again would begin anew. */
export function changeOf(schedule: Schedule, draft: ScheduleDraft): Schemas["ScheduleChange"] {
  const wanted = bodyOf(draft, schedule.task as Record<string, unknown>);
  const changed = Object.entries(wanted).filter(([name, value]) => !isSame(value, schedule[name as keyof Schedule]));
  return Object.fromEntries(changed);
}

function isSame(one: unknown, other: unknown): boolean {
  return sorted(one) === sorted(other);
}

/** In one order of names, whoever wrote it. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}
