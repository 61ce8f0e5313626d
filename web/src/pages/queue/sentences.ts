/** What an action will do, and what it did, in words. */

import { counted } from "~/lib/format";
import type { Action, BulkAnswer } from "~/lib/taskActions";

const DONE: Record<Action, string> = {
  cancel: "cancelled",
  skip: "skipped",
  retry: "tried again",
  reprioritise: "given another priority",
};

export const VERBS: Record<Action, string> = {
  cancel: "Cancel",
  skip: "Skip",
  retry: "Retry",
  reprioritise: "Change the priority of",
};

const AFTERWARDS: Record<Action, string> = {
  cancel: "One that runs is asked to stop. This cannot be undone.",
  skip: "What depends on them is blocked, left out or goes on, as each of those says for itself. Skipped tasks stay until somebody retries them; there is no other way back.",
  retry: "Each begins a new series of attempts; the earlier ones stay in its history.",
  reprioritise: "It can be undone as long as they have not started.",
};

export function willBe(action: Action, { counts }: BulkAnswer): string[] {
  if (counts.ok === 0) return ["Nothing would happen: none of them can be " + DONE[action] + " from where it stands."];
  const said = [`${counted(counts.ok, "task")} will be ${DONE[action]}.`];
  if (counts.also > 0) {
    const is = counts.also === 1 ? "depends on one of them and is" : "depend on them and are";
    said.push(`${counted(counts.also, "more task", "more tasks")} ${is} cancelled too.`);
  }
  return [...said, AFTERWARDS[action]];
}

export function was(action: Action, { counts, results }: BulkAnswer): string {
  const done = `${counted(counts.ok, "task")} ${DONE[action]}`;
  const also = counts.also > 0 ? `, and ${counted(counts.also, "that depended on them", "that depended on them")}` : "";
  if (counts.refused === 0) return `${done}${also}.`;
  const why = results.find((one) => !one.ok)?.detail ?? "";
  if (counts.ok === 0) return why;
  return `${done}${also}; ${String(counts.refused)} could not be. ${why}`;
}

/** Those that stay as they are, by the reason for it. */
export function staying({ results }: BulkAnswer): { why: string; refs: string[] }[] {
  const groups = new Map<string, string[]>();
  for (const one of results) {
    if (one.ok) continue;
    const why = one.status == null ? (one.detail ?? "") : `${one.status.replaceAll("_", " ")} already`;
    groups.set(why, [...(groups.get(why) ?? []), one.ref ?? one.id]);
  }
  return [...groups].map(([why, refs]) => ({ why, refs }));
}
