import { useQuery } from "@tanstack/react-query";
import { Repeat } from "lucide-react";

import type { Schedule } from "~/api/client";
import { schedulesQuery } from "~/api/queries/schedules";
import { useWhose } from "~/lib/whose";
import { Badge } from "~/ui/Badge";
import { createColumnHelper } from "~/ui/columns";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { RelativeTime } from "~/ui/RelativeTime";
import { Table } from "~/ui/Table";

const column = createColumnHelper<Schedule>();

const columns = [
  column.accessor("name", { header: "Name" }),
  column.accessor((schedule) => schedule.cron ?? schedule.every, { id: "when", header: "When" }),
  column.accessor("enabled", {
    header: "State",
    cell: ({ getValue }) => <Badge tone={getValue() ? "well" : "quiet"}>{getValue() ? "On" : "Off"}</Badge>,
  }),
  column.accessor("next_run_at", { header: "Next run", cell: ({ getValue }) => <RelativeTime at={getValue()} /> }),
  column.accessor("last_run_at", { header: "Last run", meta: { wide: true }, cell: ({ getValue }) => <RelativeTime at={getValue()} /> }),
];

export default function WorkflowsPage() {
  const schedules = useQuery(schedulesQuery(useWhose()));
  return (
    <>
      <PageHeader title="Workflows" />
      <Panel flush>
        <Loaded query={schedules}>
          {(rows) => (
            <Table
              label="Schedules"
              rows={rows}
              columns={columns}
              rowId={(schedule) => schedule.id}
              empty={<EmptyState icon={<Repeat />} title="No schedules yet" />}
            />
          )}
        </Loaded>
      </Panel>
    </>
  );
}
