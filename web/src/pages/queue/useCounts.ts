import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef } from "react";

import { countsQuery } from "~/api/queries/tasks";
import type { Whose } from "~/lib/whose";
import { useLive } from "~/live/useLive";

/** The hub counts once a second at most, so its answer may be from just before the last event. */
const COUNTED_MS = 1_500;

/** How many tasks there are of each status, live, and right also when nothing more happens. */
export function useCounts(whose: Whose): Record<string, number> | undefined {
  const client = useQueryClient();
  const counts = useQuery(countsQuery(whose));
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const askLater = useCallback(() => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void client.invalidateQueries({ queryKey: ["tasks", "counts"] }), COUNTED_MS);
  }, [client]);
  useLive(({ events }) => {
    if (events.some((event) => event.to != null)) askLater();
  });
  useEffect(() => {
    // The first answer may be as old, from when somebody else asked.
    askLater();
    return () => {
      clearTimeout(timer.current);
    };
  }, [askLater, whose.user]);
  return counts.data?.by_status;
}
