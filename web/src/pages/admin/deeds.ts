/** Entries of the audit as words: who did what, to which. */

import type { Schemas } from "~/api/client";
import { capitalised } from "~/lib/format";

export type Entry = Schemas["AuditAnswer"];

const DEEDS: Record<string, string> = {
  "user.create": "made a user",
  "user.change": "changed a user",
  "key.create": "made a key",
  "key.revoke": "revoked a key",
  "queue.set": "set a queue",
  "queue.delete": "removed what was set of a queue",
  "queue.pause": "paused a queue",
  "queue.resume": "resumed a queue",
  "breaker.open": "held a type of task back",
  "breaker.reset": "closed a breaker",
  "daemon.drain": "drained a daemon",
  "daemon.resume": "gave a daemon work again",
  "daemon.forget": "forgot a daemon",
  "schedule.create": "made a schedule",
  "schedule.change": "changed a schedule",
  "schedule.delete": "removed a schedule",
  "template.create": "made a template",
  "template.change": "changed a template",
  "template.delete": "removed a template",
  "hook.create": "made a webhook",
  "hook.change": "changed a webhook",
  "hook.rotate": "gave a webhook another secret",
  "hook.delete": "removed a webhook",
  "notification.create": "made a notification",
  "notification.change": "changed a notification",
  "notification.delete": "removed a notification",
  "notification.resend": "sent a notification again",
  "tasks.import": "imported tasks",
};

const VERDICT = "dead_letter.";

/** What was done, in words; an action that is not known here in its own. */
export function deed(entry: Entry): string {
  if (entry.action.startsWith(VERDICT)) return `gave a dead letter the verdict ${entry.action.slice(VERDICT.length)}`;
  return DEEDS[entry.action] ?? capitalised(entry.action.replaceAll(".", " ")).toLowerCase();
}

export function who(entry: Entry): string {
  return entry.by ?? entry.actor;
}

/** By its name, where one is known: of who is there now, or from when it was made. */
export function whom(subject: string, names: ReadonlyMap<string, string>): string {
  return names.get(subject) ?? subject;
}

/** What the entries themselves call a schedule: it may be gone since. */
export function namesIn(entries: readonly Entry[]): [string, string][] {
  return entries.flatMap(({ action, subject, new: made }) =>
    action === "schedule.create" && typeof made === "string" ? [[subject, made] as [string, string]] : [],
  );
}

/** Old and new as texts; null where there was nothing. */
export function told(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** All of it in lower case, to look for words in. */
export function searchable(entry: Entry, names: ReadonlyMap<string, string>): string {
  const words = [who(entry), deed(entry), entry.action, whom(entry.subject, names), entry.subject];
  return [...words, told(entry.old), told(entry.new)].join(" ").toLowerCase();
}
