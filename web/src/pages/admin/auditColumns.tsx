import { type Columns, createColumnHelper } from "~/ui/columns";
import { RelativeTime } from "~/ui/RelativeTime";

import { deed, type Entry, told, who, whom } from "./deeds";

const column = createColumnHelper<Entry>();

export function columnsFor(names: ReadonlyMap<string, string>): Columns<Entry> {
  return [
    column.accessor("at", { header: "When", cell: ({ getValue }) => <RelativeTime at={getValue()} /> }),
    column.display({
      id: "who",
      header: "Who",
      cell: ({ row: { original } }) => <span className="font-medium">{who(original)}</span>,
    }),
    column.display({ id: "deed", header: "Did", cell: ({ row: { original } }) => deed(original) }),
    column.accessor("subject", {
      header: "What",
      cell: ({ getValue }) => <span className="inline-block min-w-20 wrap-anywhere">{whom(getValue(), names)}</span>,
    }),
    column.display({
      id: "change",
      header: "Change",
      meta: { wide: true },
      cell: ({ row: { original } }) => <Change of={original} />,
    }),
  ];
}

function Change({ of: { old: before, new: after } }: { of: Entry }) {
  const [was, is] = [told(before), told(after)];
  if (was === null && is === null) return <span className="text-ink-3">–</span>;
  return (
    <span className="break-words text-ink-2">
      {was !== null && <del className="decoration-ink-3">{was}</del>}
      {was !== null && is !== null && " → "}
      {is}
    </span>
  );
}
