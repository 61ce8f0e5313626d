/** The words of this page alone: how attempts end, and what each event says happened. */

import type { Schemas } from "~/api/client";
import { capitalised } from "~/lib/format";
import { STATUS, type Tone } from "~/words";

export type Attempt = Schemas["AttemptAnswer"];
export type TaskEvent = Schemas["EventAnswer"];

export const ATTEMPT: Record<Schemas["AttemptStatus"], { label: string; tone: Tone; means: string }> = {
  running: { label: "Running", tone: "active", means: "It goes on at this moment." },
  success: { label: "Succeeded", tone: "well", means: "It brought the result." },
  incomplete: { label: "Incomplete", tone: "attention", means: "It ended without all that the task asks for." },
  failed: { label: "Failed", tone: "failed", means: "It ended with an error." },
  timeout: { label: "Timed out", tone: "failed", means: "It took longer than an attempt may." },
  lost: { label: "Lost", tone: "failed", means: "Its daemon was gone for too long." },
  rate_limited: { label: "Rate limited", tone: "attention", means: "The model's provider refused it for coming too often." },
  cancelled: { label: "Cancelled", tone: "quiet", means: "It was asked to stop, and did." },
  drained: { label: "Handed back", tone: "quiet", means: "Its daemon was about to leave; it does not count." },
  preempted: { label: "Made room", tone: "quiet", means: "It saved its work for a more urgent task; it does not count." },
  rejected: { label: "Not taken", tone: "quiet", means: "The daemon did not take it; it does not count." },
};

const EVENT: Partial<Record<TaskEvent["event"], string>> = {
  "task.created": "Submitted",
  "task.imported": "Imported",
  "task.pending": "Waits for its time",
  "task.waiting": "Waits for the tasks it depends on",
  "task.blocked": "Blocked by a dependency",
  "task.queued": "Ready to run",
  "task.waiting_for_daemon": "Waits for its daemon to come online",
  "task.scheduled": "Given to a daemon",
  "task.started": "Started",
  "task.completed": "Completed",
  "task.failed": "The attempt failed",
  "task.retrying": "Retried",
  "task.permanently_failed": "Failed for good",
  "task.cancelling": "Asked to stop",
  "task.cancelled": "Cancelled",
  "task.skipped": "Skipped",
  "task.stale": "Its deadline passed",
  "task.lost": "Its daemon was lost",
  "task.rejected": "Not taken by the daemon",
  "task.preempted": "Made room for a more urgent task",
  "task.changed": "Changed",
  "task.escalated": "Raised in priority",
  "task.reviewed": "Reviewed",
  "task.sla_missed": "Later than promised",
};

export function eventWords({ event }: TaskEvent): string {
  return EVENT[event] ?? capitalised(event.replace("task.", ""));
}

/** "Queued → Running"; nothing where no status changed. */
export function stepWords(event: TaskEvent): string | null {
  if (event.to === null || event.from === event.to) return null;
  return event.from === null ? STATUS[event.to].label : `${STATUS[event.from].label} → ${STATUS[event.to].label}`;
}

const DATA_CHARS_MAX = 300;

/** What an event says besides, as `name: value`, without what is empty. */
export function dataWords(data: Record<string, unknown>): string {
  return Object.entries(data)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => `${name.replaceAll("_", " ")}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" · ")
    .slice(0, DATA_CHARS_MAX);
}
