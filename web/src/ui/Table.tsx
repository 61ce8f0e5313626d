import { flexRender, getCoreRowModel, getSortedRowModel, type SortingState, useReactTable } from "@tanstack/react-table";
import { ArrowDown, ArrowUp } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";

import { useRowCursor } from "~/keyboard/useRowCursor";
import { cx } from "~/lib/classes";

import { type Columns, useColumnsThatFit } from "./columns";

interface Props<T> {
  /** What is listed, for a screen reader. */
  label: string;
  rows: T[];
  columns: Columns<T>;
  rowId: (row: T) => string;
  /** What a press on a row, or Enter, does; the first cell should hold the link itself. */
  onOpen?: (row: T) => void;
  /** What stands there when there is nothing. */
  empty?: ReactNode;
}

/** Up to a few hundred rows; for more there is the way of the queue (`pages/queue/taskList.ts`). */
export function Table<T>({ label, rows, columns, rowId, onOpen, empty }: Props<T>) {
  const [sorting, setSorting] = useState<SortingState>([]);
  const table = useReactTable({
    data: rows,
    columns: useColumnsThatFit(columns),
    getRowId: rowId,
    state: { sorting },
    onSortingChange: setSorting,
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
  });
  const shown = table.getRowModel().rows;
  const cursor = useRowCursor({
    rows: shown,
    rowId: (row) => row.id,
    onOpen: (row) => onOpen?.(row.original),
  });
  const active = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    active.current?.scrollIntoView({ block: "nearest" });
  }, [cursor.id]);

  if (rows.length === 0 && empty !== undefined) return empty;
  return (
    <div role="region" tabIndex={0} aria-label={label} className="relative overflow-x-auto -outline-offset-2">
      <table className="w-full border-collapse text-left">
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id} className="border-b border-line text-ink-2">
              {group.headers.map((header) => {
                const { column } = header;
                const sorted = column.getIsSorted();
                const name = header.isPlaceholder ? null : flexRender(column.columnDef.header, header.getContext());
                return (
                  <th
                    key={header.id}
                    scope="col"
                    aria-sort={sorted === false ? undefined : sorted === "asc" ? "ascending" : "descending"}
                    className={cx("h-8 px-3 font-medium whitespace-nowrap", column.columnDef.meta?.align === "right" && "text-right")}
                  >
                    {column.getCanSort() && column.columnDef.enableSorting === true ? (
                      <button
                        type="button"
                        onClick={column.getToggleSortingHandler()}
                        className="inline-flex items-center gap-1 hover:text-ink [&_svg]:size-3"
                      >
                        {name}
                        {sorted === "asc" && <ArrowUp aria-hidden />}
                        {sorted === "desc" && <ArrowDown aria-hidden />}
                      </button>
                    ) : (
                      name
                    )}
                  </th>
                );
              })}
            </tr>
          ))}
        </thead>
        <tbody>
          {shown.map((row) => (
            // The link in the first cell and Enter do the same for the keyboard.
            <tr
              key={row.id}
              ref={row.id === cursor.id ? active : undefined}
              data-cursor={row.id === cursor.id || undefined}
              onClick={(event) => {
                if (isControl(event.target)) return;
                cursor.setId(row.id);
                onOpen?.(row.original);
              }}
              className={cx(
                "border-b border-line last:border-b-0 hover:bg-page data-cursor:bg-accent-soft",
                onOpen !== undefined && "cursor-pointer",
              )}
            >
              {row.getVisibleCells().map((cell) => (
                <td
                  key={cell.id}
                  className={cx("h-9 px-3 py-1.5", cell.column.columnDef.meta?.align === "right" && "text-right")}
                >
                  {flexRender(cell.column.columnDef.cell, cell.getContext())}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A press on what has an action of its own is not one on its row. */
export function isControl(target: EventTarget): boolean {
  return target instanceof Element && target.closest("a, button, input, select, label, [role=menu], dialog") !== null;
}
