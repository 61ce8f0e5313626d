import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "~/api/client";
import { auditQuery } from "~/api/queries/people";
import { createColumnHelper } from "~/ui/columns";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { RelativeTime } from "~/ui/RelativeTime";
import { Table } from "~/ui/Table";

const column = createColumnHelper<Schemas["AuditAnswer"]>();

const columns = [
  column.accessor("at", { header: "When", cell: ({ getValue }) => <RelativeTime at={getValue()} /> }),
  column.accessor("actor", { header: "Who" }),
  column.accessor("action", { header: "Did" }),
  column.accessor("subject", { header: "To what" }),
];

export default function AuditPage() {
  const audit = useQuery(auditQuery);
  return (
    <>
      <PageHeader title="Audit" />
      <Panel flush>
        <Loaded query={audit}>
          {(rows) => (
            <Table
              label="Audit"
              rows={rows}
              columns={columns}
              rowId={(row) => `${row.at} ${row.action} ${row.subject}`}
              empty={<EmptyState title="Nothing was changed yet" />}
            />
          )}
        </Loaded>
      </Panel>
    </>
  );
}
