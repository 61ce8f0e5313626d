import { type ColumnDef, createColumnHelper, type RowData } from "@tanstack/react-table";
import { useMemo } from "react";

import { useIsNarrow, useIsTight } from "~/lib/narrow";

declare module "@tanstack/react-table" {
  // The names of the parameters must be the library's.
  // eslint-disable-next-line @typescript-eslint/no-unused-vars
  interface ColumnMeta<TData extends RowData, TValue> {
    /** Left out on a phone. */
    wide?: boolean;
    /** Left out on a tablet too. */
    large?: boolean;
    align?: "right";
  }
}

export { createColumnHelper };

// Each column has a value type of its own; only the library can tell them apart.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Columns<T> = ColumnDef<T, any>[];

/** Without those that a window of this width has no place for. */
export function useColumnsThatFit<T>(columns: Columns<T>): Columns<T> {
  const [isNarrow, isTight] = [useIsNarrow(), useIsTight()];
  return useMemo(
    () => columns.filter(({ meta }) => !(isNarrow && meta?.wide === true) && !(isTight && meta?.large === true)),
    [columns, isNarrow, isTight],
  );
}
