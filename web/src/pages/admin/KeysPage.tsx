import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "~/api/client";
import { keysQuery, usersQuery } from "~/api/queries/people";
import { useMe } from "~/api/queries/session";
import { useFilters } from "~/lib/filters";
import { createColumnHelper } from "~/ui/columns";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { RelativeTime } from "~/ui/RelativeTime";
import { Select } from "~/ui/Select";
import { Table } from "~/ui/Table";

const column = createColumnHelper<Schemas["KeyAnswer"]>();

const columns = [
  column.accessor("name", { header: "Name" }),
  column.accessor((key) => key.scopes.join(", "), { id: "scopes", header: "May" }),
  column.accessor("created_at", { header: "Made", cell: ({ getValue }) => <RelativeTime at={getValue()} /> }),
  column.accessor("revoked_at", { header: "Revoked", cell: ({ getValue }) => <RelativeTime at={getValue()} /> }),
];

export default function KeysPage() {
  const me = useMe();
  const [filters, setFilters] = useFilters();
  const userId = filters.of ?? me.id;
  const users = useQuery(usersQuery);
  const keys = useQuery(keysQuery(userId));
  return (
    <>
      <PageHeader
        title="Keys"
        actions={
          <Select
            label="Whose keys"
            hideLabel
            value={userId}
            options={(users.data ?? [me]).map((user) => ({ value: user.id, label: user.name }))}
            onChange={(id) => {
              setFilters({ of: id });
            }}
          />
        }
      />
      <Panel flush>
        <Loaded query={keys}>
          {(rows) => (
            <Table label="Keys" rows={rows} columns={columns} rowId={(key) => key.id} empty={<EmptyState title="No keys" />} />
          )}
        </Loaded>
      </Panel>
    </>
  );
}
