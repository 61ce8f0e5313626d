/** What only a person can solve, the most urgent first, and where it is solved. */

import type { Breaker, Daemon, Queue, Task } from "~/api/client";
import type { Held } from "~/api/queries/yard";
import { counted } from "~/lib/format";
import type { Filters } from "~/lib/filters";
import type { Tone } from "~/words";

export interface Need {
  id: string;
  tone: Tone;
  text: string;
  /** What it says in small letters. */
  note: string | null;
  to: string;
  search?: Filters;
  /** What a press does, as a verb. */
  action: string;
}

export interface Found {
  letters: readonly Task[];
  blocked: readonly Task[];
  breakers: readonly Breaker[];
  /** Open ones of everybody, for an admin; null: not known. */
  breakersOpen: number | null;
  queues: readonly Queue[];
  daemons: readonly Daemon[];
  held: readonly Held[];
  now: number;
}

/** A list is fetched up to this; beyond, "100 or more" says enough. */
export const LISTED_MAX = 100;
const LOST_MS_MAX = 24 * 3_600_000;

export function needsOf(found: Found): Need[] {
  return [...failed(found), ...broken(found), ...lost(found), ...stuck(found), ...paused(found)];
}

function many(value: number, one: string): string {
  return value >= LISTED_MAX ? `${String(LISTED_MAX)} or more ${one}s` : counted(value, one);
}

function failed({ letters, blocked }: Found): Need[] {
  const needs: Need[] = [];
  if (letters.length > 0) {
    const kinds = new Set(letters.map((task) => task.pattern?.fingerprint ?? task.id)).size;
    needs.push({
      id: "letters",
      tone: "failed",
      text: `${many(letters.length, "task")} failed for good`,
      note: kinds === 1 ? "all in the same way" : `in ${String(kinds)} different ways`,
      to: "/dead-letters",
      action: "Decide",
    });
  }
  if (blocked.length > 0) {
    needs.push({
      id: "blocked",
      tone: "attention",
      text: `${many(blocked.length, "task")} ${blocked.length === 1 ? "is" : "are"} blocked`,
      note: "by a task that failed",
      to: "/queue",
      search: { status: "blocked" },
      action: "Look",
    });
  }
  return needs;
}

function broken({ breakers, breakersOpen }: Found): Need[] {
  const open = breakers.filter((one) => one.state === "open");
  const number = Math.max(open.length, breakersOpen ?? 0);
  if (number === 0) return [];
  return [
    {
      id: "breakers",
      tone: "failed",
      text: `${counted(number, "breaker")} ${number === 1 ? "is" : "are"} open`,
      note: open.length === 0 ? "of other users" : open.map((one) => one.type).join(", "),
      to: "/breakers",
      action: "Look",
    },
  ];
}

function lost({ daemons, now }: Found): Need[] {
  const gone = daemons.filter(
    (one) => one.status === "offline" && one.last_heartbeat != null && now - Date.parse(one.last_heartbeat) < LOST_MS_MAX,
  );
  if (gone.length === 0) return [];
  return [
    {
      id: "daemons",
      tone: "attention",
      text: `${counted(gone.length, "daemon")} went away within a day`,
      note: named(gone.map((one) => one.name)),
      to: "/daemons",
      action: "Look",
    },
  ];
}

/** Reasons that no waiting changes, but for those that have a place of their own above or below. */
function stuck({ held }: Found): Need[] {
  return held
    .filter((one) => one.code === "NO_DAEMON" || one.code === "NO_ELIGIBLE_DAEMON")
    .map((one, index) => ({
      id: `held-${String(index)}`,
      tone: "attention" as const,
      text: `${counted(one.tasks, "task")} ${one.tasks === 1 ? "has" : "have"} no daemon that can run ${one.tasks === 1 ? "it" : "them"}`,
      note: one.would_help ?? one.message,
      to: `/tasks/${encodeURIComponent(one.example)}`,
      ...(one.user === undefined ? {} : { search: { user: one.user.id } }),
      action: "Why",
    }));
}

function paused({ queues }: Found): Need[] {
  const found = queues.filter((one) => one.state === "paused");
  if (found.length === 0) return [];
  const waiting = found.reduce((sum, one) => sum + one.waiting, 0);
  return [
    {
      id: "queues",
      tone: "attention",
      text: `${counted(found.length, "queue")} ${found.length === 1 ? "is" : "are"} paused`,
      note: `${named(found.map((one) => one.name))}; ${counted(waiting, "task")} ${waiting === 1 ? "waits" : "wait"}`,
      to: "/queues",
      action: "Resume",
    },
  ];
}

const NAMES_MAX = 3;

function named(names: readonly string[]): string {
  const rest = names.length - NAMES_MAX;
  return names.slice(0, NAMES_MAX).join(", ") + (rest > 0 ? ` and ${String(rest)} more` : "");
}
