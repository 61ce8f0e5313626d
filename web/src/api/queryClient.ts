import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";

import { ME } from "./keys";
import { Problem } from "./problem";

const RETRIES_MAX = 2;

declare module "@tanstack/react-query" {
  interface Register {
    queryMeta: {
      /** False for lists that patch their own rows: events do not fetch them anew. */
      live?: boolean;
    };
  }
}

/** Nothing is fetched by a timer or because a window got the focus: the event stream says what has changed. */
export function newQueryClient(): QueryClient {
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError: signOutOn }),
    mutationCache: new MutationCache({ onError: signOutOn }),
    defaultOptions: {
      queries: {
        staleTime: 30_000,
        gcTime: 120_000,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        retry: (count, thrown) => thrown instanceof Problem && thrown.isPassing && count < RETRIES_MAX,
        retryDelay: (count) => 400 * 2 ** count,
      },
    },
  });

  /** A 401 anywhere means that the session is over: the shell then shows the sign-in, at the same address. */
  function signOutOn(thrown: Error): void {
    if (thrown instanceof Problem && thrown.isSignedOut) client.setQueryData(ME, null);
  }

  return client;
}
