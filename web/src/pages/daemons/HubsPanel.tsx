import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "~/api/client";
import { hubsQuery } from "~/api/queries/yard";
import { relative } from "~/lib/format";
import { Badge } from "~/ui/Badge";
import { createColumnHelper } from "~/ui/columns";
import { Loaded } from "~/ui/Loaded";
import { Panel } from "~/ui/Panel";
import { RelativeTime } from "~/ui/RelativeTime";
import { Table } from "~/ui/Table";

type Hub = Schemas["HubAnswer"];

const column = createColumnHelper<Hub>();

const columns = [
  column.accessor("id", { header: "Hub", cell: ({ getValue }) => <span className="font-mono text-xs">{getValue()}</span> }),
  column.accessor("leader", {
    header: "Part",
    cell: ({ getValue }) => <Badge tone={getValue() ? "well" : "quiet"}>{getValue() ? "Leads" : "Stands by"}</Badge>,
  }),
  column.accessor("address", { header: "Address", meta: { wide: true } }),
  column.accessor("since", { header: "Since", cell: ({ getValue }) => <RelativeTime at={getValue()} /> }),
  column.accessor("lag_s", {
    header: "Heard from",
    meta: { wide: true, align: "right" },
    cell: ({ getValue }) => relative(-getValue() * 1000, 0),
  }),
];

/** Who decides, and who would if that one went. */
export function HubsPanel() {
  const hubs = useQuery(hubsQuery);
  return (
    <Panel title="Hubs" flush>
      <Loaded query={hubs}>
        {(rows) => <Table label="Hubs" rows={rows} columns={columns} rowId={(hub) => hub.id} />}
      </Loaded>
    </Panel>
  );
}
