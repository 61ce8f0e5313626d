/** What a page is asked to show lives in its address: a link shows the same to whoever opens it. */

import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

export type Filters = Record<string, string | undefined>;

/** Plain `name=value` pairs, as the hub's own queries have them. */
export function parseFilters(search: string): Filters {
  return Object.fromEntries(new URLSearchParams(search));
}

/** In one order, however they came about: what shows the same has the same address. */
export function writeFilters(filters: Record<string, unknown>): string {
  const kept = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) {
    if (typeof value === "string" && value !== "") kept.set(name, value);
  }
  kept.sort();
  const said = kept.toString();
  return said === "" ? "" : `?${said}`;
}

/** The page's filters, and how to change some of them; an empty one is taken away. */
export function useFilters(): [Filters, (change: Filters) => void] {
  const filters: Filters = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = useCallback(
    (some: Filters) => {
      void navigate({ to: ".", search: (before: Filters) => ({ ...before, ...some }), replace: true });
    },
    [navigate],
  );
  return [filters, change];
}
