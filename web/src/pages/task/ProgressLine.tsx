import type { Task } from "~/api/client";
import { percent as asPercent } from "~/lib/format";
import { Elapsed } from "~/ui/Duration";

/** How far an attempt is, as it says itself. */
export function ProgressLine({ task }: { task: Task }) {
  if (task.status !== "running") return null;
  const { percent = null, message = null } = task.progress ?? {};
  const part = percent === null ? null : Math.max(0, Math.min(1, percent / 100));
  return (
    <div className="mb-4 flex flex-col gap-1.5">
      <p className="flex flex-wrap items-baseline justify-between gap-x-4 text-ink-2">
        <span className="min-w-0 break-words">{message ?? "At work"}</span>
        <span className="whitespace-nowrap">
          {part !== null && <span className="mr-3 font-medium text-ink">{asPercent(part)}</span>}
          <Elapsed from={task.started_at} />
        </span>
      </p>
      <div
        role="progressbar"
        aria-label="Progress"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent ?? undefined}
        className="h-1.5 overflow-hidden rounded-full bg-sunken"
      >
        <div
          className={part === null ? "pulse h-full w-full bg-accent/40" : "h-full rounded-full bg-accent transition-[width]"}
          style={part === null ? undefined : { width: `${String(part * 100)}%` }}
        />
      </div>
    </div>
  );
}
