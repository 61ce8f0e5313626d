/** A task as the list keeps it: little of each, since there may be many. */

import type { Level, Schemas, Status, Task } from "~/api/client";
import type { LiveEvent } from "~/live/stream";
import { titleOf } from "~/words";

const TEXT_CHARS_MAX = 200;

export interface Row {
  id: string;
  ref: string;
  user_id: string;
  title: string;
  status: Status;
  level: Level;
  /** 1 to 10: what an undo brings back. */
  value: number;
  type: string;
  queue: string;
  source: Schemas["SourceType"];
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
  notBefore: string | null;
  daemon: string | null;
  percent: number | null;
  message: string | null;
  dependsOn: number;
  /** The hub's own words about it, where it has any. */
  said: string | null;
  waitsForDaemon: string | null;
  isStopping: boolean;
  wasTried: boolean;
  /** It no longer fits what is listed and stays only until the list is at rest. */
  isGone: boolean;
}

export function rowOf(task: Task): Row {
  return {
    id: task.id,
    ref: task.ref,
    user_id: task.user_id,
    title: cut(titleOf(task)),
    status: task.status,
    level: task.priority,
    value: task.priority_value,
    type: task.type,
    queue: task.queue,
    source: task.source.type ?? "user",
    createdAt: task.created_at,
    startedAt: task.started_at ?? null,
    endedAt: task.completed_at ?? null,
    notBefore: task.not_before ?? null,
    daemon: task.assigned_daemon ?? null,
    percent: task.progress?.percent ?? null,
    message: task.progress?.message ?? null,
    dependsOn: task.depends_on.length,
    said: saidOf(task),
    waitsForDaemon: task.waiting_for_daemon ?? null,
    isStopping: task.cancel_requested_at != null,
    wasTried: task.started_at != null,
    isGone: false,
  };
}

function saidOf(task: Task): string | null {
  const said = task.blocked_reason ?? task.error?.message ?? task.skipped_reason ?? task.cancel_reason ?? null;
  return said === null ? null : cut(said);
}

function cut(text: string): string {
  return text.length > TEXT_CHARS_MAX ? `${text.slice(0, TEXT_CHARS_MAX)}…` : text;
}

/** As it stands after an event; the same row if that says nothing about what the list shows. */
export function patched(row: Row, event: LiveEvent, statuses: readonly Status[]): Row {
  if (event.event === "task.progress") {
    const { percent, message } = event.data as { percent?: number | null; message?: string | null };
    return { ...row, percent: percent ?? row.percent, message: message ?? row.message };
  }
  if (event.event === "task.cancelling") return { ...row, isStopping: true };
  if (event.to == null || event.to === row.status) return row;
  const status = event.to;
  const next = { ...row, status, isGone: statuses.length > 0 && !statuses.includes(status) };
  if (status === "running") return { ...next, startedAt: event.at, wasTried: true, percent: null, message: null };
  if (isEnded(status)) return { ...next, endedAt: event.at, isStopping: false, daemon: null };
  return { ...next, endedAt: null, daemon: null, percent: null, message: null };
}

const ENDED: ReadonlySet<Status> = new Set(["completed", "cancelled", "skipped", "stale", "permanently_failed"]);

function isEnded(status: Status): boolean {
  return ENDED.has(status);
}
