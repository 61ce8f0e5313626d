import { useQuery } from "@tanstack/react-query";
import { Server } from "lucide-react";

import type { Daemon } from "~/api/client";
import { daemonsQuery } from "~/api/queries/yard";
import { useWhose } from "~/lib/whose";
import { Badge } from "~/ui/Badge";
import { createColumnHelper } from "~/ui/columns";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { Meter } from "~/ui/Meter";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { RelativeTime } from "~/ui/RelativeTime";
import { Table } from "~/ui/Table";
import { DAEMON } from "~/words";

const column = createColumnHelper<Daemon>();

const columns = [
  column.accessor("name", { header: "Name" }),
  column.accessor("status", {
    header: "Status",
    cell: ({ getValue }) => <Badge tone={DAEMON[getValue()].tone}>{DAEMON[getValue()].label}</Badge>,
  }),
  column.display({
    id: "slots",
    header: "Slots",
    cell: ({ row: { original } }) => (
      <Meter label="Slots" hideLabel value={original.active_tasks} max={original.max_concurrent_tasks} />
    ),
  }),
  column.accessor("last_heartbeat", { header: "Heard of", meta: { wide: true }, cell: ({ getValue }) => <RelativeTime at={getValue()} /> }),
];

export default function DaemonsPage() {
  const daemons = useQuery(daemonsQuery(useWhose()));
  return (
    <>
      <PageHeader title="Daemons" />
      <Panel flush>
        <Loaded query={daemons}>
          {(rows) => (
            <Table
              label="Daemons"
              rows={rows}
              columns={columns}
              rowId={(daemon) => daemon.id}
              empty={
                <EmptyState icon={<Server />} title="No daemons yet">
                  Start one with <code className="font-mono text-xs">taskyard daemon</code> where the work should be done.
                </EmptyState>
              }
            />
          )}
        </Loaded>
      </Panel>
    </>
  );
}
