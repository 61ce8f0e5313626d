import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";

import { usersQuery } from "~/api/queries/people";
import { useIsAdmin } from "~/api/queries/session";
import { daemonsQuery } from "~/api/queries/yard";
import type { Whose } from "~/lib/whose";

import type { Row } from "./rows";

/** Names for the ids in rows. An owner is named only where the list has several. */
export function useNames(whose: Whose) {
  const isAdmin = useIsAdmin();
  const daemons = useQuery(daemonsQuery(whose)).data;
  const users = useQuery({ ...usersQuery, enabled: isAdmin && whose.user === "*" }).data;
  const daemonNames = useMemo(() => new Map(daemons?.map((one) => [one.id, one.name])), [daemons]);
  const userNames = useMemo(() => new Map(users?.map((one) => [one.id, one.name])), [users]);
  return {
    daemonOf: useCallback((row: Row) => (row.daemon === null ? undefined : daemonNames.get(row.daemon)), [daemonNames]),
    ownerOf: useCallback(
      (row: Row) => (whose.user === "*" && userNames.size > 1 ? userNames.get(row.user_id) : undefined),
      [whose.user, userNames],
    ),
  };
}
