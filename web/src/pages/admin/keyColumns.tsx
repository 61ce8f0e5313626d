import type { Schemas } from "~/api/client";
import { instant } from "~/lib/format";
import { useNow } from "~/lib/now";
import { Badge } from "~/ui/Badge";
import { Button } from "~/ui/Button";
import { type Columns, createColumnHelper } from "~/ui/columns";
import { RelativeTime } from "~/ui/RelativeTime";

type Key = Schemas["KeyAnswer"];

const column = createColumnHelper<Key>();

export function columnsFor(onRevoke: (key: Key) => void): Columns<Key> {
  return [
    column.accessor("name", {
      header: "Name",
      enableSorting: true,
      cell: ({ getValue }) => <p className="max-w-72 truncate font-medium">{getValue()}</p>,
    }),
    column.display({ id: "may", header: "May", cell: ({ row: { original } }) => <May of={original} /> }),
    column.display({ id: "state", header: "State", cell: ({ row: { original } }) => <State of={original} /> }),
    column.accessor("created_at", { header: "Made", meta: { wide: true }, cell: ({ getValue }) => <RelativeTime at={getValue()} /> }),
    column.display({
      id: "actions",
      header: () => <span className="sr-only">Actions</span>,
      meta: { align: "right" },
      cell: ({ row: { original } }) =>
        original.revoked_at == null && (
          <Button
            aria-label={`Revoke ${original.name}`}
            onClick={() => {
              onRevoke(original);
            }}
          >
            Revoke…
          </Button>
        ),
    }),
  ];
}

function May({ of: { scopes, max_priority, sources } }: { of: Key }) {
  const bounds = [
    ...(max_priority == null ? [] : [`at most ${max_priority}`]),
    ...(sources == null ? [] : [`from ${sources.join(", ")}`]),
  ];
  return (
    <div>
      {scopes.join(", ")}
      {bounds.length > 0 && <p className="text-ink-2">{bounds.join("; ")}</p>}
    </div>
  );
}

function State({ of: { revoked_at, expires_at } }: { of: Key }) {
  const now = useNow();
  if (revoked_at != null) {
    return (
      <Badge tone="quiet">
        Revoked <RelativeTime at={revoked_at} />
      </Badge>
    );
  }
  const end = instant(expires_at);
  if (end !== null && end <= now) return <Badge tone="quiet">Ended</Badge>;
  return (
    <Badge tone="well">
      Valid{end !== null && <>, ends <RelativeTime at={expires_at} /></>}
    </Badge>
  );
}
