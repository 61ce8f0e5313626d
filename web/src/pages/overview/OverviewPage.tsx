import { useQuery } from "@tanstack/react-query";

import { overviewQuery } from "~/api/queries/yard";
import { count } from "~/lib/format";
import { useWhoseOwn } from "~/lib/whose";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { Stat } from "~/ui/Stat";

export default function OverviewPage() {
  const overview = useQuery(overviewQuery(useWhoseOwn()));
  return (
    <>
      <PageHeader title="Overview" />
      <Panel>
        <Loaded query={overview}>
          {(said) => (
            <div className="grid grid-cols-2 gap-4">
              <Stat label="Running" value={count(said.running)} />
              <Stat label="Waiting" value={count(said.waiting)} />
            </div>
          )}
        </Loaded>
      </Panel>
    </>
  );
}
