import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import type { Schemas } from "~/api/client";
import { historyQuery, metricsQuery } from "~/api/queries/figures";
import { count, duration, percent, short } from "~/lib/format";
import { Loaded } from "~/ui/Loaded";
import { Skeleton } from "~/ui/Skeleton";
import { Spark } from "~/ui/Spark";
import { Stat } from "~/ui/Stat";
import { READY, STATUS } from "~/words";

import { line, rate, stepsOf } from "./series";

type Metrics = Schemas["MetricsAnswer"];

/** The whole hub's figures of this moment, each over the line of its last hour. */
export function Figures() {
  const metrics = useQuery(metricsQuery);
  return (
    <Loaded query={metrics} loading={<Skeleton className="h-40 w-full" />}>
      {(now) => <Shown now={now} />}
    </Loaded>
  );
}

function Shown({ now }: { now: Metrics }) {
  const history = useQuery(historyQuery("hour"));
  const steps = history.data === undefined ? { times: [], points: [] } : stepsOf(history.data);
  const stepS = history.data?.step_s ?? 60;
  const used = now.total_daemon_capacity === 0 ? 0 : now.used_daemon_capacity / now.total_daemon_capacity;
  return (
    <div className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line lg:grid-cols-3">
      <Cell>
        <Stat label="Running" value={count(now.tasks_running)} note={`${count(now.tasks_enqueued_per_minute)} new in the last minute`}>
          <Spark label="Running, last hour" values={line(steps, (one) => one.running)} />
        </Stat>
      </Cell>
      <Cell>
        <Stat label={STATUS.queued.label} value={count(now.queue_depth_total)} note={READY}>
          <Spark label="Queued, last hour" values={line(steps, total)} />
        </Stat>
      </Cell>
      <Cell>
        <Stat
          label="Done per minute"
          value={short(now.tasks_completed_per_minute)}
          note={
            now.tasks_failed_per_minute === 0 ? (
              "none failed"
            ) : (
              <span className="text-failed">{count(now.tasks_failed_per_minute)} failed</span>
            )
          }
        >
          <Spark label="Done per minute, last hour" values={rate(steps, stepS, (one) => one.completed)} />
        </Stat>
      </Cell>
      <Cell>
        <Stat label="Median wait" {...typical(now.p50_queue_wait_time_ms, now.p99_queue_wait_time_ms, "nothing started")}>
          <Spark label="Median wait, last hour" values={line(steps, (one) => one.wait_p50_ms)} />
        </Stat>
      </Cell>
      <Cell>
        <Stat label="Median run time" {...typical(now.p50_execution_time_ms, now.p99_execution_time_ms, "nothing ended")}>
          <Spark label="Median run time, last hour" values={line(steps, (one) => one.execution_p50_ms)} />
        </Stat>
      </Cell>
      <Cell>
        <Stat
          label="Fleet in use"
          value={percent(used)}
          note={`${count(now.used_daemon_capacity)} of ${count(now.total_daemon_capacity)} slots`}
        >
          <Spark label="Slots in use, last hour" values={line(steps, (one) => one.slots_used)} />
        </Stat>
      </Cell>
    </div>
  );
}

function Cell({ children }: { children: ReactNode }) {
  return <div className="min-w-0 bg-surface p-4">{children}</div>;
}

/** Of the last five minutes; the hub says 0 where there is nothing to say. */
function typical(p50Ms: number, p99Ms: number, nothing: string): { value: string; note: string } {
  if (p99Ms === 0) return { value: "–", note: `${nothing} in 5 min` };
  return { value: duration(p50Ms), note: `99 of 100 within ${duration(Math.max(1, p99Ms))}` };
}

function total({ depth }: Schemas["HistoryPoint"]): number {
  return Object.values(depth).reduce((sum, each) => sum + each, 0);
}
