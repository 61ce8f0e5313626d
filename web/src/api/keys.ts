/**
 * The first word of every query's key: what it is about. Events of the stream are turned into these words, and
 * whatever is shown of them is fetched anew.
 */

export type Topic =
  | "tasks"
  | "why"
  | "dead-letters"
  | "daemons"
  | "queues"
  | "breakers"
  | "schedules"
  | "figures"
  | "history"
  | "held"
  | "limits"
  | "people"
  | "audit"
  | "notifications";

/** Not about the yard but about who looks: changes only by signing in and out. */
export const ME = ["me"] as const;
