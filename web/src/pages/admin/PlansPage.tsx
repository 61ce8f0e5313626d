import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "~/api/client";
import { plansQuery } from "~/api/queries/people";
import { count } from "~/lib/format";
import { createColumnHelper } from "~/ui/columns";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { Table } from "~/ui/Table";

const column = createColumnHelper<Schemas["PlanAnswer"]>();
const limit = (value: number | null | undefined) => (value == null ? "no limit" : count(value));

const columns = [
  column.accessor("name", { header: "Name" }),
  column.accessor("max_concurrent_agents", { header: "At a time", meta: { align: "right" }, cell: ({ getValue }) => limit(getValue()) }),
  column.accessor("monthly_agent_hours", { header: "Hours a month", meta: { align: "right" }, cell: ({ getValue }) => limit(getValue()) }),
  column.accessor("max_pending", { header: "Waiting at most", meta: { align: "right" }, cell: ({ getValue }) => limit(getValue()) }),
];

export default function PlansPage() {
  const plans = useQuery(plansQuery);
  return (
    <>
      <PageHeader title="Plans" />
      <Panel flush>
        <Loaded query={plans}>
          {(rows) => (
            <Table label="Plans" rows={rows} columns={columns} rowId={(plan) => plan.name} empty={<EmptyState title="No plans" />} />
          )}
        </Loaded>
      </Panel>
    </>
  );
}
