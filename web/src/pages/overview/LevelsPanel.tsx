import { Link } from "@tanstack/react-router";

import type { Level } from "~/api/client";
import { count } from "~/lib/format";
import { LevelBadge } from "~/ui/LevelBadge";
import { Panel } from "~/ui/Panel";
import { LEVELS } from "~/words";

/** How many are queued at each level, as bars that share one scale. */
export function LevelsPanel({ depth }: { depth: Partial<Record<Level, number>> }) {
  const top = Math.max(1, ...LEVELS.map((level) => depth[level] ?? 0));
  return (
    <Panel title="Queued by level">
      <dl className="flex flex-col gap-2.5">
        {LEVELS.map((level) => (
          <div key={level} className="grid grid-cols-[5.5rem_1fr_3rem] items-center gap-3">
            <dt>
              <LevelBadge level={level} />
            </dt>
            <dd aria-hidden className="h-1.5 overflow-hidden rounded-full bg-sunken">
              <div className="h-full rounded-full bg-accent" style={{ width: `${String(((depth[level] ?? 0) / top) * 100)}%` }} />
            </dd>
            <dd className="text-right">
              <Link to="/queue" search={{ status: "queued", priority: level }} aria-label={`${count(depth[level] ?? 0)} queued at level ${level}`} className="text-accent hover:underline">
                {count(depth[level] ?? 0)}
              </Link>
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
