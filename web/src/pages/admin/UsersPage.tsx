import { useQuery } from "@tanstack/react-query";

import type { User } from "~/api/client";
import { usersQuery } from "~/api/queries/people";
import { createColumnHelper } from "~/ui/columns";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { RelativeTime } from "~/ui/RelativeTime";
import { Table } from "~/ui/Table";

const column = createColumnHelper<User>();

const columns = [
  column.accessor("name", { header: "Name" }),
  column.accessor("plan", { header: "Plan", cell: ({ getValue }) => getValue() ?? "–" }),
  column.accessor("created_at", { header: "Since", cell: ({ getValue }) => <RelativeTime at={getValue()} /> }),
];

export default function UsersPage() {
  const users = useQuery(usersQuery);
  return (
    <>
      <PageHeader title="Users" />
      <Panel flush>
        <Loaded query={users}>
          {(rows) => <Table label="Users" rows={rows} columns={columns} rowId={(user) => user.id} />}
        </Loaded>
      </Panel>
    </>
  );
}
