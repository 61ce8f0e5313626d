/** What the address asks the list for. */

import type { Level, Schemas, Status } from "~/api/client";
import type { TaskFilters } from "~/api/queries/tasks";
import type { Filters } from "~/lib/filters";
import type { Whose } from "~/lib/whose";
import { LEVELS, SOURCE, STATUS, STATUS_GROUPS, STATUSES } from "~/words";

export const TABS = [
  { id: "all", label: "All" },
  { id: "running", label: "Running" },
  { id: "pending", label: "Pending" },
  { id: "waiting", label: "Waiting" },
  { id: "blocked", label: "Blocked" },
  { id: "failed", label: "Failed" },
] as const;

export type TabId = (typeof TABS)[number]["id"];

export const SOURCES = Object.keys(SOURCE) as Schemas["SourceType"][];
/** Those that narrow the list down besides its tab. */
export const NARROWING = ["q", "type", "queue", "source", "priority"] as const;
/** None of them, and nobody in particular. */
export const NOT_NARROWED: Filters = Object.fromEntries([...NARROWING, "user"].map((name) => [name, undefined]));

/** The statuses that are listed; none: all of them. A word that is no status is passed over. */
export function statusesOf(said: string | undefined): readonly Status[] {
  if (said === undefined || said === "" || said === "all") return [];
  if (isGroup(said)) return STATUS_GROUPS[said];
  return said.split(",").filter((word): word is Status => word in STATUS);
}

function isGroup(word: string): word is keyof typeof STATUS_GROUPS {
  return word in STATUS_GROUPS;
}

/** Which tab shows exactly this; none for a choice of one's own. */
export function tabOf(said: string | undefined): TabId | "" {
  const statuses = statusesOf(said);
  if (statuses.length === 0) return "all";
  const isThis = (group: readonly Status[]) =>
    group.length === statuses.length && group.every((status) => statuses.includes(status));
  return TABS.find(({ id }) => id !== "all" && isThis(STATUS_GROUPS[id]))?.id ?? "";
}

const WAITING: readonly Status[] = [...STATUS_GROUPS.pending, ...STATUS_GROUPS.waiting, ...STATUS_GROUPS.blocked];

/** Whether some that are listed run or did: else where and for how long need no column. */
export function mayHaveRun(said: string | undefined): boolean {
  const statuses = statusesOf(said);
  return statuses.length === 0 || statuses.some((status) => !WAITING.includes(status));
}

export function countOf(tab: TabId, byStatus: Record<string, number>): number {
  const statuses = tab === "all" ? STATUSES : STATUS_GROUPS[tab];
  return statuses.reduce((sum, status) => sum + (byStatus[status] ?? 0), 0);
}

/** The address as the hub's own query; what it would refuse is left out. */
export function queryOf(filters: Filters, whose: Whose): TaskFilters {
  const statuses = statusesOf(filters.status);
  const level = LEVELS.find((one): one is Level => one === filters.priority);
  const source = SOURCES.find((one) => one === filters.source);
  return {
    ...whose,
    ...(statuses.length === 0 ? {} : { status: statuses.join(","), exact: true }),
    ...(level === undefined ? {} : { priority: level }),
    ...(source === undefined ? {} : { source }),
    ...(filters.queue ? { queue: filters.queue } : {}),
    ...(filters.type ? { type: filters.type } : {}),
    ...(filters.q?.trim() ? { q: filters.q.trim() } : {}),
  };
}

export function isNarrowed(filters: Filters): boolean {
  return NARROWING.some((name) => Boolean(filters[name]?.trim()));
}
