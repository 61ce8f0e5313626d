import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { type History, historyQuery, type Range } from "~/api/queries/figures";
import { cx } from "~/lib/classes";
import { useFilters } from "~/lib/filters";
import { duration, short } from "~/lib/format";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { Panel } from "~/ui/Panel";
import { Skeleton } from "~/ui/Skeleton";
import { Tabs } from "~/ui/Tabs";
import { type Series, TimeSeries } from "~/ui/TimeSeries";
import { LEVEL, LEVELS, STATUS } from "~/words";

import { line, rate, type Steps, stepsOf } from "./series";

const RANGES: readonly { id: Range; label: string; says: string }[] = [
  { id: "hour", label: "1 h", says: "the last hour" },
  { id: "day", label: "24 h", says: "the last day" },
  { id: "week", label: "7 d", says: "the last week" },
];

interface View {
  id: string;
  label: string;
  says: string;
  format: (value: number) => string;
  stacked?: boolean;
  series: (steps: Steps, stepS: number) => Series[];
}

const COLOURS = { critical: "attention-dot", high: "ink-2", normal: "accent", low: "quiet-dot" };

const VIEWS: readonly View[] = [
  {
    id: "throughput",
    label: "Throughput",
    says: "New tasks, and those done and failed, per minute",
    format: short,
    series: (steps, stepS) => [
      { label: "New", colour: "quiet-dot", dashed: true, values: rate(steps, stepS, (one) => one.enqueued) },
      { label: "Done", colour: "accent", filled: true, values: rate(steps, stepS, (one) => one.completed) },
      { label: "Failed", colour: "failed", values: rate(steps, stepS, (one) => one.failed) },
    ],
  },
  {
    id: "depth",
    label: STATUS.queued.label,
    says: "Tasks that are ready and not started, by level",
    format: short,
    stacked: true,
    series: (steps) =>
      LEVELS.map((level) => ({
        label: LEVEL[level].label,
        colour: COLOURS[level],
        filled: true,
        values: line(steps, (one) => one.depth[level] ?? 0),
      })),
  },
  {
    id: "wait",
    label: "Wait",
    says: "From being ready until a daemon was chosen",
    format: duration,
    series: (steps) => [
      { label: "Median", colour: "accent", filled: true, values: line(steps, (one) => one.wait_p50_ms) },
      { label: "99 of 100 within", colour: "attention-dot", values: line(steps, (one) => one.wait_p99_ms) },
    ],
  },
  {
    id: "run",
    label: "Run time",
    says: "How long attempts took",
    format: duration,
    series: (steps) => [
      { label: "Median", colour: "accent", filled: true, values: line(steps, (one) => one.execution_p50_ms) },
      { label: "99 of 100 within", colour: "attention-dot", values: line(steps, (one) => one.execution_p99_ms) },
    ],
  },
  {
    id: "fleet",
    label: "Fleet",
    says: "Slots that there were, and those in use",
    format: short,
    series: (steps) => [
      { label: "Slots", colour: "quiet-dot", dashed: true, values: line(steps, (one) => one.slots) },
      { label: "In use", colour: "accent", filled: true, values: line(steps, (one) => one.slots_used) },
    ],
  },
];

/** The hub's past, which outlives its restarts; where it was away there is no line. */
export function Charts() {
  const [filters, setFilters] = useFilters();
  const range = RANGES.find((one) => one.id === filters.range) ?? RANGES[0];
  const view = VIEWS.find((one) => one.id === filters.view) ?? VIEWS[0];
  const history = useQuery({ ...historyQuery(range?.id ?? "hour"), placeholderData: keepPreviousData });
  if (view === undefined || range === undefined) return null;
  return (
    <Panel flush>
      <div className="flex flex-wrap items-center justify-between gap-x-4 border-b border-line pr-3 pl-2 [&>[role=tablist]]:border-b-0">
        <Tabs
          label="Which figures"
          tabs={VIEWS}
          value={view.id}
          onChange={(id) => {
            setFilters({ view: id });
          }}
        />
        <div role="group" aria-label="How far back" className="flex rounded-md border border-line p-0.5">
          {RANGES.map((one) => (
            <button
              key={one.id}
              type="button"
              aria-pressed={one === range}
              onClick={() => {
                setFilters({ range: one.id });
              }}
              className={cx("h-6 rounded-sm px-2 text-xs", one === range ? "bg-sunken font-medium text-ink" : "text-ink-2 hover:text-ink")}
            >
              {one.label}
            </button>
          ))}
        </div>
      </div>
      <div className="p-4">
        <Loaded query={history} loading={<Skeleton className="h-60 w-full" />}>
          {(found) => <Chart history={found} view={view} label={`${view.says}, ${range.says}`} />}
        </Loaded>
      </div>
    </Panel>
  );
}

interface ChartProps {
  history: History;
  view: View;
  label: string;
}

function Chart({ history, view, label }: ChartProps) {
  const steps = useMemo(() => stepsOf(history), [history]);
  const series = useMemo(() => view.series(steps, history.step_s), [view, steps, history.step_s]);
  if (steps.points.filter((one) => one !== null).length < 2) {
    return <EmptyState title="Nothing to draw yet">The hub writes one point a minute; the line begins in a moment.</EmptyState>;
  }
  return <TimeSeries label={label} times={steps.times} series={series} format={view.format} stacked={view.stacked ?? false} height={220} />;
}
