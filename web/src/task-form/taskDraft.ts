/** A task while it is written down in a form: every field a text. */

import type { Schemas } from "~/api/client";

export type Submission = Schemas["Submission"];

export interface TaskDraft {
  input: string;
  title: string;
  type: string;
  priority: string;
  queue: string;
  model: string;
  /** With commas between them. */
  capabilities: string;
  daemon: string;
  attempts: string;
  timeoutS: string;
}

export const GENERAL = "general";

export const EMPTY_DRAFT: TaskDraft = {
  input: "",
  title: "",
  type: "",
  priority: "",
  queue: "",
  model: "",
  capabilities: "",
  daemon: "",
  attempts: "",
  timeoutS: "",
};

export const ROUTING_PATHS = [
  "queue",
  "model",
  "requirements.capabilities",
  "requirements.target_daemon",
  "execution.max_attempts",
  "execution.timeout",
] as const;

/** Where the hub's faults are shown: the fields that a draft has. */
export const DRAFT_PATHS = ["input", "title", "type", "priority", ...ROUTING_PATHS] as const;

type Given = Record<string, unknown>;

export function draftOf(task: Given): TaskDraft {
  const needs = partOf(task.requirements);
  const execution = partOf(task.execution);
  const capabilities = Array.isArray(needs.capabilities) ? needs.capabilities : [];
  return {
    input: textOf(task.input ?? task.description),
    title: textOf(task.title),
    type: textOf(task.type),
    priority: textOf(task.priority),
    queue: textOf(task.queue),
    model: textOf(task.model),
    capabilities: capabilities.map(textOf).join(", "),
    daemon: textOf(needs.target_daemon),
    attempts: textOf(execution.max_attempts),
    timeoutS: textOf(execution.timeout),
  };
}

/** What the form says, over what was there: a field that the form does not have stays. */
export function submissionOf(draft: TaskDraft, before: Given = {}): Submission {
  return kept({
    ...before,
    description: undefined,
    input: draft.input,
    title: said(draft.title),
    type: said(draft.type),
    priority: priorityOf(draft.priority),
    queue: said(draft.queue),
    model: said(draft.model),
    requirements: partly({
      ...partOf(before.requirements),
      capabilities: listed(draft.capabilities),
      target_daemon: said(draft.daemon),
    }),
    execution: partly({
      ...partOf(before.execution),
      max_attempts: numberOf(draft.attempts),
      timeout: numberOf(draft.timeoutS),
    }),
  }) as unknown as Submission;
}

function listed(text: string): string[] | undefined {
  const words = text
    .split(/[,，\n]/)
    .map((word) => word.trim())
    .filter((word) => word !== "");
  return words.length === 0 ? undefined : words;
}

function priorityOf(text: string): string | number | undefined {
  return /^\d+$/.test(text) ? Number(text) : said(text);
}

function said(text: string): string | undefined {
  const trimmed = text.trim();
  return trimmed === "" ? undefined : trimmed;
}

function numberOf(text: string): number | undefined {
  return text.trim() === "" ? undefined : Number(text);
}

function partOf(value: unknown): Given {
  return typeof value === "object" && value !== null ? (value as Given) : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : "";
}

function kept(values: Given): Given {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function partly(values: Given): Given | undefined {
  const some = kept(values);
  return Object.keys(some).length === 0 ? undefined : some;
}
