import { useQuery } from "@tanstack/react-query";
import { Unplug } from "lucide-react";

import type { Breaker } from "~/api/client";
import { breakersQuery } from "~/api/queries/yard";
import { count } from "~/lib/format";
import { useWhoseOwn } from "~/lib/whose";
import { Badge } from "~/ui/Badge";
import { createColumnHelper } from "~/ui/columns";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { RelativeTime } from "~/ui/RelativeTime";
import { Table } from "~/ui/Table";
import { BREAKER } from "~/words";

const column = createColumnHelper<Breaker>();

const columns = [
  column.accessor("type", { header: "Type of task" }),
  column.accessor("state", {
    header: "State",
    cell: ({ getValue }) => <Badge tone={BREAKER[getValue()].tone}>{BREAKER[getValue()].label}</Badge>,
  }),
  column.accessor("failures", { header: "Failed in a row", meta: { align: "right" }, cell: ({ getValue }) => count(getValue()) }),
  column.accessor("last_failure_at", { header: "Last failure", meta: { wide: true }, cell: ({ getValue }) => <RelativeTime at={getValue()} /> }),
];

export default function BreakersPage() {
  const breakers = useQuery(breakersQuery(useWhoseOwn()));
  return (
    <>
      <PageHeader title="Breakers" />
      <Panel flush>
        <Loaded query={breakers}>
          {(rows) => (
            <Table
              label="Breakers"
              rows={rows}
              columns={columns}
              rowId={(breaker) => breaker.type}
              empty={
                <EmptyState icon={<Unplug />} title="Every breaker is closed">
                  A breaker opens when a type of task fails several times in a row, and holds it back for a while.
                </EmptyState>
              }
            />
          )}
        </Loaded>
      </Panel>
    </>
  );
}
