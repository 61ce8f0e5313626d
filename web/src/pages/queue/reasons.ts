/** Why a task stands as it does, in few words and from what the list knows anyway; its page says it in full. */

import { clock, count, counted, duration } from "~/lib/format";

import type { Row } from "./rows";

const SOON_MS = 12 * 3_600_000;

export function reasonOf(row: Row, now: number, zone: string): string | null {
  if (row.isStopping) return "was asked to stop";
  switch (row.status) {
    case "pending":
      return row.notBefore === null ? null : `${row.wasTried ? "tries again" : "starts"} ${whenOf(row.notBefore, now, zone)}`;
    case "waiting":
      return `for ${counted(row.dependsOn, "task")}`;
    case "queued":
      return row.waitsForDaemon === null ? null : `for the daemon ${row.waitsForDaemon}`;
    case "scheduled":
      return "is handed over";
    case "running":
      return row.message;
    case "blocked":
      return row.said === null ? null : inWords(row.said);
    case "failed":
    case "timeout":
    case "permanently_failed":
    case "skipped":
    case "cancelled":
      return row.said;
    default:
      return null;
  }
}

const ID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

/** An id says nothing in a list; which task it is, the task's own page tells. */
function inWords(said: string): string {
  return said.replace(ID, "a task it depends on").replaceAll("_", " ");
}

function whenOf(at: string, now: number, zone: string): string {
  const ms = Date.parse(at);
  if (ms - now < 1000) return "at once";
  if (ms - now < 3_600_000) return `in ${duration(Math.ceil((ms - now) / 1000) * 1000)}`;
  return `at ${clock(ms, zone, { withDay: ms - now > SOON_MS })}`;
}

export function percentOf(row: Row): string | null {
  return row.status === "running" && row.percent !== null ? `${count(Math.round(row.percent))} %` : null;
}
