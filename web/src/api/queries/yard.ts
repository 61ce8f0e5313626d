/** What the yard is made of: daemons, queues, breakers, and what waits for a person. */

import { queryOptions } from "@tanstack/react-query";

import type { Whose } from "~/lib/whose";

import { answer, api, type Schemas, type User } from "../client";
import { Problem } from "../problem";

/** What a person has to decide before any hub leads, in the hub's own words; null: nothing of that kind. */
export const decisionQuery = queryOptions({
  queryKey: ["decision"],
  refetchInterval: 5_000,
  queryFn: async ({ signal }): Promise<string | null> => {
    try {
      await answer(api.GET("/readyz", { signal }));
    } catch (thrown) {
      if (thrown instanceof Problem && thrown.code === "HUB_REWOUND") return thrown.message;
    }
    return null;
  },
});

export const daemonsQuery = (whose: Whose) =>
  queryOptions({
    queryKey: ["daemons", whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/daemons", { params: { query: whose }, signal })),
  });

/** Admins only: who leads, and who stands by. */
export const hubsQuery = queryOptions({
  queryKey: ["daemons", "hubs"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/hubs", { signal })),
});

export const queuesQuery = (whose: Whose) =>
  queryOptions({
    queryKey: ["queues", whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/queues", { params: { query: whose }, signal })),
  });

export const breakersQuery = (whose: Whose) =>
  queryOptions({
    queryKey: ["breakers", whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/breakers", { params: { query: whose }, signal })),
  });

export const deadLettersQuery = (query: Whose & { limit?: number; fingerprint?: string }) =>
  queryOptions({
    queryKey: ["dead-letters", "list", query],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/dead-letters", { params: { query }, signal })),
  });

/** What the newest dead letters have in common, the most frequent first. */
export const patternsQuery = (whose: Whose) =>
  queryOptions({
    queryKey: ["dead-letters", "patterns", whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/dead-letters/patterns", { params: { query: whose }, signal })),
  });

/** How many of one's tasks run and wait, and what holds most of them back. */
export const overviewQuery = (whose: Whose) =>
  queryOptions({
    queryKey: ["why", "overview", whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/why", { params: { query: whose }, signal })),
  });

export type Held = Schemas["HeldAnswer"] & { user?: User | undefined };

/** What holds back the most tasks of those who have most to wait for, with whose they are: for admins. */
export const heldOfAllQuery = queryOptions({
  queryKey: ["held"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/why/everybody", { signal })),
});
