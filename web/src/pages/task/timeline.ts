/** A task's life as spans of time: what it waited for, and who worked on it. */

import type { Status, Task } from "~/api/client";
import { counted, instant } from "~/lib/format";
import { STATUS, type Tone } from "~/words";

import { ATTEMPT, type Attempt, type TaskEvent } from "./said";

export interface Span {
  id: string;
  /** What happened then, in words. */
  name: string;
  tone: Tone;
  from: number;
  /** Null: it goes on. */
  to: number | null;
  attempt: Attempt | null;
}

interface Mark {
  at: number;
  status: Status;
  attempt: number | null;
}

const ENDED: ReadonlySet<Status> = new Set(["completed", "cancelled", "stale", "skipped", "permanently_failed"]);
const HAVING_TRIED: ReadonlySet<Status> = new Set(["running", "failed", "timeout"]);
/** Shorter waits would be names without a bar; the list of events has them. */
const WAIT_MS_MIN = 500;

export function spansOf(task: Task, events: readonly TaskEvent[]): Span[] {
  const attempts = new Map((task.attempts ?? []).map((one) => [one.number, one]));
  const marks = marksOf(task, events);
  const spans: Span[] = [];
  marks.forEach((mark, index) => {
    const next = marks[index + 1];
    if (next === undefined && ENDED.has(mark.status)) return;
    const attempt = mark.attempt === null ? null : (attempts.get(mark.attempt) ?? null);
    const to = next?.at ?? null;
    const span = spanOf(task, mark, marks[index - 1], attempt);
    if (span.attempt === null && to !== null && to - mark.at < WAIT_MS_MIN) return;
    const name = to === null ? asNow(span.name) : span.name;
    spans.push({ ...span, name, id: `${String(index)}-${mark.status}`, from: mark.at, to });
  });
  return spans;
}

function spanOf(task: Task, mark: Mark, before: Mark | undefined, attempt: Attempt | null) {
  if (mark.status === "running" && attempt !== null) {
    return { name: `Attempt ${String(attempt.number)} on ${attempt.daemon_name}`, tone: ATTEMPT[attempt.status].tone, attempt };
  }
  if (mark.status === "scheduled" && attempt?.started_at === null && attempt.status !== "running") {
    return { name: `Offered to ${attempt.daemon_name}`, tone: ATTEMPT[attempt.status].tone, attempt };
  }
  const name =
    mark.status === "scheduled" && attempt !== null ? `Handed over to ${attempt.daemon_name}` : waitWords(task, mark, before);
  return { name, tone: mark.status === "blocked" ? ("attention" as const) : ("neutral" as const), attempt: null };
}

function waitWords(task: Task, { status }: Mark, before: Mark | undefined): string {
  switch (status) {
    case "waiting":
      return `Waited for ${counted(task.depends_on.length, "task")}`;
    case "pending":
      return before !== undefined && HAVING_TRIED.has(before.status) ? "Waited to try again" : "Waited for its time";
    case "failed":
    case "timeout":
      return "Waited to try again";
    case "queued":
      return "Waited in line";
    case "blocked":
      return "Blocked by a dependency";
    case "permanently_failed":
      return "Was a dead letter";
    default:
      return STATUS[status].label;
  }
}

/** What goes on is told as going on. */
function asNow(name: string): string {
  return name.replace(/^Waited /, "Waits ").replace(/^Handed /, "Being handed ");
}

/** Each change of status. What the hub no longer has events of is told from the attempts. */
function marksOf(task: Task, events: readonly TaskEvent[]): Mark[] {
  const told: Mark[] = [];
  for (const { at, to, attempt } of events) {
    const ms = instant(at);
    if (ms !== null && to !== null) told.push({ at: ms, status: to, attempt });
  }
  const isWhole = events.some(({ event }) => event === "task.created");
  const all = isWhole ? told : [...recalled(task, told[0]?.at ?? Infinity), ...told];
  return all.filter((mark, index) => {
    const before = all[index - 1];
    return before === undefined || before.status !== mark.status || before.attempt !== mark.attempt;
  });
}

function recalled(task: Task, until: number): Mark[] {
  const marks: Mark[] = [{ at: instant(task.created_at) ?? 0, status: "queued", attempt: null }];
  for (const attempt of task.attempts ?? []) {
    const [started, ended] = [instant(attempt.started_at), instant(attempt.ended_at)];
    if (started !== null) marks.push({ at: started, status: "running", attempt: attempt.number });
    if (ended !== null) marks.push({ at: ended, status: "failed", attempt: null });
  }
  const end = instant(task.completed_at);
  if (end !== null && ENDED.has(task.status)) {
    if (marks.at(-1)?.status === "failed") marks.pop();
    marks.push({ at: end, status: task.status, attempt: null });
  }
  return marks.filter(({ at }) => at < until);
}

/** Where a span begins and how long it is, as parts of the whole. */
export function placeOf(span: Span, start: number, end: number): { left: number; width: number } {
  const whole = Math.max(1, end - start);
  return { left: (span.from - start) / whole, width: Math.max(0, (span.to ?? end) - span.from) / whole };
}
