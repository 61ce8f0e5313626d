import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";

import { daemonsQuery } from "~/api/queries/yard";
import { useOwnerOf } from "~/lib/owners";
import type { Whose } from "~/lib/whose";

import type { Row } from "./rows";

/** Names for the ids in rows. */
export function useNames(whose: Whose) {
  const daemons = useQuery(daemonsQuery(whose)).data;
  const daemonNames = useMemo(() => new Map(daemons?.map((one) => [one.id, one.name])), [daemons]);
  return {
    daemonOf: useCallback((row: Row) => (row.daemon === null ? undefined : daemonNames.get(row.daemon)), [daemonNames]),
    ownerOf: useOwnerOf(whose),
  };
}
