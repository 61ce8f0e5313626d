import { useQuery } from "@tanstack/react-query";

import type { Level } from "~/api/client";
import { limitsQuery } from "~/api/queries/figures";
import { overviewQuery } from "~/api/queries/yard";
import { count } from "~/lib/format";
import { useWhoseOwn } from "~/lib/whose";
import { Loaded } from "~/ui/Loaded";
import { Meter } from "~/ui/Meter";
import { Panel } from "~/ui/Panel";
import { RelativeTime } from "~/ui/RelativeTime";
import { Stat } from "~/ui/Stat";
import { READY, STATUS } from "~/words";

import { LevelsPanel } from "./LevelsPanel";

/** One's own share: what runs and waits, and how much of the plan is used. */
export function OwnFigures() {
  const whose = useWhoseOwn();
  const overview = useQuery(overviewQuery(whose));
  const limits = useQuery(limitsQuery(whose));
  return (
    <div className="flex flex-col gap-4">
      <Panel>
        <Loaded query={overview}>
          {(said) => (
            <div className="grid grid-cols-2 gap-4">
              <Stat label="Running" value={count(said.running)} />
              <Stat label={STATUS.queued.label} value={count(said.waiting)} note={READY} />
            </div>
          )}
        </Loaded>
      </Panel>
      <Panel title="Your plan" aside={<span className="text-ink-2">{limits.data?.plan ?? "none"}</span>}>
        <Loaded query={limits}>
          {(said) => (
            <div className="flex flex-col gap-4">
              <Meter label="Running at a time" value={overview.data?.running ?? 0} max={said.max_concurrent_agents ?? null} warns />
              <Meter label="Not started yet" value={said.pending} max={said.max_pending ?? null} warns />
              <Meter
                label="Hours this month"
                value={said.monthly_agent_hours_used}
                max={said.monthly_agent_hours_limit ?? null}
                warns
              />
              <p className="text-ink-3">
                The hours start again <RelativeTime at={said.billing_cycle_resets_at} />.
              </p>
            </div>
          )}
        </Loaded>
      </Panel>
      <Loaded query={overview}>{(said) => <LevelsPanel depth={byLevel(said.queues)} />}</Loaded>
    </div>
  );
}

function byLevel(shares: readonly { priority: Level; waiting: number }[]): Partial<Record<Level, number>> {
  const depth: Partial<Record<Level, number>> = {};
  for (const { priority, waiting } of shares) depth[priority] = (depth[priority] ?? 0) + waiting;
  return depth;
}
