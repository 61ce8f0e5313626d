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
import { VerdictLine } from "./VerdictLine";

export default function OverviewPage() {
  const known = useFacts();
  const isAdmin = useIsAdmin();
  return (
    <>
      <PageHeader title="Overview" />
      <VerdictLine known={known} />
      <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_24rem]">
        <div className="flex min-w-0 flex-col gap-4 max-xl:order-2">
          {isAdmin ? (
            <>
              <Figures />
              <Charts />
            </>
          ) : (
            <OwnFigures />
          )}
        </div>
        <div className="flex min-w-0 flex-col gap-4 max-xl:order-1">
          <NeedsPanel held={known.held} />
          <HeldPanel held={known.held} />
          {isAdmin && <Levels />}
        </div>
      </div>
    </>
  );
}

function Levels() {
  const metrics = useQuery(metricsQuery);
  return metrics.data === undefined ? null : <LevelsPanel depth={metrics.data.queue_depth_by_priority} />;
}
