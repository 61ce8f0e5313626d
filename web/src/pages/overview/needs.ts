/** What only a person can solve, the most urgent first, and where it is solved. */

import type { Breaker, Daemon, Queue, User } from "~/api/client";
import type { Held } from "~/api/queries/yard";
import { count, counted } from "~/lib/format";
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
  /** What dead letters have in common, and how many each. */
  patterns: readonly { count: number }[];
  blocked: number;
  breakers: readonly Breaker[];
  queues: readonly Queue[];
  daemons: readonly Daemon[];
  /** To name owners by; empty where all of it is one user's. */
  users: readonly User[];
  held: readonly Held[];
  /** Only an admin can resume a queue. */
  isAdmin: boolean;
  now: number;
}

const LOST_MS_MAX = 24 * 3_600_000;

export function needsOf(found: Found): Need[] {
  const all = [...failed(found), ...broken(found), ...standing(found), ...lost(found), ...stuck(found), ...paused(found)];
  return all.sort((one, other) => Number(other.tone === "failed") - Number(one.tone === "failed"));
}

function failed({ patterns, blocked }: Found): Need[] {
  const needs: Need[] = [];
  const letters = patterns.reduce((sum, one) => sum + one.count, 0);
  if (letters > 0) {
    needs.push({
      id: "letters",
      tone: "failed",
      text: `${counted(letters, "task")} failed for good`,
      note: letters === 1 ? null : patterns.length === 1 ? "all in the same way" : `in ${count(patterns.length)} ways`,
      to: "/dead-letters",
      action: "Decide",
    });
  }
  if (blocked > 0) {
    needs.push({
      id: "blocked",
      tone: "attention",
      text: `${counted(blocked, "task")} ${blocked === 1 ? "is" : "are"} blocked`,
      note: "by a task that failed",
      to: "/queue",
      search: { status: "blocked" },
      action: "Look",
    });
  }
  return needs;
}

function broken({ breakers, users }: Found): Need[] {
  const open = breakers.filter((one) => one.state === "open");
  if (open.length === 0) return [];
  const owner = (id: string) => users.find((user) => user.id === id)?.name;
  const isOfMany = users.length > 1;
  return [
    {
      id: "breakers",
      tone: "failed",
      text: `${counted(open.length, "breaker")} ${open.length === 1 ? "is" : "are"} open`,
      note: named(open.map((one) => (isOfMany ? `${one.type} of ${owner(one.user_id) ?? one.user_id}` : one.type))),
      to: "/breakers",
      action: "Look",
    },
  ];
}

const isDeserted = (daemons: readonly Daemon[]) => daemons.every((one) => one.status === "offline");

/** Where nobody works, that is the one thing to do first; which daemons went is told there. */
function standing({ daemons }: Found): Need[] {
  if (!isDeserted(daemons)) return [];
  return [
    {
      id: "fleet",
      tone: "attention",
      text: "No daemon is connected",
      note: "tasks are kept, and start when one is there",
      to: "/daemons",
      action: daemons.length === 0 ? "Add one" : "Look",
    },
  ];
}

function lost({ daemons, now }: Found): Need[] {
  if (isDeserted(daemons)) return [];
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
function stuck({ held, daemons }: Found): Need[] {
  if (isDeserted(daemons)) return [];
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

function paused({ queues, isAdmin }: Found): Need[] {
  // Somebody who can neither resume it nor waits for it has no part in it.
  const found = queues.filter((one) => one.state === "paused" && (isAdmin || one.waiting > 0));
  if (found.length === 0) return [];
  const waiting = found.reduce((sum, one) => sum + one.waiting, 0);
  return [
    {
      id: "queues",
      tone: "attention",
      text: `${counted(found.length, "queue")} ${found.length === 1 ? "is" : "are"} paused`,
      note: `${named(found.map((one) => one.name))}; ${counted(waiting, "task")} ${waiting === 1 ? "waits" : "wait"}`,
      to: "/queues",
      action: isAdmin ? "Resume" : "Look",
    },
  ];
}

const NAMES_MAX = 3;

function named(names: readonly string[]): string {
  const rest = names.length - NAMES_MAX;
  return names.slice(0, NAMES_MAX).join(", ") + (rest > 0 ? ` and ${String(rest)} more` : "");
}
