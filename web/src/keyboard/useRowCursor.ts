import { useState } from "react";

import { useShortcut } from "./shortcuts";

interface Rows<T> {
  rows: readonly T[];
  rowId: (row: T) => string;
  onOpen?: ((row: T) => void) | undefined;
  onToggle?: ((id: string) => void) | undefined;
}

/** The row that j and k walk to, by its id: it stays on its row when others come and go. */
export function useRowCursor<T>({ rows, rowId, onOpen, onToggle }: Rows<T>) {
  const [id, setId] = useState<string | null>(null);
  const index = id === null ? -1 : rows.findIndex((row) => rowId(row) === id);

  function walk(step: number) {
    const next = rows[Math.max(0, Math.min(rows.length - 1, index + step))];
    if (next !== undefined) setId(rowId(next));
  }

  const row = index < 0 ? undefined : rows[index];
  useShortcut("j", "Next row", () => {
    walk(1);
  }, "Lists");
  useShortcut("k", "Row before", () => {
    walk(index < 0 ? 1 : -1);
  }, "Lists");
  useShortcut("Enter", "Open the row", () => {
    if (row !== undefined) onOpen?.(row);
  }, "Lists");
  useShortcut("x", "Select the row", () => {
    if (row !== undefined) onToggle?.(rowId(row));
  }, "Lists");
  return { index, id: index < 0 ? null : id, row, setId };
}
