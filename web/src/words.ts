/** Every word that more than one place shows: statuses, levels, what is said when nothing is there. */

import type { Level, Schemas, Status } from "./api/client";

export type Tone = "quiet" | "neutral" | "active" | "well" | "attention" | "failed";

interface StatusWord {
  label: string;
  tone: Tone;
  means: string;
}

export const STATUS: Record<Status, StatusWord> = {
  pending: { label: "Pending", tone: "neutral", means: "Its time has not come yet." },
  waiting: { label: "Waiting", tone: "neutral", means: "It waits for the tasks it depends on." },
  blocked: { label: "Blocked", tone: "attention", means: "A task it depends on failed; it needs a person." },
  queued: { label: "Queued", tone: "neutral", means: "It is ready and waits for a daemon." },
  scheduled: { label: "Scheduled", tone: "active", means: "A daemon was chosen and is about to start it." },
  running: { label: "Running", tone: "active", means: "A daemon works on it." },
  failed: { label: "Failed", tone: "failed", means: "The last attempt failed; another will follow." },
  timeout: { label: "Timed out", tone: "failed", means: "The last attempt took too long; another will follow." },
  permanently_failed: { label: "Failed for good", tone: "failed", means: "No attempt is left; it is a dead letter." },
  skipped: { label: "Skipped", tone: "quiet", means: "It was left out." },
  completed: { label: "Completed", tone: "well", means: "It is done." },
  cancelled: { label: "Cancelled", tone: "quiet", means: "Somebody cancelled it." },
  stale: { label: "Stale", tone: "quiet", means: "Its deadline passed before it could run." },
};

/** Said of the number of queued tasks. */
export const READY = "ready to start";

export const STATUSES = Object.keys(STATUS) as Status[];

/** What a person looks for, as the tabs of lists name it. */
export const STATUS_GROUPS = {
  running: ["scheduled", "running"],
  pending: ["pending", "queued"],
  waiting: ["waiting"],
  blocked: ["blocked"],
  failed: ["failed", "timeout", "permanently_failed"],
  ended: ["completed", "cancelled", "skipped", "stale"],
} as const satisfies Record<string, readonly Status[]>;

export const LEVELS: readonly Level[] = ["critical", "high", "normal", "low"];

export const LEVEL: Record<Level, { label: string; tone: Tone }> = {
  critical: { label: "Critical", tone: "attention" },
  high: { label: "High", tone: "neutral" },
  normal: { label: "Normal", tone: "neutral" },
  low: { label: "Low", tone: "quiet" },
};

/** What became of a wish for a level: what a key or a plan does not allow is brought down, what is urgent stays raised. */
export function settledAt(whoIs: string, asked: Level, level: Level): string {
  const said = `${whoIs} ${LEVEL[level].label.toLowerCase()}`;
  if (level === asked) return `${said} now.`;
  const isLower = LEVELS.indexOf(level) > LEVELS.indexOf(asked);
  return isLower ? `${said}: your key or plan allows no more.` : `${said}: its deadline, or a task that waits for it, keeps it there.`;
}

export const DAEMON: Record<Schemas["DaemonStatus"], { label: string; tone: Tone }> = {
  online: { label: "Online", tone: "well" },
  busy: { label: "Busy", tone: "active" },
  draining: { label: "Draining", tone: "attention" },
  offline: { label: "Offline", tone: "quiet" },
};

export const QUEUE: Record<Schemas["QueueState"], { label: string; tone: Tone }> = {
  open: { label: "Open", tone: "well" },
  paused: { label: "Paused", tone: "attention" },
  cooling: { label: "Cooling down", tone: "attention" },
};

export const BREAKER: Record<Schemas["BreakerState"], { label: string; tone: Tone }> = {
  closed: { label: "Closed", tone: "well" },
  half_open: { label: "Half open", tone: "attention" },
  open: { label: "Open", tone: "failed" },
};

export const SOURCE: Record<Schemas["SourceType"], string> = {
  user: "Person",
  proactive: "Proactive",
  webhook: "Webhook",
  schedule: "Schedule",
  agent: "Agent",
};

export const CANCEL = "Cancel";
export const CLOSE = "Close";
export const RETRY = "Retry";
export const SKIP = "Skip";
export const TRY_AGAIN = "Try again";
export const LOOKING = "Looking for it…";
export const UNDO = "Undo";

const CODES = new RegExp(`\\b(${STATUSES.filter((status) => status.includes("_")).join("|")})\\b`, "g");

/** A sentence of the hub's with statuses as people are told them: programs read it too. */
export function inWords(sentence: string): string {
  return sentence.replace(CODES, (status) => STATUS[status as Status].label.toLowerCase());
}

const SEEN = /[^\s\p{C}]/u;

/** A task's name in lists: its title, else the first line of its input, else its ref: never one that nobody could see or press. */
export function titleOf(task: { title?: string | null; input: string; ref: string }): string {
  return [task.title ?? "", ...task.input.trimStart().split("\n", 1)].find((one) => SEEN.test(one)) ?? task.ref;
}
