import type { ReactNode } from "react";

import type { Task } from "~/api/client";
import { JsonView } from "~/ui/JsonView";

import type { Attempt } from "./said";
import { usageWords } from "./usage";

/** What one attempt left behind: its error, what it used, what came too late. */
export function AttemptDetails({ attempt }: { attempt: Attempt }) {
  const used = usageWords(attempt.usage);
  const { error, late_result: late } = attempt;
  return (
    <>
      {error !== null && (
        <p className="line-clamp-3 text-ink-2">
          <span className="mr-2 font-mono text-xs text-failed">{error.code}</span>
          {error.message}
        </p>
      )}
      {used !== null && <p className="text-ink-3">{used}</p>}
      {late != null && (
        <Folded title="A result that came too late: kept, and not the task's">
          <JsonView label={`Late result of attempt ${String(attempt.number)}`} value={late} />
        </Folded>
      )}
    </>
  );
}

/** The last that any attempt saved; the hub keeps one for a task. */
export function Checkpoint({ task }: { task: Task }) {
  if (task.checkpoint == null) return null;
  const isOver = task.completed_at != null;
  return (
    <Folded title={isOver ? "Its last checkpoint" : "Its last checkpoint: another attempt goes on from here"}>
      <JsonView label="Checkpoint" value={task.checkpoint} />
    </Folded>
  );
}

function Folded({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details>
      <summary className="w-fit rounded-sm text-ink-2 hover:text-ink">{title}</summary>
      <div className="mt-1">{children}</div>
    </details>
  );
}
