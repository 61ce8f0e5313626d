import { useQuery } from "@tanstack/react-query";
import { Inbox } from "lucide-react";

import type { Task } from "~/api/client";
import { deadLettersQuery } from "~/api/queries/yard";
import { useWhose } from "~/lib/whose";
import { createColumnHelper } from "~/ui/columns";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { RelativeTime } from "~/ui/RelativeTime";
import { Table } from "~/ui/Table";
import { TaskLink } from "~/ui/TaskLink";

const column = createColumnHelper<Task>();

const columns = [
  column.accessor("ref", { header: "Task", cell: ({ row }) => <TaskLink task={row.original}>{row.original.ref}</TaskLink> }),
  column.display({ id: "title", header: "Title", cell: ({ row }) => <TaskLink task={row.original} /> }),
  column.accessor((task) => task.error?.message, { id: "error", header: "Error", meta: { wide: true } }),
  column.accessor("completed_at", { header: "Failed", cell: ({ getValue }) => <RelativeTime at={getValue()} /> }),
];

export default function DeadLettersPage() {
  const letters = useQuery(deadLettersQuery(useWhose()));
  return (
    <>
      <PageHeader title="Dead letters" />
      <Panel flush>
        <Loaded query={letters}>
          {(rows) => (
            <Table
              label="Dead letters"
              rows={rows}
              columns={columns}
              rowId={(task) => task.id}
              empty={
                <EmptyState icon={<Inbox />} title="No dead letters">
                  Nothing has failed for good. Tasks come here when no attempt is left.
                </EmptyState>
              }
            />
          )}
        </Loaded>
      </Panel>
    </>
  );
}
