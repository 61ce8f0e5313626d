import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { createContext, use } from "react";

import { answer, api, type Me, type Scope } from "../client";
import { ME } from "../keys";
import { Problem } from "../problem";

const RETRY_MS_MAX = 5_000;

/** Who is signed in; null when nobody is. */
export const meQuery = queryOptions({
  queryKey: ME,
  staleTime: Infinity,
  // Without it there is nothing to show: the page waits for the hub as long as it is open.
  retry: (_count, thrown) => thrown instanceof Problem && thrown.isPassing,
  retryDelay: (count) => Math.min(RETRY_MS_MAX, 500 * 2 ** count),
  queryFn: async ({ signal }): Promise<Me | null> => {
    try {
      return await answer(api.GET("/api/v1/users/me", { signal }));
    } catch (thrown) {
      if (thrown instanceof Problem && thrown.isSignedOut) return null;
      throw thrown;
    }
  },
});

/** Who is signed in, given by the shell: below it there is always somebody, also while they sign out. */
export const MeContext = createContext<Me | null>(null);

export function useMe(): Me {
  const me = use(MeContext);
  if (me === null) throw new Error("This part of the page is outside of the shell.");
  return me;
}

export function may(me: Me, scope: Scope): boolean {
  return me.scopes.includes(scope);
}

export function useIsAdmin(): boolean {
  return may(useMe(), "admin");
}

/** The key is sent once and kept nowhere; the answer is a cookie that no script can read. */
export function useSignIn() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (key: string) => answer(api.POST("/api/v1/session", { body: { key } })),
    onSuccess: () => client.resetQueries(),
  });
}

export function useSignOut() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => answer(api.DELETE("/api/v1/session")),
    onSuccess: () => {
      client.setQueryData(ME, null);
      // Nothing of theirs stays in the tab for whoever signs in next.
      client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== ME[0] });
    },
  });
}
