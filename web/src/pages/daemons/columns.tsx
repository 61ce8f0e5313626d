import type { Daemon } from "~/api/client";
import { percent } from "~/lib/format";
import { Badge } from "~/ui/Badge";
import { createColumnHelper } from "~/ui/columns";
import { Meter } from "~/ui/Meter";
import { RelativeTime } from "~/ui/RelativeTime";
import { DAEMON } from "~/words";

import { memory } from "./memory";

const column = createColumnHelper<Daemon>();

export const columns = [
  column.accessor("name", {
    header: "Name",
    enableSorting: true,
    cell: ({ row: { original } }) => <Named daemon={original} />,
  }),
  column.accessor("status", {
    header: "Status",
    cell: ({ getValue }) => <Badge tone={DAEMON[getValue()].tone}>{DAEMON[getValue()].label}</Badge>,
  }),
  column.display({
    id: "slots",
    header: "Slots",
    cell: ({ row: { original } }) => (
      <div className="w-14 sm:w-28">
        <Meter label={`Slots of ${original.name}`} hideLabel value={original.active_tasks} max={original.max_concurrent_tasks} />
      </div>
    ),
  }),
  column.accessor("current_load", {
    header: "Load",
    enableSorting: true,
    meta: { wide: true, align: "right" },
    cell: ({ getValue, row }) => (row.original.status === "offline" ? "–" : percent(getValue())),
  }),
  column.accessor("memory_free_mb", {
    header: "Free memory",
    meta: { wide: true, align: "right" },
    cell: ({ getValue }) => memory(getValue()),
  }),
  column.accessor("last_heartbeat", {
    header: "Heard from",
    meta: { wide: true },
    cell: ({ getValue }) => <RelativeTime at={getValue()} />,
  }),
];

function Named({ daemon }: { daemon: Daemon }) {
  return (
    <div className="max-w-72 min-w-0 sm:max-w-96">
      <p className="truncate font-medium">
        {daemon.name}
        {daemon.shared && <span className="ml-2 font-normal text-ink-3">for everybody</span>}
      </p>
      {daemon.idle_because != null && <p className="text-ink-2">{daemon.idle_because}</p>}
    </div>
  );
}
