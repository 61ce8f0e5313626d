import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";

import { usersQuery } from "~/api/queries/people";
import { useIsAdmin, useMe } from "~/api/queries/session";

import type { Whose } from "./whose";

export interface Owned {
  user_id: string;
}

/** The name of whoever something in a list belongs to. Nobody is named where the list has only one owner. */
export function useOwnerOf({ user }: Whose): (owned: Owned) => string | undefined {
  const isAdmin = useIsAdmin();
  const users = useQuery({ ...usersQuery, enabled: isAdmin && user === "*" }).data;
  const names = useMemo(() => new Map(users?.map((one) => [one.id, one.name])), [users]);
  return useCallback(
    (owned) => (user === "*" && names.size > 1 ? names.get(owned.user_id) : undefined),
    [user, names],
  );
}

/** Whose something is, as requests and addresses name it. */
export function useWhoseOf(): (owned: Owned) => Whose {
  const { id } = useMe();
  return useCallback(({ user_id: user }) => (user === id ? {} : { user }), [id]);
}
