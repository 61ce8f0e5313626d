import { useQuery } from "@tanstack/react-query";

import { metricsQuery } from "~/api/queries/figures";
import { useIsAdmin } from "~/api/queries/session";
import { PageHeader } from "~/ui/PageHeader";

import { Charts } from "./Charts";
import { Figures } from "./Figures";
import { HeldPanel } from "./HeldPanel";
import { LevelsPanel } from "./LevelsPanel";
import { NeedsPanel } from "./NeedsPanel";
import { OwnFigures } from "./OwnFigures";
import { useFacts } from "./useFacts";
import { useNeeds } from "./useNeeds";
import { VerdictLine } from "./VerdictLine";

export default function OverviewPage() {
  const known = useFacts();
  const needs = useNeeds(known.held);
  const isAdmin = useIsAdmin();
  return (
    <>
      <PageHeader title="Overview" />
      <VerdictLine known={known} needs={needs} />
      {/* One column at phone width: what needs a person comes before any figure. */}
      <div className="flex flex-col gap-4 xl:grid xl:grid-cols-[minmax(0,1fr)_24rem] xl:items-start">
        <div className="contents min-w-0 flex-col gap-4 xl:flex">
          <div className="order-2">{isAdmin ? <Figures /> : <OwnFigures />}</div>
          {isAdmin && (
            <>
              <div className="order-4">
                <Charts />
              </div>
              <div className="order-5">
                <Levels />
              </div>
            </>
          )}
        </div>
        <div className="contents min-w-0 flex-col gap-4 xl:flex">
          <div className="order-1">
            <NeedsPanel needs={needs} />
          </div>
          <div className="order-3">
            <HeldPanel held={known.held} />
          </div>
        </div>
      </div>
    </>
  );
}

function Levels() {
  const metrics = useQuery(metricsQuery);
  return metrics.data === undefined ? null : <LevelsPanel depth={metrics.data.queue_depth_by_priority} />;
}
