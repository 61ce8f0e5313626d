import { useQuery } from "@tanstack/react-query";

import { usersQuery } from "~/api/queries/people";
import { useIsAdmin } from "~/api/queries/session";
import { countsQuery } from "~/api/queries/tasks";
import { breakersQuery, daemonsQuery, type Held, patternsQuery, queuesQuery } from "~/api/queries/yard";
import { useMinute } from "~/lib/now";
import { useWhose } from "~/lib/whose";

import { type Need, needsOf } from "./needs";

/** Null until all of it is there: half of it could say that nobody is needed. */
export function useNeeds(held: readonly Held[]): Need[] | null {
  const whose = useWhose();
  const patterns = useQuery(patternsQuery(whose));
  const counts = useQuery(countsQuery(whose));
  const breakers = useQuery(breakersQuery(whose));
  const queues = useQuery(queuesQuery(whose));
  const daemons = useQuery(daemonsQuery(whose));
  const users = useQuery({ ...usersQuery, enabled: whose.user === "*" });
  const isAdmin = useIsAdmin();
  const now = useMinute();
  const isThere = [patterns, counts, breakers, queues, daemons].every((query) => query.data !== undefined);
  if (!isThere) return null;
  return needsOf({
    patterns: patterns.data ?? [],
    blocked: counts.data?.by_status.blocked ?? 0,
    breakers: breakers.data ?? [],
    queues: queues.data ?? [],
    daemons: daemons.data ?? [],
    users: users.data ?? [],
    held,
    isAdmin,
    now,
  });
}
