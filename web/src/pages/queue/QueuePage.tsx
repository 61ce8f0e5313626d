import { useInfiniteQuery } from "@tanstack/react-query";
import { ListTodo } from "lucide-react";

import type { Task } from "~/api/client";
import { tasksQuery } from "~/api/queries/tasks";
import { useWhose } from "~/lib/whose";
import { createColumnHelper } from "~/ui/columns";
import { EmptyState } from "~/ui/EmptyState";
import { LevelBadge } from "~/ui/LevelBadge";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { RelativeTime } from "~/ui/RelativeTime";
import { StatusBadge } from "~/ui/StatusBadge";
import { Table } from "~/ui/Table";
import { TaskLink } from "~/ui/TaskLink";

const column = createColumnHelper<Task>();

const columns = [
  column.accessor("ref", { header: "Task", cell: ({ row }) => <TaskLink task={row.original}>{row.original.ref}</TaskLink> }),
  column.display({ id: "title", header: "Title", cell: ({ row }) => <TaskLink task={row.original} /> }),
  column.accessor("status", { header: "Status", cell: ({ getValue }) => <StatusBadge status={getValue()} /> }),
  column.accessor("priority", { header: "Priority", meta: { wide: true }, cell: ({ getValue }) => <LevelBadge level={getValue()} /> }),
  column.accessor("queue", { header: "Queue", meta: { wide: true } }),
  column.accessor("created_at", { header: "Created", meta: { wide: true }, cell: ({ getValue }) => <RelativeTime at={getValue()} /> }),
];

export default function QueuePage() {
  const tasks = useInfiniteQuery(tasksQuery(useWhose()));
  return (
    <>
      <PageHeader title="Queue" />
      <Panel flush>
        <Loaded query={tasks}>
          {({ pages }) => (
            <Table
              label="Tasks"
              rows={pages.flatMap((page) => page.rows)}
              columns={columns}
              rowId={(task) => task.id}
              empty={
                <EmptyState icon={<ListTodo />} title="No tasks yet">
                  Add one, or let a schedule or a webhook make it.
                </EmptyState>
              }
            />
          )}
        </Loaded>
      </Panel>
    </>
  );
}
