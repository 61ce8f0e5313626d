/** What an action will do, and what it did, in words. */

import type { Level } from "~/api/client";
import { counted } from "~/lib/format";
import type { Action, BulkAnswer } from "~/lib/taskActions";
import { settledAt } from "~/words";

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
  const why = objection(results);
  if (counts.ok === 0) return why;
  return `${done}${also}; ${String(counts.refused)} could not be. ${why}`;
}

/** At which level each is now, as the hub answered: it need not be the one that was asked for. */
export function settled(asked: ReadonlyMap<string, Level>, { results, counts }: BulkAnswer): string {
  const groups = new Map<string, { from: Level; to: Level; refs: string[] }>();
  for (const one of results) {
    const from = asked.get(one.id);
    if (!one.ok || from === undefined || one.priority == null) continue;
    const group = groups.get(`${from} ${one.priority}`) ?? { from, to: one.priority, refs: [] };
    group.refs.push(one.ref ?? one.id);
    groups.set(`${from} ${one.priority}`, group);
  }
  const said = [...groups.values()].map(({ from, to, refs }) => {
    const [only] = refs;
    return settledAt(refs.length === 1 && only !== undefined ? `${only} is` : `${String(refs.length)} tasks are`, from, to);
  });
  if (counts.refused > 0) said.push(`${counts.ok > 0 ? `${String(counts.refused)} could not be changed. ` : ""}${objection(results)}`);
  return said.join(" ");
}

function objection(results: BulkAnswer["results"]): string {
  return results.find((one) => !one.ok)?.detail ?? "";
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
