/** What admins see: users, plans, keys, who did what. */

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { answer, api, page } from "../client";

export const usersQuery = queryOptions({
  queryKey: ["people", "users"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/users", { signal })),
});

/** With what each has running and waiting, and has used this month: that changes with every task. */
export const usersUsageQuery = queryOptions({
  queryKey: ["limits", "users"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/users", { params: { query: { usage: true } }, signal })),
});

export const plansQuery = queryOptions({
  queryKey: ["people", "plans"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/plans", { signal })),
});

export const keysQuery = (userId: string) =>
  queryOptions({
    queryKey: ["people", "keys", userId],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/users/{id}/keys", { params: { path: { id: userId } }, signal })),
  });

const AUDIT_ROWS = 100;

/** Who did what, newest first, a page at a time. */
export const auditQuery = infiniteQueryOptions({
  queryKey: ["audit"],
  queryFn: ({ signal, pageParam }) =>
    page(
      api.GET("/api/v1/audit", {
        params: { query: { limit: AUDIT_ROWS, ...(pageParam === null ? {} : { cursor: pageParam }) } },
        signal,
      }),
    ),
  initialPageParam: null as string | null,
  getNextPageParam: (last) => last.cursor,
});
