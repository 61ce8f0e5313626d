import { useQuery } from "@tanstack/react-query";

import { backpressureQuery, metricsQuery } from "~/api/queries/figures";
import { usersQuery } from "~/api/queries/people";
import { useIsAdmin } from "~/api/queries/session";
import { type Held, heldOfAllQuery, overviewQuery } from "~/api/queries/yard";
import { useWhose, useWhoseOwn } from "~/lib/whose";

import type { Facts as All } from "./verdict";

type Facts = Omit<All, "needs">;

export interface Known {
  /** Null until all of it is there: half of it could say that all is well. */
  facts: Facts | null;
  held: readonly Held[];
  error: Error | null;
}

/** What the verdict goes by: the whole hub's for an admin who looks at everybody, else one user's. */
export function useFacts(): Known {
  const isAll = useWhose().user === "*";
  const [all, one] = [useFactsOfAll(isAll), useFactsOfOne(!isAll)];
  return isAll ? all : one;
}

function useFactsOfOne(enabled: boolean): Known {
  const own = useWhoseOwn();
  const isAdmin = useIsAdmin();
  const overview = useQuery({ ...overviewQuery(own), enabled });
  const pressure = useQuery({ ...backpressureQuery(own), enabled });
  const metrics = useQuery({ ...metricsQuery, enabled: enabled && isAdmin });
  const held = overview.data?.held_by ?? [];
  if (overview.data === undefined || pressure.data === undefined) {
    return { facts: null, held, error: overview.error ?? pressure.error };
  }
  return {
    held,
    error: null,
    facts: {
      running: overview.data.running,
      waiting: overview.data.waiting,
      daemonsOnline: metrics.data?.daemons_online ?? null,
      pressure: pressure.data.level,
      waitS: pressure.data.estimated_wait_time ?? null,
      held,
    },
  };
}

function useFactsOfAll(enabled: boolean): Known {
  const metrics = useQuery({ ...metricsQuery, enabled });
  const pressure = useQuery({ ...backpressureQuery({}), enabled });
  const users = useQuery({ ...usersQuery, enabled });
  const said = useQuery({ ...heldOfAllQuery, enabled });
  const error = metrics.error ?? pressure.error ?? users.error ?? said.error;
  if (metrics.data === undefined || pressure.data === undefined || users.data === undefined || said.data === undefined) {
    return { facts: null, held: [], error };
  }
  const byId = new Map(users.data.map((user) => [user.id, user]));
  // Where there is only one user, "you" is understood.
  const held = said.data.map((one): Held => ({ ...one, user: byId.size === 1 ? undefined : byId.get(one.user_id) }));
  return {
    held,
    error: null,
    facts: {
      running: metrics.data.tasks_running,
      waiting: metrics.data.queue_depth_total,
      daemonsOnline: metrics.data.daemons_online,
      pressure: metrics.data.backpressure_level,
      waitS: pressure.data.estimated_wait_time ?? null,
      held,
    },
  };
}
