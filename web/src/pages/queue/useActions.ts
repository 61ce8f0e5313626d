import { useCallback, useState } from "react";

import { type Action, act, type BulkAnswer } from "~/lib/taskActions";
import type { Whose } from "~/lib/whose";
import { toast, toastProblem } from "~/ui/Toasts";

import type { Intent } from "./ActionDialog";
import type { Row } from "./rows";
import { settled, was } from "./sentences";

/** Asks first where there is no way back or many are meant; what can be taken back is done at once, with an undo. */
export function useActions(whose: Whose, onDone: () => void) {
  const [intent, setIntent] = useState<Intent | null>(null);
  const done = useCallback(
    (meant: Intent, told: BulkAnswer) => {
      const canUndo = meant.action === "reprioritise" && told.counts.ok > 0;
      toast(saidOf(meant, told), canUndo ? { undo: () => bringBack(meant, told, whose) } : {});
      onDone();
    },
    [whose, onDone],
  );
  const begin = useCallback(
    (action: Action, rows: readonly Row[], level?: Intent["level"]) => {
      const [only] = rows;
      if (only === undefined) return;
      const meant = { action, rows, level: level ?? only.level };
      const isMild = action === "retry" || (action === "reprioritise" && level !== undefined);
      if (rows.length > 1 || !isMild) {
        setIntent(meant);
        return;
      }
      const priority = action === "reprioritise" ? { priority: meant.level } : {};
      act({ action, ids: [only.id], ...priority }, whose)
        .then((told) => {
          done(meant, told);
        })
        .catch(toastProblem);
    },
    [whose, done],
  );
  const close = useCallback(() => {
    setIntent(null);
  }, []);
  return { intent, begin, done, close };
}

/** Each to the value that it had, as far as it can still be changed. */
async function bringBack(meant: Intent, told: BulkAnswer, whose: Whose) {
  const changed = new Set(told.results.filter((one) => one.ok).map((one) => one.id));
  const rows = meant.rows.filter((row) => changed.has(row.id));
  const before = new Map(rows.map((row) => [row.id, row.level]));
  const said: string[] = [];
  for (const priority of new Set(rows.map((row) => row.value))) {
    const ids = rows.filter((row) => row.value === priority).map((row) => row.id);
    const back = await act({ action: "reprioritise", ids, priority }, whose);
    if (back.results.some((one) => one.priority !== before.get(one.id))) said.push(settled(before, back));
  }
  toast(said.length === 0 ? "The priority is as it was." : said.join(" "));
}

function saidOf({ action, rows, level }: Intent, told: BulkAnswer): string {
  if (action === "reprioritise") return settled(new Map(rows.map((row) => [row.id, level])), told);
  const [only] = rows;
  if (action === "retry" && rows.length === 1 && only !== undefined && told.counts.ok > 0) return `${only.ref} is tried again.`;
  return was(action, told);
}
