/** What a person can decide about dead letters, and how it is said. */

import { answer, api, type Schemas } from "~/api/client";
import { counted } from "~/lib/format";
import type { Whose } from "~/lib/whose";

export type Verdict = Schemas["Verdict"];

/** So many are decided in one step. */
export const REVIEWED_MAX = 500;

interface VerdictWord {
  label: string;
  /** The whole of it, for a number of tasks. */
  about: (tasks: string) => string;
  /** The key that gives it. */
  key: string;
  means: string;
  done: string;
}

export const VERDICT: Record<Verdict, VerdictWord> = {
  retry: {
    label: "Retry",
    about: (tasks) => `Retry ${tasks}`,
    key: "r",
    means: "Each begins a new series of attempts at once; the earlier ones stay in its history.",
    done: "tried again",
  },
  wait: {
    label: "Retry later",
    about: (tasks) => `Retry ${tasks} later`,
    key: "w",
    means: "Each begins a new series of attempts at that time.",
    done: "tried again later",
  },
  escalate: {
    label: "Escalate",
    about: (tasks) => `Escalate ${tasks}`,
    key: "e",
    means: "It is noted who should look, and whoever asked to be told is. The tasks stay dead letters until somebody decides.",
    done: "escalated",
  },
  discard: {
    label: "Discard",
    about: (tasks) => `Discard ${tasks}`,
    key: "d",
    means: "They are cancelled and never tried again. This cannot be undone.",
    done: "discarded",
  },
};

export const VERDICTS = Object.keys(VERDICT) as Verdict[];

const MINUTE = 60_000;

export const DELAYS = [
  { label: "In 15 minutes", ms: 15 * MINUTE },
  { label: "In an hour", ms: 60 * MINUTE },
  { label: "In 6 hours", ms: 6 * 60 * MINUTE },
  { label: "In a day", ms: 24 * 60 * MINUTE },
  { label: "In a week", ms: 7 * 24 * 60 * MINUTE },
] as const;

export interface Said {
  verdict: Verdict;
  reason: string;
  until?: string;
  to?: string;
}

export function review(ids: string[], said: Said, whose: Whose): Promise<Schemas["PatternReviewAnswer"]> {
  return answer(api.POST("/api/v1/dead-letters/review", { params: { query: whose }, body: { ...said, ids } }));
}

export function reviewed(verdict: Verdict, told: Schemas["PatternReviewAnswer"]): string {
  const done = `${counted(told.reviewed.length, "task")} ${VERDICT[verdict].done}`;
  const rest = told.rejected.length;
  return rest === 0 ? `${done}.` : `${done}; ${counted(rest, "was", "were")} no dead letter any more, or cannot be.`;
}
