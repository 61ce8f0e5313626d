/** What a person can do to tasks that are there. Whether it may be done, the hub decides; here is what is worth offering. */

import { answer, api, type Level, type Schemas, type Status } from "~/api/client";
import type { Action } from "~/api/queries/tasks";

import type { Whose } from "./whose";

export type { Action };
export type BulkAnswer = Schemas["BulkAnswer"];

/** So many in one request. */
export const BULK_MAX = 500;

const NOT_STARTED: readonly Status[] = ["pending", "waiting", "blocked", "queued"];

const OFFERED: Record<Action, readonly Status[]> = {
  cancel: [...NOT_STARTED, "scheduled", "running", "permanently_failed"],
  skip: NOT_STARTED,
  reprioritise: NOT_STARTED,
  retry: ["pending", "permanently_failed", "skipped"],
};

interface Standing {
  status: Status;
  attempts?: number;
}

export function isOffered(action: Action, { status, attempts = 0 }: Standing): boolean {
  // One that has never been tried has nothing to be tried again.
  if (action === "retry" && status === "pending") return attempts > 0;
  return OFFERED[action].includes(status);
}

export interface Asked {
  action: Action;
  ids: string[];
  /** A level, or its exact value from 1 to 10. */
  priority?: Level | number;
  reason?: string;
}

export function act(asked: Asked, whose: Whose): Promise<BulkAnswer> {
  return answer(api.POST("/api/v1/tasks/bulk", { params: { query: whose }, body: { ...asked, preview: false } }));
}

/** What would happen; nothing does. */
export function foresee(asked: Asked, whose: Whose): Promise<BulkAnswer> {
  return answer(api.POST("/api/v1/tasks/bulk", { params: { query: whose }, body: { ...asked, preview: true } }));
}
