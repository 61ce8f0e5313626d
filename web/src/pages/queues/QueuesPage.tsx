import { useQuery } from "@tanstack/react-query";

import type { Queue } from "~/api/client";
import { queuesQuery } from "~/api/queries/yard";
import { count } from "~/lib/format";
import { useWhose } from "~/lib/whose";
import { Badge } from "~/ui/Badge";
import { createColumnHelper } from "~/ui/columns";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { Table } from "~/ui/Table";
import { QUEUE } from "~/words";

const column = createColumnHelper<Queue>();

const columns = [
  column.accessor("name", { header: "Name" }),
  column.accessor("state", {
    header: "State",
    cell: ({ getValue }) => <Badge tone={QUEUE[getValue()].tone}>{QUEUE[getValue()].label}</Badge>,
  }),
  column.accessor((queue) => queue.models.join(", "), { id: "models", header: "Models", meta: { wide: true } }),
  column.accessor("running", { header: "Running", meta: { align: "right" }, cell: ({ getValue }) => count(getValue()) }),
  column.accessor("waiting", { header: "Waiting", meta: { align: "right" }, cell: ({ getValue }) => count(getValue()) }),
];

export default function QueuesPage() {
  const queues = useQuery(queuesQuery(useWhose()));
  return (
    <>
      <PageHeader title="Queues" />
      <Panel flush>
        <Loaded query={queues}>
          {(rows) => <Table label="Queues" rows={rows} columns={columns} rowId={(queue) => queue.name} />}
        </Loaded>
      </Panel>
    </>
  );
}
