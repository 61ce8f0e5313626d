import { queryOptions, useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";

import { answer, api, type Me, type Scope } from "../client";
import { ME } from "../keys";
import { Problem } from "../problem";

/** Who is signed in; null when nobody is. */
export const meQuery = queryOptions({
  queryKey: ME,
  staleTime: Infinity,
  queryFn: async ({ signal }): Promise<Me | null> => {
    try {
      return await answer(api.GET("/api/v1/users/me", { signal }));
    } catch (thrown) {
      if (thrown instanceof Problem && thrown.isSignedOut) return null;
      throw thrown;
    }
  },
});

/** Who is signed in. Only below the shell, which shows the sign-in when nobody is. */
export function useMe(): Me {
  const { data } = useSuspenseQuery(meQuery);
  if (data === null) throw new Problem({ status: 401, code: "UNAUTHENTICATED", title: "Signed out", detail: "" });
  return data;
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
      client.clear();
      client.setQueryData(ME, null);
    },
  });
}
