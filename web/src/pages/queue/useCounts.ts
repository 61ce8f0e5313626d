import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { countsQuery } from "~/api/queries/tasks";
import type { Whose } from "~/lib/whose";
import { useLive } from "~/live/useLive";

/** The hub counts once a second at most, so its answer may be from just before the last event. */
const COUNTED_MS = 1_500;

/** How many tasks there are of each status, live, and right also when nothing more happens. */
export function useCounts(whose: Whose): Record<string, number> | undefined {
  const client = useQueryClient();
  const query = countsQuery(whose);
  const counts = useQuery(query);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useLive(({ events }) => {
    if (!events.some((event) => event.to != null)) return;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void client.invalidateQueries({ queryKey: query.queryKey }), COUNTED_MS);
  });
  useEffect(
    () => () => {
      clearTimeout(timer.current);
    },
    [],
  );
  return counts.data?.by_status;
}
