import { flexRender, getCoreRowModel, useReactTable } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, type Ref, useEffect, useImperativeHandle, useRef } from "react";

import { useRowCursor } from "~/keyboard/useRowCursor";
import { cx } from "~/lib/classes";

import { type Columns, useColumnsThatFit } from "./columns";
import { isControl } from "./Table";

export interface ListRest {
  /** At its top, with neither pointer nor focus within: only then may rows be put in above. */
  isAtRest: () => boolean;
  scrollToTop: () => void;
}

interface Props<T> {
  label: string;
  rows: T[];
  columns: Columns<T>;
  rowId: (row: T) => string;
  onOpen?: (row: T) => void;
  /** With these, rows can be selected: by a box, by x. */
  selected?: ReadonlySet<string>;
  onToggle?: (id: string) => void;
  onToggleAll?: () => void;
  /** The row that j and k walked to. */
  onCursor?: (row: T | undefined) => void;
  /** Near the end of what is there: time for the next page. */
  onEndReached?: () => void;
  empty?: ReactNode;
  footer?: ReactNode;
  rest?: Ref<ListRest>;
}

const ROW_PX = 37;
const OVERSCAN_ROWS = 12;
const END_ROWS = 20;

/** Any number of rows; only those in sight are in the page. Fills the height of what it is in. */
export function VirtualTable<T>(props: Props<T>) {
  const { label, rows, columns, rowId, onOpen, selected, onToggle, onToggleAll, onCursor, onEndReached, rest } = props;
  const area = useRef<HTMLDivElement>(null);
  const isPointed = useRef(false);
  const table = useReactTable({
    data: rows,
    columns: useColumnsThatFit(columns),
    getRowId: rowId,
    getCoreRowModel: getCoreRowModel(),
  });
  const shown = table.getRowModel().rows;
  const lines = useVirtualizer({
    count: shown.length,
    getScrollElement: () => area.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN_ROWS,
    getItemKey: (index) => shown[index]?.id ?? index,
  });
  const cursor = useRowCursor({ rows, rowId, onOpen, onToggle });
  const inSight = lines.getVirtualItems();
  const lastIndex = inSight.at(-1)?.index ?? 0;

  useEffect(() => {
    if (cursor.index >= 0) lines.scrollToIndex(cursor.index);
    onCursor?.(cursor.row);
    // Only when the cursor moves: rows that come and go must not scroll the list.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [cursor.id]);
  useEffect(() => {
    if (shown.length > 0 && lastIndex >= shown.length - END_ROWS) onEndReached?.();
    // Asked again only when the end comes near or moves.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [lastIndex, shown.length]);
  useImperativeHandle(rest, () => ({
    isAtRest: () =>
      (area.current?.scrollTop ?? 0) <= 0 && !isPointed.current && area.current?.contains(document.activeElement) !== true,
    scrollToTop: () => area.current?.scrollTo({ top: 0 }),
  }));

  if (rows.length === 0 && props.empty !== undefined) return props.empty;
  const visible = table.getVisibleLeafColumns();
  const widths = visible.map((column) => column.columnDef.meta?.width ?? "minmax(0, 1fr)");
  const template = (onToggle === undefined ? widths : ["2rem", ...widths]).join(" ");

  return (
    <div
      ref={area}
      role="region"
      tabIndex={0}
      aria-label={label}
      onPointerEnter={() => (isPointed.current = true)}
      onPointerLeave={() => (isPointed.current = false)}
      className="h-full overflow-auto -outline-offset-2"
    >
      <div role="table" aria-label={label} aria-rowcount={rows.length + 1}>
        <div role="rowgroup" className="sticky top-0 z-10 border-b border-line bg-surface text-ink-2">
          {table.getHeaderGroups().map((group) => (
            <div
              key={group.id}
              role="row"
              aria-rowindex={1}
              className="grid h-8 items-center gap-x-3 px-3 font-medium"
              style={{ gridTemplateColumns: template }}
            >
              {onToggle !== undefined && (
                <div role="columnheader">
                  <input
                    type="checkbox"
                    aria-label="Select all that are shown"
                    checked={rows.length > 0 && selected?.size === rows.length}
                    onChange={() => onToggleAll?.()}
                    className="size-4 accent-accent"
                  />
                </div>
              )}
              {group.headers.map((header) => (
                <div
                  key={header.id}
                  role="columnheader"
                  className={cx("truncate", header.column.columnDef.meta?.align === "right" && "text-right")}
                >
                  {flexRender(header.column.columnDef.header, header.getContext())}
                </div>
              ))}
            </div>
          ))}
        </div>
        <div role="rowgroup" className="relative" style={{ height: lines.getTotalSize() }}>
          {inSight.map((line) => {
            const row = shown[line.index];
            if (row === undefined) return null;
            return (
              // The link in the first cell and Enter do the same for the keyboard.
              // eslint-disable-next-line jsx-a11y/click-events-have-key-events
              <div
                key={row.id}
                role="row"
                tabIndex={-1}
                aria-rowindex={line.index + 2}
                aria-selected={selected?.has(row.id)}
                data-id={row.id}
                data-cursor={row.id === cursor.id || undefined}
                onClick={(event) => {
                  if (isControl(event.target)) return;
                  cursor.setId(row.id);
                  onOpen?.(row.original);
                }}
                className={cx(
                  "absolute inset-x-0 grid items-center gap-x-3 border-b border-line px-3 hover:bg-page aria-selected:bg-accent-soft data-cursor:shadow-[inset_2px_0_var(--color-accent)]",
                  onOpen !== undefined && "cursor-pointer",
                )}
                style={{ gridTemplateColumns: template, height: ROW_PX, transform: `translateY(${String(line.start)}px)` }}
              >
                {onToggle !== undefined && (
                  <div role="cell">
                    <input
                      type="checkbox"
                      aria-label={`Select ${row.id}`}
                      checked={selected?.has(row.id) ?? false}
                      onChange={() => {
                        onToggle(row.id);
                      }}
                      className="size-4 accent-accent"
                    />
                  </div>
                )}
                {row.getVisibleCells().map((cell) => (
                  <div
                    key={cell.id}
                    role="cell"
                    className={cx("min-w-0 truncate", cell.column.columnDef.meta?.align === "right" && "text-right")}
                  >
                    {flexRender(cell.column.columnDef.cell, cell.getContext())}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
      {props.footer}
    </div>
  );
}
