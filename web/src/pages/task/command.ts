/** The line for a shell that submits the same task again. */

import type { Task } from "~/api/client";

export function submitCommand(task: Task): string {
  const { requirements, execution } = task;
  const said: (readonly [string, unknown])[] = [
    ["--type", task.type],
    ["--title", task.title],
    ["--goal", task.goal],
    ...task.constraints.map((one) => ["--constraint", one] as const),
    ["--context", filled(task.context)],
    ["--payload", filled(task.payload)],
    ["--metadata", filled(task.metadata)],
    ["--model", task.model],
    ["--queue", task.model === null ? task.queue : null],
    ["--project", task.project_id],
    ["--correlation-id", task.correlation_id],
    ["--priority", task.raised_from ?? task.priority],
    ...task.depends_on.map((one) => ["--after", one] as const),
    ["--on-depends-fail", task.depends_on.length > 0 ? task.on_depends_fail : null],
    ...(requirements.capabilities ?? []).map((one) => ["--capability", one] as const),
    ["--daemon", requirements.target_daemon],
    ...(requirements.excluded_daemons ?? []).map((one) => ["--not-daemon", one] as const),
    ["--memory-mb", requirements.memory_mb],
    ["--timeout", execution.timeout === undefined ? null : `${String(execution.timeout)}s`],
    ["--max-attempts", execution.max_attempts],
    ["--exclusive", execution.exclusive],
  ];
  const options = said.filter(([, value]) => value != null).map(([name, value]) => `${name} ${quoted(String(value))}`);
  // After the two dashes, an input that begins with one is still an input.
  return ["taskyard submit", ...options, "--", quoted(task.input)].join(" ");
}

function filled(data: unknown): string | null {
  const isFilled = typeof data === "object" && data !== null && Object.keys(data).length > 0;
  return isFilled ? JSON.stringify(data) : null;
}

/** As POSIX shells read it back; nothing within is acted upon. */
export function quoted(text: string): string {
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
