/** Whether the yard is well, in one sentence. Only what it is given decides; the page fetches and shows. */

import type { Schemas } from "~/api/client";
import { count, counted, duration } from "~/lib/format";
import type { Tone } from "~/words";

type Reason = Schemas["Reason"];

export interface Facts {
  running: number;
  waiting: number;
  /** Null: not known to whoever looks. */
  daemonsOnline: number | null;
  pressure: Schemas["Pressure"];
  /** How long a task that came now would wait. */
  waitS: number | null;
  /** How many things wait for a person. */
  needs: number;
  held: readonly { code: Reason; message: string; tasks: number; user?: { name: string } }[];
}

export interface Verdict {
  tone: Tone;
  /** One or two words. */
  head: string;
  says: string;
}

/** What everybody waits for now and then, and what goes away as other tasks end. */
const ORDINARY: ReadonlySet<Reason> = new Set([
  "AWAITING_ACCEPT",
  "AWAITING_START",
  "BEHIND_OTHERS",
  "CANCELLING",
  "CRITICAL_RESERVE",
  "DEPENDENCY_UNFINISHED",
  "EXCLUSIVE_HELD",
  "HUB_FULL",
  "LOW_CAP",
  "NOT_BEFORE",
  "NO_FREE_SLOT",
  "PREEMPTING",
  "PRIORITY_SHARE",
  "QUEUE_FULL",
  "SOURCE_CONCURRENCY",
  "USER_CONCURRENCY",
]);

function isOrdinary(code: Reason): boolean {
  return ORDINARY.has(code);
}

export function verdictOf(facts: Facts): Verdict {
  const { running, waiting, daemonsOnline, pressure } = facts;
  if (daemonsOnline === 0) {
    const wait = waiting === 0 ? "Nothing waits yet." : `${counted(waiting, "task")} ${waiting === 1 ? "waits" : "wait"}.`;
    return { tone: waiting === 0 ? "attention" : "failed", head: "Standing still", says: `No daemon is connected. ${wait}` };
  }
  const held = facts.held.filter((one) => !isOrdinary(one.code));
  const heldTasks = held.reduce((sum, one) => sum + one.tasks, 0);
  const worst = held[0];
  if (pressure === "critical") {
    return { tone: "failed", head: "Overfull", says: `The line is so long that new tasks are refused: ${standing(facts)}.` };
  }
  if (worst !== undefined && heldTasks * 2 >= waiting) {
    return { tone: "attention", head: "Held back", says: `${waitBecause(heldTasks, held.length)} ${because(worst)}` };
  }
  if (pressure === "warning") {
    return { tone: "attention", head: "Busy", says: `The line is long: ${standing(facts)}.` };
  }
  if (running === 0 && waiting === 0) {
    const says = "Nothing runs and nothing waits.";
    return { tone: facts.needs === 0 ? "well" : "attention", head: "All quiet", says: facts.needs === 0 ? says : `${says} ${needed(facts.needs)}` };
  }
  if (facts.needs === 0) return { tone: "well", head: "All well", says: `${standing(facts)}.` };
  return { tone: "attention", head: "Mostly well", says: `${standing(facts)}. ${needed(facts.needs)}` };
}

function needed(needs: number): string {
  return needs === 1 ? "One thing needs a person." : `${count(needs)} things need a person.`;
}

function standing({ running, waiting, waitS }: Facts): string {
  const said = `${count(running)} running, ${count(waiting)} queued`;
  return waitS === null ? said : `${said}, a new task would start ${inTime(waitS)}`;
}

function inTime(waitS: number): string {
  return waitS < 1 ? "at once" : `in about ${duration(Math.max(1, Math.round(waitS)) * 1000)}`;
}

function waitBecause(tasks: number, reasons: number): string {
  const wait = `${counted(tasks, "task")} ${tasks === 1 ? "waits" : "wait"}`;
  return reasons === 1 ? `${wait}.` : `${wait} for ${count(reasons)} reasons, most of them this one.`;
}

/** The hub's own sentence; it speaks to its owner, who is named where somebody else reads it. */
function because({ message, user }: Facts["held"][number]): string {
  return user === undefined ? message : `${user.name}: ${message}`;
}
