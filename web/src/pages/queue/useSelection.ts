import { useCallback, useState } from "react";

import { BULK_MAX } from "~/lib/taskActions";

import type { Row } from "./rows";
import type { TaskList } from "./taskList";

type Selection = ReadonlyMap<string, Row>;

const NONE: Selection = new Map();

/** Which rows are chosen, with what they were then: as many as one step takes. */
export function useSelection(list: TaskList) {
  const [selection, setSelection] = useState(NONE);
  const [anchor, setAnchor] = useState<string | null>(null);

  const toggle = useCallback(
    (id: string, isRange: boolean) => {
      setSelection((before) => {
        const next = new Map(before);
        const rows = isRange && anchor !== null ? between(list, anchor, id) : between(list, id, id);
        if (!isRange && before.has(id)) next.delete(id);
        else for (const row of rows) if (next.size < BULK_MAX) next.set(row.id, row);
        return next;
      });
      setAnchor(id);
    },
    [list, anchor],
  );
  const choose = useCallback((rows: readonly Row[]) => {
    setSelection(new Map(rows.slice(0, BULK_MAX).map((row) => [row.id, row])));
  }, []);
  const clear = useCallback(() => {
    setSelection(NONE);
    setAnchor(null);
  }, []);
  return { selection, toggle, choose, clear };
}

function between(list: TaskList, one: string, other: string): Row[] {
  const places = [list.indexOf(one), list.indexOf(other)].filter((place) => place >= 0);
  if (places.length === 0) return [];
  const [first, last] = [Math.min(...places), Math.max(...places)];
  return Array.from({ length: last - first + 1 }, (_, step) => list.rowAt(first + step)).filter((row) => row !== undefined);
}
