import type { Page } from "./client";

/** Of a megabyte each, and so more than one attempt may write. */
const PAGES_MAX = 100;

/** A list that only grows: what is known of it is kept, and what came after is asked for, page after page. */
export async function readOn<T extends { cursor: string }>(
  known: readonly T[],
  ask: (from: { cursor?: string }) => Promise<Page<T>>,
): Promise<T[]> {
  let rows = [...known];
  let cursor: string | null = known.at(-1)?.cursor ?? null;
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const next = await ask(cursor === null ? {} : { cursor });
    rows = rows.concat(next.rows);
    cursor = next.cursor;
    if (cursor === null) break;
  }
  return rows;
}
